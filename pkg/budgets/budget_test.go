package budgets

import (
	"errors"
	"fmt"
	"maps"
	"strings"
	"testing"

	"gotest.tools/v3/assert"
	"pgregory.net/rapid"

	"github.com/canopy-scheduler/canopy/pkg/registry"
)

func TestAllowance_DisruptionsAllowed(t *testing.T) {
	for _, c := range []struct {
		name             string
		kind             AllowanceKind
		n                int32
		percent          bool
		total, disrupted int
		want             int
	}{
		{"minAvailable 2 of 5", MinAvailable, 2, false, 5, 0, 3},
		{"minAvailable, preempting allocations are not available", MinAvailable, 2, false, 5, 2, 1},
		{"minAvailable, fewer exist than required", MinAvailable, 2, false, 1, 0, -1},
		{"minAvailable 0", MinAvailable, 0, false, 3, 1, 2},
		{"minAvailable 50% of 7, rounded up", MinAvailable, 50, true, 7, 0, 3},
		{"minAvailable 50% of 6", MinAvailable, 50, true, 6, 0, 3},
		{"minAvailable 100%", MinAvailable, 100, true, 4, 0, 0},
		{"minAvailable 1% of 3, rounded up", MinAvailable, 1, true, 3, 0, 2},
		{"minAvailable 50% of 0", MinAvailable, 50, true, 0, 0, 0},
		{"maxUnavailable 1", MaxUnavailable, 1, false, 9, 0, 1},
		{"maxUnavailable 1, one is preempting", MaxUnavailable, 1, false, 9, 1, 0},
		{"maxUnavailable 1, three are preempting", MaxUnavailable, 1, false, 9, 3, -2},
		{"maxUnavailable 0", MaxUnavailable, 0, false, 9, 0, 0},
		{"maxUnavailable 30% of 7, rounded up", MaxUnavailable, 30, true, 7, 0, 3},
		{"maxUnavailable 1% of 2, rounded up", MaxUnavailable, 1, true, 2, 0, 1},
		{"maxUnavailable 0%", MaxUnavailable, 0, true, 7, 0, 0},
		{"allowed 2", Allowed, 2, false, 1, 0, 2},
		{"allowed 2, three are preempting", Allowed, 2, false, 9, 3, -1},
		{"maxUnavailable of the largest number", MaxUnavailable, 1<<31 - 1, false, 5, 1, 1<<31 - 2},
	} {
		t.Run(c.name, func(t *testing.T) {
			assert.Equal(t, Allowance{c.kind, c.n, c.percent}.DisruptionsAllowed(c.total, c.disrupted), c.want)
		})
	}
}

// labelled returns the tags of an ask in a namespace.
func labelled(namespace string, labels ...string) map[string]string {
	tags := map[string]string{"kubernetes.io/meta/podName": "p"}
	if namespace != "" {
		tags[NamespaceTag] = namespace
	}
	for _, l := range labels {
		key, value, _ := strings.Cut(l, "=")
		tags[LabelTag+key] = value
	}
	return tags
}

func TestBudget_Selects(t *testing.T) {
	app := map[string]string{"app": "db"}
	for _, c := range []struct {
		name        string
		namespace   string
		labels      map[string]string
		expressions []Expression
		tags        map[string]string
		want        bool
	}{
		{"the label", "default", app, nil, labelled("", "app=db"), true},
		{"another value", "default", app, nil, labelled("", "app=web"), false},
		{"a longer value", "default", app, nil, labelled("", "app=dbx"), false},
		{"another label too", "default", app, nil, labelled("", "app=db", "tier=a"), true},
		{"one label of two", "default", map[string]string{"app": "db", "tier": "a"}, nil, labelled("", "app=db"), false},
		{"both labels", "default", map[string]string{"app": "db", "tier": "a"}, nil, labelled("", "tier=a", "app=db"), true},
		{"an empty value matches", "default", map[string]string{"app": ""}, nil, labelled("", "app="), true},
		{"a missing label has no value", "default", map[string]string{"app": ""}, nil, labelled("", "b=c"), false},
		{"SC-093: the namespace of the budget", "team-a", app, nil, labelled("team-a", "app=db"), true},
		{"SC-093: another namespace", "team-a", app, nil, labelled("team-b", "app=db"), false},
		{"without a namespace it is the default one", "team-a", app, nil, labelled("", "app=db"), false},
		{"the default namespace by name", "default", app, nil, labelled("default", "app=db"), true},
		{"PRE-65: an empty selector selects nothing", "default", nil, nil, labelled("", "app=db"), false},
		{"PRE-65: a selector without conditions selects nothing", "default", map[string]string{}, []Expression{},
			labelled("", "app=db"), false},
		{"PRE-65: an ask without labels", "default", nil, []Expression{{"app", DoesNotExist, nil}}, labelled(""), false},
		{"PRE-65: an ask without tags", "default", nil, []Expression{{"app", NotIn, []string{"a"}}}, nil, false},
		{"In: one of the values", "default", nil, []Expression{{"app", In, []string{"a", "db"}}}, labelled("", "app=db"),
			true},
		{"In: none of them", "default", nil, []Expression{{"app", In, []string{"a", "b"}}}, labelled("", "app=db"), false},
		{"In: the label is missing", "default", nil, []Expression{{"app", In, []string{"", "b"}}}, labelled("", "x=y"),
			false},
		{"NotIn: none of the values", "default", nil, []Expression{{"app", NotIn, []string{"a"}}}, labelled("", "app=db"),
			true},
		{"NotIn: one of them", "default", nil, []Expression{{"app", NotIn, []string{"a", "db"}}}, labelled("", "app=db"),
			false},
		{"NotIn: the label is missing", "default", nil, []Expression{{"app", NotIn, []string{"a"}}}, labelled("", "x=y"),
			true},
		{"Exists", "default", nil, []Expression{{"app", Exists, nil}}, labelled("", "app="), true},
		{"Exists: the label is missing", "default", nil, []Expression{{"app", Exists, nil}}, labelled("", "apps=a"), false},
		{"DoesNotExist", "default", nil, []Expression{{"app", DoesNotExist, nil}}, labelled("", "x=y"), true},
		{"DoesNotExist: the label exists", "default", nil, []Expression{{"app", DoesNotExist, nil}}, labelled("", "app="),
			false},
		{"labels and expressions must all match", "default", app, []Expression{{"tier", Exists, nil}}, labelled("", "app=db"),
			false},
		{"a label with a subdomain", "default", map[string]string{"app.kubernetes.io/name": "db"}, nil,
			labelled("", "app.kubernetes.io/name=db"), true},
		{"a tag that is no label", "default", map[string]string{"podName": "p"}, nil, labelled("", "x=y"), false},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := Budget{c.namespace, "b", NewSelector(c.labels, c.expressions), Allowance{Kind: Allowed}}
			assert.Equal(t, len(b.Check()), 0, "%v", b.Check())
			assert.Equal(t, b.Selects(c.tags), c.want)
		})
	}
}

