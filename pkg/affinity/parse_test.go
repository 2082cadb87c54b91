package affinity

import (
	"strings"
	"testing"

	"gotest.tools/v3/assert"

	"github.com/canopy-scheduler/canopy/pkg/budgets"
	"github.com/canopy-scheduler/canopy/pkg/constraints"
)

func required(terms string) string {
	return `{"requiredDuringSchedulingIgnoredDuringExecution":[` + terms + `]}`
}

// What cannot be read, or cannot be kept, is refused, and the reason names the tag and the thing (CON-26).
func TestParse_RefusesWithAReason(t *testing.T) {
	spread := func(fields string) string { return `[{"topologyKey":"zone","maxSkew":1,` + fields + `}]` }
	for _, c := range []struct{ tag, text, want string }{
		{PodAffinityTag, `[`, "not the JSON expected"},
		{PodAffinityTag, `{"required":[]}`, `unknown field "required"`},
		{PodAffinityTag, required(`{"labelSelector":{}}`), "term 1: topologyKey is missing"},
		{PodAntiAffinityTag, required(`{"topologyKey":"zone"},{"topologyKey":""}`), "term 2: topologyKey is missing"},
		{PodAntiAffinityTag, required(`{"topologyKey":"zone","namespaces":[""]}`), "a namespace has no name"},
		{PodAntiAffinityTag, required(`{"topologyKey":"zone","namespaceSelector":{"matchLabels":{"a":"b"}}}`),
			"labels of namespaces are not known"},
		{PodAffinityTag, required(`{"topologyKey":"zone","matchLabelKeys":["a"]}`), "need a labelSelector"},
		{PodAffinityTag, required(`{"topologyKey":"zone","labelSelector":{},"mismatchLabelKeys":[""]}`),
			"a label key is empty"},
		{PodAffinityTag, required(`{"topologyKey":"zone","labelSelector":{"matchLabels":{"":"b"}}}`), "has no key"},
		{PodAffinityTag,
			required(`{"topologyKey":"zone","labelSelector":{"matchExpressions":[{"key":"a","operator":"Gt","values":["1"]}]}}`),
			`operator "Gt" of a`},
		{PodAffinityTag,
			required(`{"topologyKey":"zone","labelSelector":{"matchExpressions":[{"key":"a","operator":"In"}]}}`),
			"In of a needs a value"},
		{PodAffinityTag, preferred(`{"weight":0,"podAffinityTerm":{"topologyKey":"zone"}}`),
			"preferred term 1: weight 0 is not from 1 to 100"},
		{PodAffinityTag,
			preferred(`{"weight":1,"podAffinityTerm":{"topologyKey":"zone"}},` +
				`{"weight":101,"podAffinityTerm":{"topologyKey":"zone"}}`), "preferred term 2: weight 101"},
		{PodAntiAffinityTag, preferred(`{"weight":-5,"podAffinityTerm":{"topologyKey":"zone"}}`), "weight -5"},
		{PodAntiAffinityTag, preferred(`{"weight":1}`), "preferred term 1: topologyKey is missing"},
		{PodAntiAffinityTag,
			preferred(`{"weight":1,"podAffinityTerm":{"topologyKey":"zone","namespaceSelector":{"matchLabels":{"a":"b"}}}}`),
			"labels of namespaces are not known"},
		{PodAntiAffinityTag, preferred(`{"topologyKey":"zone"}`), `unknown field "topologyKey"`},
		{SpreadTag, `{}`, "not the JSON expected"},
		{SpreadTag, `[{"topologyKey":"zone","whenUnsatisfiable":"DoNotSchedule"}]`, "constraint 1: maxSkew 0 is below 1"},
		{SpreadTag, `[{"maxSkew":1,"whenUnsatisfiable":"DoNotSchedule"}]`, "topologyKey is missing"},
		{SpreadTag, spread(`"whenUnsatisfiable":"Never"`), `whenUnsatisfiable "Never"`},
		{SpreadTag, spread(`"whenUnsatisfiable":"DoNotSchedule","minDomains":0`), "minDomains 0 is below 1"},
		{SpreadTag, spread(`"whenUnsatisfiable":"ScheduleAnyway","minDomains":2`), "minDomains needs DoNotSchedule"},
		{SpreadTag, spread(`"whenUnsatisfiable":"DoNotSchedule","nodeTaintsPolicy":"Perhaps"`), `policy "Perhaps"`},
		{SpreadTag, spread(`"whenUnsatisfiable":"DoNotSchedule","matchLabelKeys":["a"]`), "need a labelSelector"},
		{SpreadTag, spread(`"whenUnsatisfiable":"DoNotSchedule","labelSelector":{},"matchLabelKeys":[""]`),
			"a label key is empty"},
		{SpreadTag,
			strings.Replace(spread(`"whenUnsatisfiable":"DoNotSchedule"`), "]",
				`,{"topologyKey":"zone","maxSkew":2,"whenUnsatisfiable":"DoNotSchedule"}]`, 1),
			"constraint 2: topologyKey and whenUnsatisfiable are those of another"},
		{PortsTag, `[{"hostPort":70000}]`, "hostPort 70000 is not from 1 to 65535"},
		{PortsTag, `[{"hostPort":-1}]`, "hostPort -1"},
		{PortsTag, `[{"hostPort":80,"protocol":"HTTP"}]`, `protocol "HTTP"`},
		{PortsTag, `[{"hostPort":80,"hostIP":"host"}]`, `hostIP "host"`},
		{PortsTag, strings.Repeat(" ", constraints.MaxText+1), "are more than"},
	} {
		a, err := Parse(map[string]string{c.tag: c.text}, nil)
		assert.Assert(t, a == nil)
		assert.ErrorContains(t, err, c.want, "%s", c.text)
		assert.ErrorContains(t, err, "tag "+c.tag+": ")
	}
}

