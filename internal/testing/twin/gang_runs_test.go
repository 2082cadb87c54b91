package twin

import (
	"fmt"
	"testing"
	"time"

	"gotest.tools/v3/assert"

	"github.com/canopy-scheduler/canopy/internal/testing/randomrun"
	"github.com/canopy-scheduler/canopy/internal/testing/testscale"
	"github.com/canopy-scheduler/canopy/pkg/gangs"
	"github.com/canopy-scheduler/canopy/pkg/lifecycle"
	"github.com/canopy-scheduler/canopy/pkg/objects"
	"github.com/canopy-scheduler/canopy/pkg/scheduler"
	"github.com/canopy-scheduler/canopy/pkg/security"
)

// Random runs in which applications declare gangs.
func TestRandomRuns_Gangs(t *testing.T) { agree(t, 1, testscale.Runs(400), anyGangRun, nil, nil) }

const gangConfig = `partitions: [{name: default, preemption: {enabled: true},
  limits: [{limit: u, users: [u], maxresources: {vcore: 30m}}], queues: [{name: root, submitacl: '*', queues: [
  {name: a, resources: {guaranteed: {vcore: 6m}, max: {vcore: 20m}},
   properties: {preemption.delay: 1s, preemption.gang: enabled}},
  {name: b, maxapplications: 2, properties: {preemption.priority: leaf}}]}]}]`

// gangRun returns a random run of gangs on a few nodes. The resource manager releases placeholders in the order in
// which it has sent them, most of them when the core has ordered it.
func gangRun(t *testing.T, seed uint64) randomrun.Run { return gangRunOn(t, seed, false) }

// gangRunOn is gangRun; losesNodes: nodes come and go all the time, and the RM rejects some, so that asks replace
// placeholders of other nodes.
func gangRunOn(t *testing.T, seed uint64, losesNodes bool) randomrun.Run {
	s := newScript(t, gangConfig, seed, 57)
	withReservations(&s.Partition, seed)
	s.Oracle = pick(s, randomrun.NoOracle, randomrun.NoOracle, randomrun.RejectSome)
	nodes := []objects.NodeID{"n1", "n2", "n3", "n4"}
	for _, n := range nodes {
		s.add(0, scheduler.AddNode{Node: n, Total: vcores(9), Schedulable: true})
	}
	type placeholder struct {
		app objects.AppID
		key objects.AllocationKey
	}
	var apps []objects.AppID
	var placeholders []placeholder
	keys, kinds := 0, 40
	if losesNodes {
		kinds, s.Oracle = 50, randomrun.RejectSome
	}
	for len(s.Steps) < stepsPerRun {
		after := time.Duration(s.IntN(3)) * time.Second / 2
		key := objects.AllocationKey(fmt.Sprint("k", keys))
		group := pick(s, "g", "g", "h")
		switch x := s.IntN(kinds); {
		case len(apps) == 0 || x < 1:
			id := objects.AppID(fmt.Sprint("app", len(apps)))
			apps = append(apps, id)
			s.add(after, scheduler.AddApplication{
				App: id, Queue: pick(s, "root.a", "root.b"), User: security.User{Name: pick(s, "u", "v")},
				Gang: gangs.Spec{Style: pick(s, gangs.Soft, gangs.Hard),
					Timeout: time.Duration(2+s.IntN(40)) * time.Second, Requested: vcores(3 * s.IntN(4))},
			})
		case x < 15:
			keys++
			app := apps[max(0, len(apps)-1-s.IntN(2))]
			ask := &objects.Ask{
				Key: key, App: app, Amounts: vcores(pick(s, 3, 3, 3, 3, 3, 2, 2, 4)), Placeholder: s.IntN(2) == 0,
				Policy:   pick(s, 0, objects.PolicySent|objects.PolicyAllowPreemptOther|objects.PolicyAllowPreemptSelf),
				Priority: int32(s.IntN(2)),
			}
			ask.Details = &objects.AskDetails{TaskGroup: group}
			if !ask.Placeholder && s.OneIn(5) {
				ask.Details.TaskGroup = ""
			}
			if ask.Placeholder {
				placeholders = append(placeholders, placeholder{app, key})
			}
			s.add(after, scheduler.SubmitAsk{Ask: ask})
		case x < 24 && len(placeholders) > 0:
			i := min(s.IntN(4), len(placeholders)-1)
			p := placeholders[i]
			placeholders = append(placeholders[:i:i], placeholders[i+1:]...)
			s.add(after,
				scheduler.Release{App: p.app, Key: p.key,
					Type: pick(s, scheduler.PlaceholderReplaced, scheduler.PlaceholderReplaced, scheduler.TimedOut,
						scheduler.StoppedByRM)})
		case x < 26 && keys > 0:
			s.add(after,
				scheduler.Release{App: apps[s.IntN(len(apps))], Key: objects.AllocationKey(fmt.Sprint("k", s.IntN(keys))),
					Type: scheduler.StoppedByRM})
		case x == 26:
			s.add(after, scheduler.RemoveApplication{App: apps[s.IntN(len(apps))]})
		case x == 27:
			s.add(after,
				scheduler.Release{App: apps[s.IntN(len(apps))],
					Type: pick(s, scheduler.StoppedByRM, scheduler.TimedOut)})
		case x == 28 || x >= 45:
			s.add(after, scheduler.RemoveNode{Node: pick(s, nodes...)})
		case x < 31 || x >= 40:
			s.add(after, scheduler.AddNode{Node: pick(s, nodes...), Total: vcores(9), Schedulable: true})
		case x < 33:
			s.add(after, scheduler.SetSchedulable{Node: pick(s, nodes...), Schedulable: s.IntN(2) > 0})
		case x == 33:
			s.add(after, scheduler.SetCapacity{Node: pick(s, nodes...), Total: vcores(6 + s.IntN(6))})
		default:
			s.schedule(after, pick(s, 1, 3, 10))
		}
	}
	return s.Run
}

