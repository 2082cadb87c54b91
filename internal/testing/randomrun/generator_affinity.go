package randomrun

import (
	"fmt"
	"maps"

	"github.com/canopy-scheduler/canopy/pkg/affinity"
	"github.com/canopy-scheduler/canopy/pkg/budgets"
	"github.com/canopy-scheduler/canopy/pkg/constraints"
	"github.com/canopy-scheduler/canopy/pkg/objects"
)

// In some runs nodes have labels of several topologies, and asks have pod affinity, anti-affinity, topology spread and
// host ports. They follow from counts, so that the runs of other seeds stay the same.

// affinityRuns is of how many runs one has them.
const affinityRuns = 8

// topologyLabels returns the labels of a node; a few lack one, a few have a taint.
func (a *Generator) topologyLabels(id objects.NodeID) map[string]string {
	g := independentGenerator(fmt.Sprint("topology ", id, a.nodeCount, a.askCount))
	out := map[string]string{"host": string(id), "zone": Pick(g, "a", "a", "b", "c"), "rack": fmt.Sprint(g.IntN(5))}
	if g.OneIn(8) {
		delete(out, Pick(g, "host", "zone", "rack"))
	}
	if independentGenerator(fmt.Sprint("soft taint ", id, a.nodeCount, a.askCount)).OneIn(8) {
		out[constraints.TaintsAttribute] = `[{"key":"old","effect":"PreferNoSchedule"}]`
	}
	if g.OneIn(10) {
		out[constraints.TaintsAttribute] = Pick(g, `[{"key":"gpu","effect":"NoSchedule"}]`, `[`)
	}
	return out
}

// affinityTags adds labels, and affinity, spread or host ports, to the tags of an ask. Some cannot be read.
func affinityTags(tags map[string]string, asks int) map[string]string {
	g := independentGenerator(fmt.Sprint("affinity ", asks))
	out := map[string]string{}
	maps.Copy(out, tags)
	out[budgets.NamespaceTag], out[budgets.LabelTag+"app"] = Pick(g, "x", "x", "x", "y"), Pick(g, "a", "a", "b")
	key := func() string { return `"topologyKey":"` + Pick(g, "host", "host", "zone", "rack") + `"` }
	selector := func() string {
		return `"labelSelector":` + Pick(g, `{"matchLabels":{"app":"a"}}`, `{"matchLabels":{"app":"a"}}`,
			`{"matchLabels":{"app":"b"}}`,
			`{"matchExpressions":[{"key":"tier","operator":"Exists"}]}`,
			`{"matchExpressions":[{"key":"app","operator":"NotIn","values":["b"]}]}`, `{}`)
	}
	term := func() string {
		return `{` + key() + `,` + selector() + Pick(g, ``, ``, ``, `,"namespaces":["x"]`, `,"namespaceSelector":{}`,
			`,"matchLabelKeys":["app"]`, `,"mismatchLabelKeys":["tier"]`) + `}`
	}
	required := func(terms string) string {
		return `{"requiredDuringSchedulingIgnoredDuringExecution":[` + terms + `]}`
	}
	spread := func(policy string) string {
		return `{` + key() + `,` + selector() + fmt.Sprintf(`,"maxSkew":%d,"whenUnsatisfiable":"DoNotSchedule"`,
			1+g.IntN(2)) + policy + `}`
	}
	for range Pick(g, 0, 0, 1, 1, 2) {
		switch g.IntN(9) {
		case 0, 1:
			out[affinity.PodAffinityTag] = Pick(g, required(term()), required(term()), required(term()+","+term()))
		case 2, 3:
			out[affinity.PodAntiAffinityTag] = Pick(g, required(term()), required(term()), required(term()+","+term()))
		case 4, 5:
			out[affinity.SpreadTag] = Pick(g, `[`+spread("")+`]`, `[`+spread("")+`]`, `[`+spread(`,"minDomains":3`)+`]`,
				`[`+spread(`,"nodeAffinityPolicy":"Ignore","nodeTaintsPolicy":"Honor"`)+`]`, `[`+spread("")+`,`+spread("")+`]`)
		case 6:
			out[affinity.PortsTag] = Pick(g, `[{"hostPort":80}]`, `[{"hostPort":80,"hostIP":"10.0.0.1"}]`,
				`[{"hostPort":80,"protocol":"UDP"},{"containerPort":8080}]`)
		case 7:
			out[constraints.SelectorTag] = Pick(g, `{"zone":"a"}`, `{"zone":"b"}`)
		default:
			tag := Pick(g, affinity.PodAffinityTag, affinity.PodAntiAffinityTag, affinity.SpreadTag, affinity.PortsTag)
			out[tag] = Pick(g, required(`{`+selector()+`}`),
				required(`{`+key()+`,"namespaceSelector":{"matchLabels":{"a":"b"}}}`), `[{"maxSkew":1}]`, `[{"hostPort":99999}]`,
				`{"preferredDuringSchedulingIgnoredDuringExecution":[{"weight":5,"podAffinityTerm":{"topologyKey":"zone",`+
					`"labelSelector":{}}}]}`)
		}
	}
	return out
}
