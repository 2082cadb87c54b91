package constraints_test

import (
	"fmt"
	"testing"

	"gotest.tools/v3/assert"

	"github.com/canopy-scheduler/canopy/pkg/constraints"
)

func node(t *testing.T, name, taints string, labels ...string) *constraints.Node {
	t.Helper()
	attributes := map[string]string{}
	for i := 0; i < len(labels); i += 2 {
		attributes[labels[i]] = labels[i+1]
	}
	if taints != "" {
		attributes[constraints.TaintsAttribute] = taints
	}
	n, err := constraints.NewNode(name, attributes)
	assert.NilError(t, err)
	return n
}

func required(terms string) map[string]string {
	return map[string]string{constraints.AffinityTag: `{"requiredDuringSchedulingIgnoredDuringExecution":{` +
		`"nodeSelectorTerms":[` + terms + `]}}`}
}

func expression(key, operator, values string) map[string]string {
	return required(fmt.Sprintf(`{"matchExpressions":[{"key":%q,"operator":%q,"values":[%s]}]}`, key, operator, values))
}

// Each operator, with the label missing, equal and different (CON-3).
func TestMatch_Operators(t *testing.T) {
	missing, five, text := node(t, "n", ""), node(t, "n", "", "k", "5"), node(t, "n", "", "k", "text")
	for _, c := range []struct {
		operator, values    string
		missing, five, text bool
	}{
		{"In", `"5"`, false, true, false}, {"In", `"4","text"`, false, false, true}, {"NotIn", `"5"`, true, false, true},
		{"Exists", "", false, true, true}, {"DoesNotExist", "", true, false, false},
		{"Gt", `"4"`, false, true, false}, {"Gt", `"5"`, false, false, false}, {"Lt", `"6"`, false, true, false},
		{"Lt", `"5"`, false, false, false},
	} {
		ask, err := constraints.Parse(expression("k", c.operator, c.values))
		assert.NilError(t, err)
		got := []bool{ask.Match(missing) == constraints.Matches, ask.Match(five) == constraints.Matches,
			ask.Match(text) == constraints.Matches}
		assert.DeepEqual(t, got, []bool{c.missing, c.five, c.text})
	}
}

// Terms are alternatives, expressions of a term hold together, and so do selector and affinity (CON-2, CON-3).
func TestMatch_TermsAndSelector(t *testing.T) {
	tags := required(`{"matchExpressions":[{"key":"a","operator":"Exists"},{"key":"b","operator":"Exists"}]},` +
		`{"matchFields":[{"key":"metadata.name","operator":"In","values":["named"]}]},{}`)
	tags[constraints.SelectorTag] = `{"zone":"z"}`
	ask, err := constraints.Parse(tags)
	assert.NilError(t, err)
	for want, n := range map[constraints.Mismatch][]*constraints.Node{
		constraints.Matches: {node(t, "n", "", "zone", "z", "a", "", "b", ""), node(t, "named", "", "zone", "z")},
		constraints.SelectorMismatch: {node(t, "n", "", "zone", "z", "a", ""), node(t, "named", ""),
			node(t, "n", "", "zone", "z"), node(t, "named", "", "zone", "y")},
	} {
		for _, n := range n {
			assert.Equal(t, ask.Match(n), want, "%s", n.Name())
		}
	}
}

// Tolerations (CON-4, CON-5).
func TestMatch_Taints(t *testing.T) {
	none := (*constraints.Ask)(nil)
	assert.Equal(t, none.Match(node(t, "n", `[{"key":"k","effect":"PreferNoSchedule"}]`)), constraints.Matches)
	assert.Equal(t, none.Match(node(t, "n", `[{"key":"k","effect":"NoExecute"}]`)), constraints.UntoleratedTaint)
	for tolerations, want := range map[string]constraints.Mismatch{
		`[{"key":"k","value":"v"}]`:                                  constraints.Matches,
		`[{"key":"k","operator":"Equal","value":"w"}]`:               constraints.UntoleratedTaint,
		`[{"key":"k","operator":"Exists"}]`:                          constraints.Matches,
		`[{"key":"j","operator":"Exists"}]`:                          constraints.UntoleratedTaint,
		`[{"operator":"Exists","effect":"NoSchedule"}]`:              constraints.Matches,
		`[{"operator":"Exists","effect":"NoExecute"}]`:               constraints.UntoleratedTaint,
		`[{"key":"k","operator":"Exists","tolerationSeconds":3600}]`: constraints.Matches,
	} {
		ask, err := constraints.Parse(map[string]string{constraints.TolerationsTag: tolerations})
		assert.NilError(t, err)
		assert.Equal(t, ask.Match(node(t, "n", `[{"key":"k","value":"v","effect":"NoSchedule"}]`)), want, tolerations)
	}
}