func preferred(terms string) string {
	return `{"preferredDuringSchedulingIgnoredDuringExecution":[` + terms + `]}`
}

// Preferences are read as required terms are, and refuse nothing (CON-31, CON-32).
func TestParse_ReadsPreferences(t *testing.T) {
	term := `{"weight":3,"podAffinityTerm":{"topologyKey":"zone","labelSelector":{}}}`
	a, err := Parse(map[string]string{
		PodAffinityTag: preferred(term), PodAntiAffinityTag: preferred(term + "," + term),
		SpreadTag: `[{"topologyKey":"zone","maxSkew":1,"whenUnsatisfiable":"ScheduleAnyway"}]`,
		PortsTag:  `[{"containerPort":80}]`,
	}, nil)
	assert.NilError(t, err)
	assert.Assert(t, a.Key() != "" && !a.MayBeRefused())
	want := PreferredTerm{3,
		Term{Namespaces: []string{budgets.NamespaceOf(nil)}, Selector: &Selector{}, TopologyKey: "zone"}}
	assert.DeepEqual(t, a.PreferredAffinityTerms(), []PreferredTerm{want})
	assert.DeepEqual(t, a.PreferredAntiAffinityTerms(), []PreferredTerm{want, want})
	assert.Equal(t, len(a.PreferredSpreadConstraints()), 1)
	assert.Equal(t, len(a.AffinityTerms())+len(a.AntiAffinityTerms())+len(a.SpreadConstraints()), 0)
	none, err := Parse(map[string]string{PodAffinityTag: preferred(""), PodAntiAffinityTag: `{}`}, nil)
	assert.NilError(t, err)
	assert.Assert(t, none == nil && !none.MayBeRefused() && none.PreferredAffinityTerms() == nil)
}

// Namespaces and label keys are resolved with the labels of the ask (CON-15, CON-16).
func TestParse_ResolvesTermsWithTheAsk(t *testing.T) {
	a, err := Parse(map[string]string{
		budgets.NamespaceTag: "team", budgets.LabelTag + "app": "db", budgets.LabelTag + "hash": "1",
		PodAffinityTag: required(
			`{"topologyKey":"zone","labelSelector":{"matchLabels":{"app":"db"}},"matchLabelKeys":["hash","none"],` +
				`"mismatchLabelKeys":["app"]},` +
				`{"topologyKey":"zone","namespaces":["y","x","y"]},` +
				`{"topologyKey":"zone","namespaceSelector":{},"namespaces":["x"]}`),
	}, nil)
	assert.NilError(t, err)
	in := func(key string, operator constraints.Operator, value string) constraints.Expression {
		return constraints.Expression{Key: key, Operator: operator, Values: []string{value}}
	}
	assert.DeepEqual(t, a.AffinityTerms(), []Term{
		{Namespaces: []string{"team"}, TopologyKey: "zone", Selector: &Selector{
			MatchLabels:      map[string]string{"app": "db"},
			MatchExpressions: []constraints.Expression{in("hash", constraints.In, "1"), in("app", constraints.NotIn, "db")},
		}},
		{Namespaces: []string{"x", "y"}, TopologyKey: "zone"},
		{AllNamespaces: true, TopologyKey: "zone"},
	})
}

