package chaos

import (
	"fmt"

	"github.com/canopy-scheduler/canopy/pkg/budgets"
)

// Constraints and virtual placeholders of the shim.

// attributesOf returns the labels of a node: it is in one of two zones.
func attributesOf(node string) map[string]string {
	return map[string]string{"kubernetes.io/hostname": node, "zone": fmt.Sprint("z", node[len(node)-1]%2)}
}

// constraintTags are the tags of pods with constraints. Pods of the first exclude each other from a node.
var constraintTags = []map[string]string{
	{
		budgets.LabelTag + "app": "alone",
		"canopy.scheduler/podAntiAffinity": `{"requiredDuringSchedulingIgnoredDuringExecution": [` +
			`{"labelSelector": {"matchLabels": {"app": "alone"}}, "topologyKey": "kubernetes.io/hostname"}]}`,
	},
	{
		budgets.LabelTag + "app": "even",
		"canopy.scheduler/topologySpreadConstraints": `[{"maxSkew": 1, "topologyKey": "zone", "whenUnsatisfiable": ` +
			`"DoNotSchedule", ` +
			`"labelSelector": {"matchLabels": {"app": "even"}}}]`,
	},
	{
		"canopy.scheduler/nodeAffinity": `{"preferredDuringSchedulingIgnoredDuringExecution": [{"weight": 7, ` +
			`"preference": {"matchExpressions": [{"key": "zone", "operator": "In", "values": ["z1"]}]}}]}`,
	},
}

const virtualGroup = "v"

// makeVirtual declares a task group of n members without placeholders.
func (s *shim) makeVirtual(a *shimApp, n int) {
	a.virtual = true
	a.request.GangSchedulingStyle, a.request.ExecutionTimeoutMilliSeconds = []string{"Soft", "Hard"}[s.rng.IntN(2)],
		int64(10_000+s.rng.IntN(60_000))
	a.request.Tags["canopy.scheduler/virtual-placeholders"] = "true"
	a.request.Tags["yunikorn.apache.org/task-groups"] = fmt.Sprintf(`[{"name": %q, "minMember": %d}]`, virtualGroup, n)
	s.events["an application has virtual placeholders"]++
}

// mayWait reports whether a pod may wait although a node has the resources for it.
func (p *pod) mayWait() bool { return p.tags != nil || p.group == virtualGroup }

// colocated returns the pods that exclude each other and run on one node, as pairs.
func (s *shim) colocated() (out []string) {
	first := map[string]*pod{}
	for _, p := range s.podsWhere(func(p *pod) bool { return p.node != "" && p.tags[budgets.LabelTag+"app"] == "alone" }) {
		if q := first[p.node]; q != nil {
			out = append(out, fmt.Sprintf("%s and %s on %s", q.key, p.key, p.node))
		}
		first[p.node] = p
	}
	return out
}

// countConstrained records what runs with constraints.
func (s *shim) countConstrained() {
	for _, p := range s.podsWhere(func(p *pod) bool { return p.node != "" }) {
		switch {
		case p.tags != nil:
			s.events["a pod with constraints runs at the end"]++
		case p.group == virtualGroup:
			s.events["a member without a placeholder runs at the end"]++
		}
	}
}