// What says the same has the same key; what cannot matter is no part of it (CON-6).
func TestKey_EqualForTheSameConstraints(t *testing.T) {
	key := func(tags map[string]string) string {
		ask, err := constraints.Parse(tags)
		assert.NilError(t, err)
		return ask.Key()
	}
	assert.Equal(t, key(nil), "")
	assert.Equal(t, key(map[string]string{"other": "tag", constraints.SelectorTag: "{}"}), "")
	assert.Equal(t, key(map[string]string{constraints.SelectorTag: `{"a":"1","b":"2"}`}),
		key(map[string]string{constraints.SelectorTag: ` {"b":"2", "a":"1"}`}))
	assert.Equal(t,
		key(map[string]string{constraints.TolerationsTag: `[{"key":"k","operator":"Exists","tolerationSeconds":1}]`}),
		key(map[string]string{constraints.TolerationsTag: `[{"key":"k","operator":"Exists"}]`}))
	assert.Assert(t, key(expression("k", "In", `"1"`)) != key(expression("k", "NotIn", `"1"`)))
}

func preferred(terms string) map[string]string {
	return map[string]string{constraints.AffinityTag: `{"preferredDuringSchedulingIgnoredDuringExecution":[` + terms +
		`]}`}
}

// Preferred terms refuse no node, and the weights of those that match are added (CON-29).
func TestScore_PreferredTerms(t *testing.T) {
	ask, err := constraints.Parse(
		preferred(`{"weight":100,"preference":{"matchExpressions":[{"key":"a","operator":"Exists"}]}},` +
			`{"weight":7,"preference":{"matchFields":[{"key":"metadata.name","operator":"In","values":["named"]}]}},` +
			`{"weight":50,"preference":{}}`))
	assert.NilError(t, err)
	assert.Assert(t, ask.Prefers())
	for want, n := range map[int64]*constraints.Node{0: node(t, "n", ""), 100: node(t, "n", "", "a", ""),
		107: node(t, "named", "", "a", ""), 7: node(t, "named", "")} {
		assert.Equal(t, ask.Match(n), constraints.Matches)
		assert.Equal(t, ask.Score(n), want)
	}
	assert.Equal(t, ask.Match(node(t, "n", `[{"key":"k","effect":"NoSchedule"}]`)), constraints.UntoleratedTaint)
}

// A taint with PreferNoSchedule that is not tolerated takes as much as a term can give; others take nothing (CON-30).
func TestScore_Taints(t *testing.T) {
	n := node(t, "n",
		`[{"key":"k","value":"v","effect":"PreferNoSchedule"},{"key":"j","effect":"PreferNoSchedule"},`+
			`{"key":"h","effect":"NoSchedule"}]`)
	assert.Assert(t, n.SoftTainted() && !node(t, "n", `[{"key":"h","effect":"NoSchedule"}]`).SoftTainted())
	assert.Equal(t, (*constraints.Ask)(nil).Score(n), int64(-200))
	for tolerations, want := range map[string]int64{
		`[{"key":"k","value":"v"}]`: -100, `[{"operator":"Exists"}]`: 0,
		`[{"operator":"Exists","effect":"NoSchedule"}]`:       -200,
		`[{"operator":"Exists","effect":"PreferNoSchedule"}]`: 0, `[{"key":"k","value":"w"}]`: -200,
	} {
		ask, err := constraints.Parse(map[string]string{constraints.TolerationsTag: tolerations})
		assert.NilError(t, err)
		assert.Equal(t, ask.Score(n), want, tolerations)
		assert.Assert(t, !ask.Prefers())
	}
}

// What cannot change a score is no part of its key.
func TestScoreKey_OnlyWhatIsScored(t *testing.T) {
	key := func(tags map[string]string) string {
		ask, err := constraints.Parse(tags)
		assert.NilError(t, err)
		return ask.ScoreKey()
	}
	hard, soft := `{"key":"k","operator":"Exists","effect":"NoSchedule"}`, `{"key":"k","operator":"Exists"}`
	assert.Equal(t,
		key(map[string]string{constraints.SelectorTag: `{"a":"b"}`, constraints.TolerationsTag: "[" + hard + "]"}), "")
	assert.Equal(t, key(map[string]string{constraints.TolerationsTag: "[" + hard + "," + soft + "]"}),
		key(map[string]string{constraints.TolerationsTag: "[" + soft + "]"}))
	term := `{"weight":1,"preference":{"matchExpressions":[{"key":"a","operator":"Exists"}]}}`
	assert.Assert(t, key(preferred(term)) != "" && key(preferred(term)) != key(preferred(term+","+term)))
}

