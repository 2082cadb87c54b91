package twin

import (
	"testing"

	"gotest.tools/v3/assert"

	"github.com/canopy-scheduler/canopy/internal/testing/randomrun"
	"github.com/canopy-scheduler/canopy/internal/testing/testscale"
	"github.com/canopy-scheduler/canopy/pkg/gangs"
	"github.com/canopy-scheduler/canopy/pkg/objects"
	"github.com/canopy-scheduler/canopy/pkg/scheduler"
)

// Core and twin agree about the topology of gangs; and the members of a task group that requires a domain are placed in
// one (GAN-29, GAN-30).
func TestRandomRuns_TopologyOfGangs(t *testing.T) {
	runs, seen := testscale.Runs(300), map[string]int{}
	withTopology := func(t *testing.T, seed uint64) randomrun.Run {
		s := virtualGangRun(t, seed)
		s.AddTopology()
		return s
	}
	agree(t, 0, runs, withTopology, observeTopologies, seen)
	checkOften(t, runs, seen, map[string]int{
		"placed in a required domain": runs / 4, "placed in a preferred domain": runs / 6,
		"placed in several domains": runs / 30, "waits for a domain": runs,
		"placed in the domain of members that run": runs / 10,
	})
}

// observeTopologies checks the domains of members that are placed together, and counts what happens.
func observeTopologies(t *testing.T, core *scheduler.Core, seen map[string]int) stepObserver {
	declared := map[objects.AppID][]gangs.VirtualGroup{}
	return func(step randomrun.Step) func([]scheduler.Effect) {
		if m, ok := step.Command.(scheduler.AddApplication); ok {
			declared[m.App] = m.Gang.Virtual
		}
		waiting := map[objects.AppID]bool{}
		for _, a := range applicationsOf(core.Partition()) {
			if g := a.Gang(); g != nil && g.Waits() {
				waiting[a.ID()] = true
				seen["waits for a domain"] += boolToInt(g.RequiresTopology() && g.Refusal() != "")
			}
		}
		return func(effects []scheduler.Effect) {
			first := map[objects.AppID]map[string][][]string{} // domains of the first members of a task group that waited
			for _, e := range effects {
				allocated, ok := e.(scheduler.Allocated)
				if ok && allocated.Ask.Constraints().Domain() != nil {
					seen["placed in the domain of members that run"]++
				}
				if !ok || step.Command != nil || !waiting[allocated.Ask.App] || allocated.Ask.Placeholder {
					continue
				}
				a, ok := core.Partition().Application(allocated.Ask.App)
				if !ok || a.Gang().Groups()[0].TimedOut > 0 {
					continue
				}
				for _, v := range declared[a.ID()] {
					n, ok := core.Partition().Node(allocated.Node)
					if v.Name != allocated.Ask.TaskGroup() || !v.Topology.Declared() || !ok ||
						len(first[a.ID()][v.Name]) == v.MinMember {
						continue
					}
					if first[a.ID()] == nil {
						first[a.ID()] = map[string][][]string{}
					}
					first[a.ID()][v.Name] = append(first[a.ID()][v.Name], (&node{attributes: n.Attributes()}).path(v.Topology.Levels))
				}
			}
			for app, groups := range first {
				for _, v := range declared[app] {
					countDomains(t, v, groups[v.Name], seen)
				}
			}
		}
	}
}

// countDomains counts in how many domains the members of a task group are, by the paths of their nodes.
func countDomains(t *testing.T, v gangs.VirtualGroup, paths [][]string, seen map[string]int) {
	if len(paths) == 0 {
		return
	}
	one := func(level int) bool {
		for _, path := range paths {
			if len(path) <= level || !within(path, paths[0][:min(len(paths[0]), level+1)]) {
				return false
			}
		}
		return true
	}
	if v.Topology.Requires() {
		assert.Assert(t, one(v.Topology.Required),
			"task group %s requires one domain of %v, and its members are in %v", v.Name, v.Topology, paths)
		seen["placed in a required domain"]++
		return
	}
	seen["placed in a preferred domain"] += boolToInt(one(v.Topology.Preferred))
	seen["placed in several domains"] += boolToInt(!one(v.Topology.Preferred) && len(paths) > 1)
}