// A selector that is missing selects nothing, an empty one everything, as in Kubernetes (CON-15).
func TestSelector_MissingAndEmpty(t *testing.T) {
	none, all := (*Selector)(nil), &Selector{}
	assert.Assert(t, !none.Matches(nil) && !none.Matches(map[string]string{"a": "b"}))
	assert.Assert(t, all.Matches(nil) && all.Matches(map[string]string{"a": "b"}))
	without := &Selector{MatchExpressions: []constraints.Expression{{Key: "a", Operator: constraints.NotIn,
		Values: []string{"b"}}}}
	assert.Assert(t, without.Matches(nil) && !without.Matches(map[string]string{"a": "b"}))
}

// Equal constraints of asks with equal labels are one Ask, however they were written; others are not (CON-14).
func TestCache_EqualConstraintsAreOneAsk(t *testing.T) {
	var c Cache
	parse := func(tags map[string]string) *Ask {
		a, err := c.Parse(tags, nil)
		assert.NilError(t, err)
		return a
	}
	tags := map[string]string{PortsTag: `[{"hostPort":80}]`}
	first := parse(tags)
	assert.Assert(t, first == parse(tags) &&
		first == parse(map[string]string{PortsTag: ` [{"hostPort":80,"protocol":"TCP"}]`}))
	assert.Assert(t, first != parse(map[string]string{PortsTag: tags[PortsTag], budgets.LabelTag + "a": "b"}))
	assert.Assert(t, first != parse(map[string]string{PortsTag: tags[PortsTag], budgets.NamespaceTag: "b"}))
	assert.Assert(t, parse(nil) == nil)
	for i := range maxResults {
		parse(map[string]string{PortsTag: tags[PortsTag], budgets.LabelTag + "a": strings.Repeat("x", i)})
	}
	assert.Assert(t, len(c.results) <= maxResults)
	assert.Equal(t, parse(tags).Key(), first.Key())
}

// Whatever the tags say: no panic, and an Ask that was accepted is read the same again.
func FuzzParse(f *testing.F) {
	f.Add(required(`{"topologyKey":"zone","labelSelector":{"matchLabels":{"a":"b"}},"matchLabelKeys":["a"]}`),
		required(`{"topologyKey":"host","namespaceSelector":{}}`),
		`[{"topologyKey":"zone","maxSkew":1,"whenUnsatisfiable":"DoNotSchedule","minDomains":2}]`,
		`[{"hostPort":80,"hostIP":"::1"}]`)
	f.Add(`{`, `[]`, `null`, `[null]`)
	f.Add(preferred(`{"weight":1,"podAffinityTerm":{"topologyKey":"zone","labelSelector":{}}}`),
		preferred(`{"weight":100,"podAffinityTerm":{"topologyKey":"host"}}`),
		`[{"topologyKey":"zone","maxSkew":1,"whenUnsatisfiable":"ScheduleAnyway","labelSelector":{}}]`, ``)
	f.Fuzz(func(t *testing.T, affinity, antiAffinity, spread, ports string) {
		tags := map[string]string{PodAffinityTag: affinity, PodAntiAffinityTag: antiAffinity, SpreadTag: spread,
			PortsTag: ports, budgets.LabelTag + "a": "b"}
		a, err := Parse(tags, nil)
		if err != nil {
			assert.Assert(t, a == nil)
			assert.ErrorContains(t, err, "tag canopy.scheduler/")
			return
		}
		b, err := Parse(tags, nil)
		assert.NilError(t, err)
		assert.Equal(t, a.Key(), b.Key())
		var tracker Tracker
		info, err := constraints.NewNode("n", map[string]string{"zone": "z"})
		assert.NilError(t, err)
		n := tracker.AddNode(info)
		tracker.Place(a, tags, n)
		check := tracker.Check(a, tags)
		check.Refusal(n)
		assert.Equal(t, check.ScoreWithout(n, nil), check.NodeScore(n)+check.DomainScore(n))
		tracker.Unplace(a, tags, n)
		assert.Assert(t, !tracker.Active())
	})
}
