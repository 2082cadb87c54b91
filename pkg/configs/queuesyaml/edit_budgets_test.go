package queuesyaml

import (
	"strings"
	"testing"
	"unicode/utf8"

	"gotest.tools/v3/assert"

	"github.com/canopy-scheduler/canopy/pkg/budgets"
	"github.com/canopy-scheduler/canopy/pkg/configs/diff"
)

func TestEditBudgets_ChangesNothingElse(t *testing.T) {
	db := budgets.NewSelector(map[string]string{"app": "db"}, nil)
	some := budgets.NewSelector(map[string]string{"on": "true", "app": "db"},
		[]budgets.Expression{{Key: "tier", Operator: budgets.In, Values: []string{"b", "1"}},
			{Key: "canary", Operator: budgets.DoesNotExist}})
	one, half := budgets.Allowance{Kind: budgets.MinAvailable, N: 1},
		budgets.Allowance{Kind: budgets.MaxUnavailable, N: 50, Percent: true}
	zero := budgets.Allowance{Kind: budgets.Allowed}
	const tree = "partitions: # pools\n  - queues: [{name: root,   submitacl: '*'}]\n"
	const object = tree +
		"disruptionbudgets:\n  - kind: PodDisruptionBudget\n    metadata: {name: a, uid: 7}\n    spec:\n      " +
		"minAvailable: 1\n" +
		"      selector:\n        matchLabels: {app: db} # mine\n    status: {x: y}\n"
	for _, c := range []struct {
		name, text string
		all        []budgets.Budget
		want       string
	}{
		{"a budget is added", tree, []budgets.Budget{{Namespace: "default", Name: "a", Selector: db, Allowance: one}},
			tree + "disruptionbudgets:\n  - name: a\n    selector:\n      matchLabels:\n        app: db\n    minAvailable: 1\n"},
		{"a budget with all fields is added", tree,
			[]budgets.Budget{{Namespace: "x", Name: "a", Selector: some, Allowance: half}},
			tree + "disruptionbudgets:\n  - name: a\n    namespace: x\n    selector:\n      matchLabels:\n        app: db\n   " +
				"     on: \"true\"\n" +
				"      matchExpressions:\n        - key: canary\n          operator: DoesNotExist\n        - key: tier\n         " +
				" operator: In\n" +
				"          values: [\"1\", b]\n    maxUnavailable: 50%\n"},
		{"an empty selector is not written", tree, []budgets.Budget{{Namespace: "default", Name: "a", Allowance: zero}},
			tree + "disruptionbudgets:\n  - name: a\n    allowed: 0\n"},
		{"the last budget is removed", object, nil, tree},
		{"one of two budgets of the same name is removed",
			"disruptionbudgets:\n- {name: a, selector: {matchLabels: {app: db}}, minAvailable: 1} # first\n" +
				"- {name: a, namespace: x, selector: {matchLabels: {app: db}}, minAvailable: 1}\n" + tree,
			[]budgets.Budget{{Namespace: "x", Name: "a", Selector: db, Allowance: one}},
			"disruptionbudgets:\n  - {name: a, namespace: x, selector: {matchLabels: {app: db}}, minAvailable: 1}\n" + tree},
		{"a PodDisruptionBudget keeps its form", object,
			[]budgets.Budget{{Namespace: "default", Name: "a", Selector: db, Allowance: half}},
			strings.Replace(strings.Replace(object, "      minAvailable: 1\n", "", 1), "# mine\n",
				"# mine\n      maxUnavailable: 50%\n", 1)},
		{"allowed is written outside of spec", object,
			[]budgets.Budget{{Namespace: "default", Name: "a", Selector: db, Allowance: zero}},
			strings.Replace(object, "      minAvailable: 1\n", "", 1) + "    allowed: 0\n"},
		{"a changed key keeps its place and comment",
			tree + "disruptionbudgets:\n  - name: a\n    minAvailable: 2 # two\n" +
				"    spec: {selector: {matchLabels: {app: db}}}\n",
			[]budgets.Budget{{Namespace: "default", Name: "a", Selector: db, Allowance: one}},
			tree + "disruptionbudgets:\n  - name: a\n    minAvailable: 1 # two\n" +
				"    spec: {selector: {matchLabels: {app: db}}}\n"},
		{"priority classes are unchanged", "priorityclasses:   [{name: a, value: 1}]\n" + tree,
			[]budgets.Budget{{Namespace: "default", Name: "a", Selector: db, Allowance: one}},
			"priorityclasses:   [{name: a, value: 1}]\n" + tree +
				"disruptionbudgets:\n  - name: a\n    selector:\n      matchLabels:\n        app: db\n    minAvailable: 1\n"},
	} {
		t.Run(c.name, func(t *testing.T) {
			r, err := budgets.New(c.all...)
			assert.NilError(t, err)
			got, err := DisruptionBudgets.Edit([]byte(c.text), r, Options{})
			assert.NilError(t, err)
			assert.Equal(t, string(got), c.want)
		})
	}
}

// FuzzEditBudgets edits every valid text, and checks that the result has the new budgets and no
// other change (CFG-97).
func FuzzEditBudgets(f *testing.F) {
	for _, c := range allBadDocuments() {
		text, _ := parseMarks(c.text)
		f.Add([]byte(text), "a", "x", "app", "db", int32(5), uint8(1))
	}
	f.Add([]byte(someBudgets+"partitions: []\n"), "zk", "team-a", "app", "", int32(100), uint8(5))
	f.Add([]byte("{disruptionbudgets: [{name: a, spec: {allowed: ~, minAvailable: 1}}], partitions: []}"), "a", "default",
		"a", "1e3", int32(0), uint8(2))
	f.Fuzz(func(t *testing.T, text []byte, name, namespace, key, value string, n int32, kind uint8) {
		old, _ := Load(text)
		if old == nil || !utf8.ValidString(key+value) {
			return
		}
		b := budgets.Budget{Namespace: namespace, Name: name,
			Allowance: budgets.Allowance{Kind: budgets.AllowanceKind(kind%3) + 1, N: n, Percent: kind > 2}}
		if key != "" {
			b.Selector = budgets.NewSelector(map[string]string{key: value},
				[]budgets.Expression{{Key: "k", Operator: budgets.NotIn, Values: []string{value}}})
		}
		next, err := old.Budgets.With(b)
		if err != nil {
			next, err = old.Budgets.Update(b)
		}
		if err != nil {
			next, err = old.Budgets.Without((&budgets.Budget{Namespace: namespace, Name: name}).Key())
		}
		if err != nil {
			return
		}
		out, err := DisruptionBudgets.Edit(text, next, Options{})
		assert.NilError(t, err)
		conf, problems := Load(out)
		assert.Assert(t, conf != nil, "%v", problems)
		assert.Assert(t, conf.Budgets.Equal(next))
		back, err := DisruptionBudgets.Edit(out, old.Budgets, Options{})
		assert.NilError(t, err)
		again, _ := Load(back)
		assert.Assert(t, diff.Compare(old, again).IsEmpty() && again.Budgets.Equal(old.Budgets))
	})
}
