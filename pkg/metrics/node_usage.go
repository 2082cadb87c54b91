package metrics

import (
	"maps"
	"regexp"
	"slices"

	"github.com/canopy-scheduler/canopy/pkg/persistent"
	"github.com/canopy-scheduler/canopy/pkg/scheduler"
)

// How full nodes are, by resource. Upstream has the resource in the name of the family, and so
// have we, for its dashboards: there are as many as nodes have kinds of resources.

const rangeCount = 10

// rangeLabels are shares of a node in use.
var rangeLabels = [rangeCount]string{
	"[0,10%]", "(10%,20%]", "(20%,30%]", "(30%,40%]", "(40%,50%]", "(50%,60%]", "(60%,70%]", "(70%,80%]", "(80%,90%]", "(90%,100%]",
}

// writeNodeUsage tells of the nodes of a scrape.
func (s *scrape) writeNodeUsage(to *exposition) {
	counts := make([]map[string]*[rangeCount]int, len(s.snaps))
	all := map[string]bool{}
	for i, snap := range s.snaps {
		counts[i] = countUsage(snap.Nodes)
		for resource := range counts[i] {
			all[resource] = true
		}
	}
	taken := map[string]bool{}
	for _, resource := range slices.Sorted(maps.Keys(all)) {
		name := usageName(resource)
		if taken[name] {
			continue // another resource has that name; what is said must be about one
		}
		taken[name] = true
		f := gauge(name, "Nodes by the share of their "+resource+" that is allocated.", "partition", "range")
		for i, snap := range s.snaps {
			of := counts[i][resource]
			if of == nil {
				continue // no node there has it
			}
			for r, n := range of {
				partitionWriter{to, snap.Partition}.count(f, n, rangeLabels[r])
			}
		}
	}
}

// illegalCharacters is what the name of a family must not have.
var illegalCharacters = regexp.MustCompile(`[^a-zA-Z0-9_]`)

func usageName(resource string) string {
	return "yunikorn_scheduler_" + illegalCharacters.ReplaceAllString(resource, "_") + "_node_usage_total"
}

// countUsage counts for each resource how many nodes are how full.
func countUsage(nodes persistent.List[scheduler.NodeView]) map[string]*[rangeCount]int {
	counts := map[string]*[rangeCount]int{}
	for n := range nodes.All() {
		for resource, total := range n.Total.All() {
			if total <= 0 {
				continue
			}
			if counts[resource] == nil {
				counts[resource] = new([rangeCount]int)
			}
			counts[resource][rangeOf(int64(n.Allocated.Get(resource)), int64(total))]++
		}
	}
	return counts
}

// rangeOf is where used of total is. A node that has shrunk may use more than there is.
func rangeOf(used, total int64) int {
	tenths := float64(used) * rangeCount / float64(total) // exact where it matters: at whole tenths
	for r := range rangeCount {
		if tenths <= float64(r+1) {
			return r
		}
	}
	return rangeCount - 1
}
