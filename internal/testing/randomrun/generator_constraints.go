package randomrun

import (
	"fmt"
	"maps"

	"github.com/canopy-scheduler/canopy/pkg/constraints"
	"github.com/canopy-scheduler/canopy/pkg/objects"
	"github.com/canopy-scheduler/canopy/pkg/resources"
	"github.com/canopy-scheduler/canopy/pkg/scheduler"
)

// In some runs nodes have labels and taints, and asks have constraints. They follow from counts, so that the runs of
// other seeds stay the same.

// constraintRuns is of how many runs one has constraints.
const constraintRuns = 7

// nodeAttributes returns labels and taints of a node, some of which cannot be read; nil: none.
func (a *Generator) nodeAttributes(id objects.NodeID) map[string]string {
	if a.affine {
		return a.topologyLabels(id)
	}
	if !a.constrained {
		return nil
	}
	g := independentGenerator(fmt.Sprint("attributes ", a.nodeCount, a.askCount))
	out := map[string]string{"zone": Pick(g, "a", "a", "b", "c"), "cores": Pick(g, "4", "8", "many")}
	if g.OneIn(3) {
		out["ssd"] = ""
	}
	if g.OneIn(6) {
		out[constraints.TaintsAttribute] = Pick(g,
			`[{"key":"gpu","value":"yes","effect":"NoSchedule"}]`, `[{"key":"gpu","effect":"NoExecute"}]`,
			`[{"key":"old","effect":"PreferNoSchedule"}]`,
			`[{"key":"gpu","value":"yes","effect":"NoSchedule"},{"key":"old","effect":"NoExecute"}]`,
			`[{"key":"gpu","effect":"Never"}]`, `[`)
	}
	return out
}

// nodeUpdate changes the capacity of a node, or its attributes. Some nodes lose all of a resource until their next
// update, as if a device plugin had restarted.
func (a *Generator) nodeUpdate() scheduler.Command {
	m := scheduler.SetCapacity{Node: a.nodeID(), Total: a.capacity()}
	if g := independentGenerator(fmt.Sprint("lost ", a.nodeCount, a.askCount)); g.OneIn(3) {
		lost := Pick(g, "gpu", "gpu", "vcore", "memory")
		m.Total = m.Total.Sub(resources.FromMap(map[string]resources.Quantity{lost: m.Total.Get(lost)}))
	}
	if (a.constrained || a.affine) && independentGenerator(fmt.Sprint("update ", a.nodeCount, a.askCount)).OneIn(2) {
		return scheduler.SetAttributes{Node: m.Node, Attributes: a.nodeAttributes(m.Node)}
	}
	return m
}

// tags returns the tags of an ask; those of constraints in some runs only.
func (a *Generator) tags(asks int) map[string]string {
	tags := askTags(asks)
	if a.affine {
		return withPreferences(affinityTags(tags, asks), asks, true)
	}
	if a.constrained {
		return withPreferences(constraintTags(tags, asks), asks, false)
	}
	return tags
}

// constraintTags adds constraints on nodes to the tags of some asks. Some cannot be read.
func constraintTags(tags map[string]string, asks int) map[string]string {
	g := independentGenerator(fmt.Sprint("constraints ", asks))
	if !g.OneIn(3) {
		return tags
	}
	out := map[string]string{}
	maps.Copy(out, tags)
	if g.OneIn(3) {
		out[constraints.SelectorTag] = Pick(g, `{"zone":"a"}`, `{"zone":"b","ssd":""}`, `{"zone":"nowhere"}`, `{}`,
			`{"zone":1}`)
	}
	if g.OneIn(3) {
		out[constraints.AffinityTag] = Pick(g, requiredTerms(`{"key":"zone","operator":"In","values":["a","b"]}`),
			requiredTerms(`{"key":"cores","operator":"Gt","values":["4"]}`),
			requiredTerms(`{"key":"ssd","operator":"Exists"},{"key":"zone","operator":"NotIn","values":["c"]}`),
			requiredTerms(`{"key":"zone","operator":"Near"}`),
			`{"preferredDuringSchedulingIgnoredDuringExecution":[{"weight":5,"preference":{"matchExpressions":[{"key":"ssd",`+
				`"operator":"Exists"}]}}]}`)
	}
	if g.OneIn(2) {
		out[constraints.TolerationsTag] = Pick(g, `[{"operator":"Exists"}]`, `[{"key":"gpu","value":"yes"}]`,
			`[{"key":"gpu","operator":"Exists","effect":"NoSchedule"}]`,
			`[{"key":"old","operator":"Exists"},{"key":"gpu","operator":"Exists"}]`, `[{"key":"gpu","effect":"Sometimes"}]`)
	}
	return out
}

// requiredTerms returns a required node affinity with one term.
func requiredTerms(expressions string) string {
	return `{"requiredDuringSchedulingIgnoredDuringExecution":{"nodeSelectorTerms":[{"matchExpressions":[` + expressions +
		`]}]}}`
}
