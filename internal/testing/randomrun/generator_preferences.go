package randomrun

import (
	"fmt"
	"maps"
	"strings"

	"github.com/canopy-scheduler/canopy/pkg/affinity"
	"github.com/canopy-scheduler/canopy/pkg/constraints"
)

// Where asks have constraints, some have preferences too, with these or alone. They follow from counts, so that the
// runs of other seeds stay the same.

// withPreferences adds preferences to the tags of an ask, also to tags with constraints. Some cannot be read.
func withPreferences(tags map[string]string, asks int, around bool) map[string]string {
	g := independentGenerator(fmt.Sprint("preferences ", asks))
	if !g.OneIn(3) {
		return tags
	}
	out := map[string]string{}
	maps.Copy(out, tags)
	weight := func() string { return `"weight":` + Pick(g, "1", "1", "2", "50", "100") }
	expression := func() string {
		return Pick(g, `{"key":"zone","operator":"In","values":["a"]}`,
			`{"key":"zone","operator":"NotIn","values":["a","c"]}`, `{"key":"ssd","operator":"Exists"}`,
			`{"key":"cores","operator":"Gt","values":["4"]}`, `{"key":"rack","operator":"In","values":["1","2"]}`)
	}
	prefer := func(tag, terms string) {
		addToJSON(out, tag, `{`, `"preferredDuringSchedulingIgnoredDuringExecution":[`+terms+`]`, `}`)
	}
	if !around || g.OneIn(4) {
		term := func() string {
			return `{` + weight() + `,"preference":{"matchExpressions":[` + expression() + `]}}`
		}
		prefer(constraints.AffinityTag,
			Pick(g, term(), term(), term()+","+term(),
				`{"weight":3,"preference":{"matchFields":[{"key":"metadata.name","operator":"In","values":["n1"]}]}}`))
	}
	if g.OneIn(24) {
		prefer(constraints.AffinityTag, `{"weight":0}`)
	}
	if !around {
		return out
	}
	key := func() string { return `"topologyKey":"` + Pick(g, "host", "zone", "rack") + `"` }
	selector := func() string {
		return `"labelSelector":` + Pick(g, `{"matchLabels":{"app":"a"}}`, `{"matchLabels":{"app":"b"}}`, `{}`)
	}
	term := func() string {
		return `{` + weight() + `,"podAffinityTerm":{` + key() + `,` + selector() + Pick(g, ``, ``,
			`,"namespaceSelector":{}`) + `}}`
	}
	for range Pick(g, 1, 1, 2) {
		switch g.IntN(4) {
		case 0:
			prefer(affinity.PodAffinityTag, Pick(g, term(), term()+","+term()))
		case 1:
			prefer(affinity.PodAntiAffinityTag, Pick(g, term(), term()+","+term()))
		default:
			anyway := `{` + key() + `,` + selector() + `,"maxSkew":1,"whenUnsatisfiable":"ScheduleAnyway"` + Pick(g, ``, ``,
				`,"nodeAffinityPolicy":"Ignore","nodeTaintsPolicy":"Honor"`) + `}`
			addToJSON(out, affinity.SpreadTag, `[`, anyway, `]`)
		}
	}
	return out
}

// addToJSON adds an element to the object or array of a tag, which may be missing.
func addToJSON(tags map[string]string, tag, begin, element, end string) {
	before, readable := strings.CutSuffix(tags[tag], end)
	switch {
	case tags[tag] == "" || before == begin:
		tags[tag] = begin + element + end
	case readable:
		tags[tag] = before + "," + element + end
	}
}
