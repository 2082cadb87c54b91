package metrics

import (
	"maps"
	"regexp"
	"slices"

	"github.com/canopy-scheduler/canopy/pkg/persistent"
	"github.com/canopy-scheduler/canopy/pkg/scheduler"
)

// The usage of nodes by resource. The name of the resource is in the name of the family, as in
// YuniKorn, so that its dashboards work: there are as many families as nodes have resources.

const rangeCount = 10

// rangeLabels are ranges of the allocated share of a node.
var rangeLabels = [rangeCount]string{
	"[0,10%]", "(10%,20%]", "(20%,30%]", "(30%,40%]", "(40%,50%]", "(50%,60%]", "(60%,70%]", "(70%,80%]", "(80%,90%]",
	"(90%,100%]",
}

// writeNodeUsage writes the usage of the nodes of all partitions.
func (s *scrape) writeNodeUsage(to *gathering) {
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
			continue // another resource has the same name: a family must be about one resource (OBS-66)
		}
		taken[name] = true
		f := gauge(name, "Nodes by the share of their "+resource+" that is allocated.", "partition", "range")
		for i, snap := range s.snaps {
			of := counts[i][resource]
			if of == nil {
				continue // no node of the partition has the resource
			}
			for r, n := range of {
				partitionWriter{to, snap.Partition}.count(f, n, rangeLabels[r])
			}
		}
	}
}

// illegalCharacters are the characters that the name of a family must not have.
var illegalCharacters = regexp.MustCompile(`[^a-zA-Z0-9_]`)

func usageName(resource string) string {
	return "yunikorn_scheduler_" + illegalCharacters.ReplaceAllString(resource, "_") + "_node_usage_total"
}

// countUsage counts, for each resource, the nodes in each range of usage.
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

// rangeOf returns the range of used/total. A node that has shrunk may use more than its total.
func rangeOf(used, total int64) int {
	tenths := float64(used) * rangeCount / float64(total) // exact at whole tenths, where ranges end
	for r := range rangeCount {
		if tenths <= float64(r+1) {
			return r
		}
	}
	return rangeCount - 1
}