func TestNew_ValidatesBudget(t *testing.T) {
	good := Budget{"default", "b", NewSelector(map[string]string{"app": "db"}, nil), Allowance{MinAvailable, 1, false}}
	for _, c := range []struct {
		name   string
		change func(*Budget)
		want   Reason
		field  Field
	}{
		{"a valid budget", func(*Budget) {}, "", ""},
		{"no name", func(b *Budget) { b.Name = "" }, InvalidName, NameField},
		{"a name that is no subdomain", func(b *Budget) { b.Name = "B" }, InvalidName, NameField},
		{"no namespace", func(b *Budget) { b.Namespace = "" }, InvalidNamespace, NamespaceField},
		{"a namespace that is no label", func(b *Budget) { b.Namespace = "a.b" }, InvalidNamespace, NamespaceField},
		{"an illegal label key", func(b *Budget) { b.Selector = NewSelector(map[string]string{"a b": ""}, nil) },
			InvalidSelector, SelectorField},
		{"an illegal label value", func(b *Budget) { b.Selector = NewSelector(map[string]string{"a": "b c"}, nil) },
			InvalidSelector, SelectorField},
		{"an empty selector", func(b *Budget) { b.Selector = Selector{} }, "", ""},
		{"an operator that does not exist", func(b *Budget) { b.Selector = NewSelector(nil, []Expression{{"a", "in", nil}}) },
			InvalidSelector, SelectorField},
		{"In without values", func(b *Budget) { b.Selector = NewSelector(nil, []Expression{{"a", In, nil}}) },
			InvalidSelector, SelectorField},
		{"Exists with values", func(b *Budget) { b.Selector = NewSelector(nil, []Expression{{"a", Exists, []string{"b"}}}) },
			InvalidSelector, SelectorField},
		{"no allowance", func(b *Budget) { b.Allowance = Allowance{} }, OneAllowance, ""},
		{"a number below zero", func(b *Budget) { b.Allowance.N = -1 }, InvalidAllowance, MinField},
		{"more than 100%", func(b *Budget) { b.Allowance = Allowance{MaxUnavailable, 101, true} }, InvalidAllowance,
			MaxField},
		{"100%", func(b *Budget) { b.Allowance = Allowance{MaxUnavailable, 100, true} }, "", ""},
		{"allowed as a percentage", func(b *Budget) { b.Allowance = Allowance{Allowed, 10, true} }, InvalidAllowance,
			AllowedField},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := good
			c.change(&b)
			for _, make := range []func(Budget) (Registry, error){
				func(b Budget) (Registry, error) { return New(b) }, Registry{}.With,
			} {
				r, err := make(b)
				if c.want == "" {
					assert.NilError(t, err)
					got, ok := r.Get(b.Key())
					assert.Assert(t, ok && got.Equal(&b))
					continue
				}
				p := new(registry.Problem)
				assert.Assert(t, errors.As(err, &p))
				assert.Equal(t, p.Reason, c.want)
				assert.Equal(t, p.Field, c.field)
				assert.ErrorContains(t, err, string(c.want)+": disruption budget \""+b.ID()+"\": ")
			}
		})
	}
}