// Core and twin agree about gangs in which everything happens: replacement in place and on other nodes, placeholders
// that are too small, both ends of the timeout, and nodes that go in between. No placeholder is released twice for
// that, and none is replaced after it has timed out.
func TestRandomRuns_GangsAreReplaced(t *testing.T) {
	runs := testscale.Runs(300)
	seen := map[string]int{}
	agree(t, 0, runs, gangRun, observeGangs, seen)
	losesNodes := func(t *testing.T, seed uint64) randomrun.Run { return gangRunOn(t, seed, true) }
	agree(t, uint64(runs), runs/5, losesNodes, observeGangs, seen)
	checkOften(t, runs, seen, map[string]int{
		"replaced": 3 * runs, "placed in the place of a placeholder": runs, "elsewhere": runs / 30, "too small": runs / 2,
		"released by a timeout":       runs / 2,
		"asks cancelled by a timeout": runs, "Resuming": runs / 4, "Failing": runs / 4, "Failed": runs / 4,
		"Running, complete":              runs / 4,
		"placed when a node was removed": runs / 60,
	})
}

// observeGangs counts what happens to gangs.
func observeGangs(t *testing.T, core *scheduler.Core, seen map[string]int) stepObserver {
	ending := map[objects.AllocationKey]bool{}
	return func(step randomrun.Step) func([]scheduler.Effect) {
		nodeOf := map[objects.AllocationKey]objects.NodeID{}
		for n := range core.Partition().EachNode {
			for x := range n.EachAllocation {
				nodeOf[x.Key()] = n.ID()
			}
		}
		return func(effects []scheduler.Effect) {
			for _, e := range effects {
				switch e := e.(type) {
				case scheduler.Released:
					if e.Type != scheduler.PlaceholderReplaced && e.Type != scheduler.TimedOut {
						delete(ending, e.Key)
						continue
					}
					assert.Assert(t, !ending[e.Key], "%s ends twice", e.Key)
					ending[e.Key] = true
					switch {
					case e.Type == scheduler.PlaceholderReplaced:
						seen["replaced"]++
					case e.Message == "cancel placeholder: resource incompatible":
						seen["too small"]++
					default:
						seen["released by a timeout"]++
					}
				case scheduler.Allocated:
					if r, ok := step.Command.(scheduler.Release); ok {
						seen["placed in the place of a placeholder"]++
						seen["elsewhere"] += boolToInt(nodeOf[r.Key] != e.Node)
					} else if _, ok := step.Command.(scheduler.RemoveNode); ok {
						seen["placed when a node was removed"]++
					}
				case scheduler.AskTimedOut:
					seen["asks cancelled by a timeout"]++
				case scheduler.ApplicationUpdated:
					if e.Reason == lifecycle.ReasonGangAllocated {
						seen["Running, complete"]++
					}
					seen[e.State.String()]++
				}
			}
		}
	}
}