func TestParse_RefusesWithAReason(t *testing.T) {
	for _, c := range []struct{ tag, text, reason string }{
		{constraints.SelectorTag, `{"a":1}`, "a number at byte 6"},
		{constraints.SelectorTag, `{"a"`, "it ends too early"},
		{constraints.SelectorTag, `{"":"b"}`, "a label has no key"},
		{constraints.SelectorTag, `{} {}`, "something follows its end"},
		{constraints.TolerationsTag, `[{"value":"v"}]`, "without a key needs the operator Exists"},
		{constraints.TolerationsTag, `[{"key":"k","operator":"Gt"}]`,
			`operator "Gt" of toleration "k" is none of Equal, Exists`},
		{constraints.TolerationsTag, `[{"key":"k","color":"red"}]`, `unknown field "color"`},
		{constraints.AffinityTag, `{"requiredDuringSchedulingIgnoredDuringExecution":{"nodeSelectorTerms":[]}}`,
			"nodeSelectorTerms has no term"},
		{constraints.AffinityTag, expression("k", "In", "")[constraints.AffinityTag], "In of k needs a value"},
		{constraints.AffinityTag, expression("k", "Gt", `"x"`)[constraints.AffinityTag], `Gt of k needs an integer, not "x"`},
		{constraints.AffinityTag, expression("k", "Exists", `"x"`)[constraints.AffinityTag], "Exists of k has no values"},
		{constraints.AffinityTag,
			required(`{"matchFields":[{"key":"spec.x","operator":"In","values":["a"]}]}`)[constraints.AffinityTag],
			`field "spec.x" is not metadata.name`},
		{constraints.AffinityTag, preferred(`{"weight":0,"preference":{}}`)[constraints.AffinityTag],
			"preferred term 1: weight 0 is not from 1 to 100"},
		{constraints.AffinityTag, preferred(`{"weight":1,"preference":{}},{"weight":101}`)[constraints.AffinityTag],
			"preferred term 2: weight 101 is not"},
		{constraints.AffinityTag, preferred(`{"weight":-1}`)[constraints.AffinityTag], "weight -1 is not"},
		{constraints.AffinityTag, preferred(`{"weight":1.5}`)[constraints.AffinityTag], "not the JSON expected"},
		{constraints.AffinityTag,
			preferred(`{"weight":1,"preference":{"matchExpressions":[{"key":"k","operator":"In"}]}}`)[constraints.AffinityTag],
			"preferred term 1: In of k needs a value"},
		{constraints.AffinityTag, preferred(`{"weight":1,"podAffinityTerm":{}}`)[constraints.AffinityTag],
			`unknown field "podAffinityTerm"`},
	} {
		_, err := constraints.Parse(map[string]string{c.tag: c.text})
		assert.ErrorContains(t, err, c.reason)
		assert.ErrorContains(t, err, c.tag)
	}
	_, err := constraints.NewNode("n", map[string]string{constraints.TaintsAttribute: `[{"effect":"NoSchedule"}]`})
	assert.Error(t, err, "attribute canopy.scheduler/taints: a taint has no key")
}

// A Cache answers as Parse does, and with equal pointers while it remembers.
func TestCache_RemembersAndForgets(t *testing.T) {
	var cache constraints.Cache
	first, err := cache.Parse(expression("k", "In", `"1"`))
	assert.NilError(t, err)
	again, _ := cache.Parse(expression("k", "In", `"1"`))
	assert.Assert(t, first == again)
	for i := range 5000 {
		tags := map[string]string{constraints.SelectorTag: fmt.Sprintf(`{"a":"%d"}`, i)}
		got, err := cache.Parse(tags)
		want, _ := constraints.Parse(tags)
		assert.NilError(t, err)
		assert.Equal(t, got.Key(), want.Key())
	}
	_, err = cache.Parse(map[string]string{constraints.SelectorTag: "["})
	assert.ErrorContains(t, err, constraints.SelectorTag)
	_, sameErr := cache.Parse(map[string]string{constraints.SelectorTag: "["})
	assert.Equal(t, err, sameErr)
}

// Nothing that a client sends ends the process, and what is accepted can be matched and keeps its key.
func FuzzParse(f *testing.F) {
	f.Add(`{"a":"b"}`,
		required(`{"matchExpressions":[{"key":"a","operator":"Lt","values":["5"]}]}`)[constraints.AffinityTag],
		`[{"operator":"Exists"}]`, `[{"key":"k","effect":"NoSchedule"}]`)
	f.Add(``,
		preferred(`{"weight":1,"preference":` +
			`{"matchExpressions":[{"key":"a","operator":"Gt","values":["0"]}]}}`)[constraints.AffinityTag],
		`[{"key":"k"}]`, `[{"key":"k","effect":"PreferNoSchedule"}]`)
	f.Add(`{}`, `{}`, `[]`, `[]`)
	f.Add(`null`, `null`, `null`, `null`)
	f.Fuzz(func(t *testing.T, selector, affinity, tolerations, taints string) {
		n, err := constraints.NewNode("n", map[string]string{"a": "1", constraints.TaintsAttribute: taints})
		if err != nil {
			n, _ = constraints.NewNode("n", nil)
		}
		tags := map[string]string{constraints.SelectorTag: selector, constraints.AffinityTag: affinity,
			constraints.TolerationsTag: tolerations}
		ask, err := constraints.Parse(tags)
		if err != nil {
			return
		}
		again, err := constraints.Parse(tags)
		assert.NilError(t, err)
		assert.Equal(t, ask.Key(), again.Key())
		assert.Equal(t, ask.Match(n), again.Match(n))
		assert.Equal(t, ask.Score(n), again.Score(n))
		assert.Equal(t, ask.ScoreKey(), again.ScoreKey())
	})
}