func TestRegistry_WithUpdateWithout(t *testing.T) {
	make := func(namespace, name string, n int32) Budget {
		return Budget{namespace, name, NewSelector(map[string]string{"app": "db"}, nil), Allowance{MinAvailable, n, false}}
	}
	want := func(err error, reason Reason) {
		t.Helper()
		p := new(registry.Problem)
		assert.Assert(t, errors.As(err, &p) && p.Reason == reason, "%v", err)
	}
	r, err := New(make("b", "x", 1), make("a", "y", 2), make("a", "x", 3))
	assert.NilError(t, err)
	ids := func(r Registry) (out []string) {
		for _, b := range r.All() {
			out = append(out, fmt.Sprintf("%s %s %s", b.ID(), b.Selector, b.Allowance))
		}
		return out
	}
	before := ids(r)
	assert.DeepEqual(t, before,
		[]string{"a/x app=db minAvailable: 3", "a/y app=db minAvailable: 2", "b/x app=db minAvailable: 1"})

	_, err = r.With(make("a", "x", 9))
	want(err, AlreadyExists)
	_, err = New(make("a", "x", 1), make("a", "x", 1))
	want(err, AlreadyExists)
	_, err = r.Update(make("b", "y", 9))
	want(err, budgetKind.Unknown())
	_, err = r.Update(make("b", "x", -9))
	want(err, InvalidAllowance)
	_, err = r.Without(registry.Key{Namespace: "b", Name: "y"})
	want(err, budgetKind.Unknown())

	next, err := r.Update(Budget{"b", "x", NewSelector(nil, []Expression{{"app", Exists, nil}}),
		Allowance{MaxUnavailable, 50, true}})
	assert.NilError(t, err)
	next, err = next.Without(registry.Key{Namespace: "a", Name: "x"})
	assert.NilError(t, err)
	next, err = next.With(make("aa", "x", 5))
	assert.NilError(t, err)
	assert.DeepEqual(t, ids(next),
		[]string{"a/y app=db minAvailable: 2", "aa/x app=db minAvailable: 5", "b/x app maxUnavailable: 50%"})
	assert.DeepEqual(t, ids(r), before)
	assert.Assert(t, !next.Equal(r) && r.Equal(r))
}

var randomLabels = rapid.MapOfN(rapid.SampledFrom([]string{"app", "tier", "zone"}),
	rapid.SampledFrom([]string{"", "a", "b"}), 0, 3)

var randomExpressions = rapid.SliceOfN(rapid.Custom(func(t *rapid.T) Expression {
	e := Expression{
		Key:      rapid.SampledFrom([]string{"app", "tier", "zone"}).Draw(t, "key"),
		Operator: rapid.SampledFrom(Operators()).Draw(t, "operator"),
	}
	if e.needsValues() {
		e.Values = rapid.SliceOfN(rapid.SampledFrom([]string{"", "a", "b"}), 1, 3).Draw(t, "values")
	}
	return e
}), 0, 3)

// A selector equals one made of its parts, more conditions never select more, and In and NotIn, like Exists and
// DoesNotExist, partition the allocations that have labels.
func TestSelector_Properties(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		labels, expressions := randomLabels.Draw(t, "labels"), randomExpressions.Draw(t, "expressions")
		s := NewSelector(labels, expressions)
		again := NewSelector(s.Labels(), s.Expressions())
		assert.Assert(t, s.Equal(again) && maps.Equal(s.Labels(), labels))
		assert.Equal(t, s.firstProblem(), "")
		tags := map[string]string{"other": "x"}
		for k, v := range randomLabels.Draw(t, "labels of the allocation") {
			tags[LabelTag+k] = v
		}
		assert.Equal(t, s.Matches(tags), again.Matches(tags))
		tag, value, required := s.RequiredTag()
		assert.Equal(t, required, len(labels) > 0)
		assert.Assert(t, !required || !s.Matches(tags) || tags[tag] == value)
		for _, e := range expressions {
			alone := NewSelector(nil, []Expression{e})
			assert.Assert(t, !s.Matches(tags) || alone.Matches(tags), "%s matches, but %s does not", s, alone)
			e.Operator = map[Operator]Operator{In: NotIn, NotIn: In, Exists: DoesNotExist, DoesNotExist: Exists}[e.Operator]
			assert.Equal(t, alone.Matches(tags) != NewSelector(nil, []Expression{e}).Matches(tags), len(tags) > 1)
		}
	})
}

func TestSelects_DoesNotAllocate(t *testing.T) {
	b := Budget{"default", "b",
		NewSelector(map[string]string{"app": "db"}, []Expression{{"x", DoesNotExist, nil}, {"tier", In, []string{"a", "b"}}}),
		Allowance{}}
	tags := labelled("default", "app=db", "tier=b")
	assert.Equal(t, testing.AllocsPerRun(100, func() {
		if !b.Selects(tags) {
			panic("the budget does not select the tags")
		}
	}), 0.0)
}
