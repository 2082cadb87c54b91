package budgets

import (
	"errors"
	"fmt"
	"maps"
	"strings"
	"testing"

	"gotest.tools/v3/assert"
	"pgregory.net/rapid"
)

func TestAllowance_DisruptionsAllowed(t *testing.T) {
	for _, c := range []struct {
		name           string
		kind           AllowanceKind
		n              int32
		percent        bool
		there, leaving int
		want           int
	}{
		{"all but two of five", MinAvailable, 2, false, 5, 0, 3},
		{"who was told to leave is not available", MinAvailable, 2, false, 5, 2, 1},
		{"fewer are there than must be", MinAvailable, 2, false, 1, 0, -1},
		{"nobody must stay", MinAvailable, 0, false, 3, 1, 2},
		{"a share is of those who are there, rounded up", MinAvailable, 50, true, 7, 0, 3},
		{"also when the half is a whole number", MinAvailable, 50, true, 6, 0, 3},
		{"all must stay", MinAvailable, 100, true, 4, 0, 0},
		{"one in a hundred is one", MinAvailable, 1, true, 3, 0, 2},
		{"a share of nobody", MinAvailable, 50, true, 0, 0, 0},
		{"one at a time", MaxUnavailable, 1, false, 9, 0, 1},
		{"and it has been told", MaxUnavailable, 1, false, 9, 1, 0},
		{"more than may were told", MaxUnavailable, 1, false, 9, 3, -2},
		{"nobody may leave", MaxUnavailable, 0, false, 9, 0, 0},
		{"a share that may leave is rounded up too", MaxUnavailable, 30, true, 7, 0, 3},
		{"and so one may always leave", MaxUnavailable, 1, true, 2, 0, 1},
		{"but for none", MaxUnavailable, 0, true, 7, 0, 0},
		{"what somebody else has found out", Allowed, 2, false, 1, 0, 2},
		{"shrinks as they are told", Allowed, 2, false, 9, 3, -1},
		{"the largest number of all", MaxUnavailable, 1<<31 - 1, false, 5, 1, 1<<31 - 2},
	} {
		t.Run(c.name, func(t *testing.T) {
			assert.Equal(t, Allowance{c.kind, c.n, c.percent}.DisruptionsAllowed(c.there, c.leaving), c.want)
		})
	}
}

// labelled are the tags of work in a namespace.
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
		{"the label it names", "default", app, nil, labelled("", "app=db"), true},
		{"another value", "default", app, nil, labelled("", "app=web"), false},
		{"a longer value", "default", app, nil, labelled("", "app=dbx"), false},
		{"another label beside it", "default", app, nil, labelled("", "app=db", "tier=a"), true},
		{"one label of two", "default", map[string]string{"app": "db", "tier": "a"}, nil, labelled("", "app=db"), false},
		{"both labels", "default", map[string]string{"app": "db", "tier": "a"}, nil, labelled("", "tier=a", "app=db"), true},
		{"an empty value is a value", "default", map[string]string{"app": ""}, nil, labelled("", "app="), true},
		{"a label that is missing has no value", "default", map[string]string{"app": ""}, nil, labelled("", "b=c"), false},
		{"SC-093: the namespace of the budget", "team-a", app, nil, labelled("team-a", "app=db"), true},
		{"SC-093: another namespace", "team-a", app, nil, labelled("team-b", "app=db"), false},
		{"no namespace is the default one", "team-a", app, nil, labelled("", "app=db"), false},
		{"which may be written out", "default", app, nil, labelled("default", "app=db"), true},
		{"2.3: an empty selector selects nothing", "default", nil, nil, labelled("", "app=db"), false},
		{"2.3: nor does one without conditions", "default", map[string]string{}, []Expression{}, labelled("", "app=db"), false},
		{"2.3: work without labels", "default", nil, []Expression{{"app", DoesNotExist, nil}}, labelled(""), false},
		{"2.3: work without tags", "default", nil, []Expression{{"app", NotIn, []string{"a"}}}, nil, false},
		{"In: one of the values", "default", nil, []Expression{{"app", In, []string{"a", "db"}}}, labelled("", "app=db"), true},
		{"In: none of them", "default", nil, []Expression{{"app", In, []string{"a", "b"}}}, labelled("", "app=db"), false},
		{"In: the label is missing", "default", nil, []Expression{{"app", In, []string{"", "b"}}}, labelled("", "x=y"), false},
		{"NotIn: none of the values", "default", nil, []Expression{{"app", NotIn, []string{"a"}}}, labelled("", "app=db"), true},
		{"NotIn: one of them", "default", nil, []Expression{{"app", NotIn, []string{"a", "db"}}}, labelled("", "app=db"), false},
		{"NotIn: the label is missing", "default", nil, []Expression{{"app", NotIn, []string{"a"}}}, labelled("", "x=y"), true},
		{"Exists", "default", nil, []Expression{{"app", Exists, nil}}, labelled("", "app="), true},
		{"Exists: it does not", "default", nil, []Expression{{"app", Exists, nil}}, labelled("", "apps=a"), false},
		{"DoesNotExist", "default", nil, []Expression{{"app", DoesNotExist, nil}}, labelled("", "x=y"), true},
		{"DoesNotExist: it does", "default", nil, []Expression{{"app", DoesNotExist, nil}}, labelled("", "app="), false},
		{"labels and expressions hold together", "default", app, []Expression{{"tier", Exists, nil}}, labelled("", "app=db"), false},
		{"a label with a subdomain", "default", map[string]string{"app.kubernetes.io/name": "db"}, nil, labelled("", "app.kubernetes.io/name=db"), true},
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
		{"this one", func(*Budget) {}, "", ""},
		{"no name", func(b *Budget) { b.Name = "" }, InvalidName, NameField},
		{"a name that is no subdomain", func(b *Budget) { b.Name = "B" }, InvalidName, NameField},
		{"no namespace", func(b *Budget) { b.Namespace = "" }, InvalidNamespace, NamespaceField},
		{"a namespace that is no label", func(b *Budget) { b.Namespace = "a.b" }, InvalidNamespace, NamespaceField},
		{"a label that cannot be", func(b *Budget) { b.Selector = NewSelector(map[string]string{"a b": ""}, nil) }, InvalidSelector, SelectorField},
		{"a value that cannot be", func(b *Budget) { b.Selector = NewSelector(map[string]string{"a": "b c"}, nil) }, InvalidSelector, SelectorField},
		{"an empty selector", func(b *Budget) { b.Selector = Selector{} }, "", ""},
		{"an operator that does not exist", func(b *Budget) { b.Selector = NewSelector(nil, []Expression{{"a", "in", nil}}) }, InvalidSelector, SelectorField},
		{"In without values", func(b *Budget) { b.Selector = NewSelector(nil, []Expression{{"a", In, nil}}) }, InvalidSelector, SelectorField},
		{"Exists with values", func(b *Budget) { b.Selector = NewSelector(nil, []Expression{{"a", Exists, []string{"b"}}}) }, InvalidSelector, SelectorField},
		{"none of the three", func(b *Budget) { b.Allowance = Allowance{} }, OneAllowance, ""},
		{"a number below zero", func(b *Budget) { b.Allowance.N = -1 }, InvalidAllowance, MinField},
		{"more than all", func(b *Budget) { b.Allowance = Allowance{MaxUnavailable, 101, true} }, InvalidAllowance, MaxField},
		{"all", func(b *Budget) { b.Allowance = Allowance{MaxUnavailable, 100, true} }, "", ""},
		{"a share that is allowed", func(b *Budget) { b.Allowance = Allowance{Allowed, 10, true} }, InvalidAllowance, AllowedField},
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
					got, ok := r.Get(b.Namespace, b.Name)
					assert.Assert(t, ok && got.Equal(&b))
					continue
				}
				p := new(Problem)
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
		p := new(Problem)
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
	assert.DeepEqual(t, before, []string{"a/x app=db minAvailable: 3", "a/y app=db minAvailable: 2", "b/x app=db minAvailable: 1"})

	_, err = r.With(make("a", "x", 9))
	want(err, AlreadyExists)
	_, err = New(make("a", "x", 1), make("a", "x", 1))
	want(err, AlreadyExists)
	_, err = r.Update(make("b", "y", 9))
	want(err, UnknownBudget)
	_, err = r.Update(make("b", "x", -9))
	want(err, InvalidAllowance)
	_, err = r.Without("b", "y")
	want(err, UnknownBudget)

	next, err := r.Update(Budget{"b", "x", NewSelector(nil, []Expression{{"app", Exists, nil}}), Allowance{MaxUnavailable, 50, true}})
	assert.NilError(t, err)
	next, err = next.Without("a", "x")
	assert.NilError(t, err)
	next, err = next.With(make("aa", "x", 5))
	assert.NilError(t, err)
	assert.DeepEqual(t, ids(next), []string{"a/y app=db minAvailable: 2", "aa/x app=db minAvailable: 5", "b/x app maxUnavailable: 50%"})
	assert.DeepEqual(t, ids(r), before)
	assert.Assert(t, !next.Equal(r) && r.Equal(r))
}

var randomLabels = rapid.MapOfN(rapid.SampledFrom([]string{"app", "tier", "zone"}), rapid.SampledFrom([]string{"", "a", "b"}), 0, 3)

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

// A selector can be taken apart and put together again; more conditions never select more;
// and In and NotIn, like Exists and DoesNotExist, divide the work that has labels.
func TestSelector_Properties(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		labels, expressions := randomLabels.Draw(t, "labels"), randomExpressions.Draw(t, "expressions")
		s := NewSelector(labels, expressions)
		again := NewSelector(s.Labels(), s.Expressions())
		assert.Assert(t, s.Equal(again) && maps.Equal(s.Labels(), labels))
		assert.Equal(t, s.firstProblem(), "")
		tags := map[string]string{"other": "x"}
		for k, v := range randomLabels.Draw(t, "of work") {
			tags[LabelTag+k] = v
		}
		assert.Equal(t, s.Matches(tags), again.Matches(tags))
		tag, value, anchored := s.RequiredTag()
		assert.Equal(t, anchored, len(labels) > 0)
		assert.Assert(t, !anchored || !s.Matches(tags) || tags[tag] == value)
		for _, e := range expressions {
			alone := NewSelector(nil, []Expression{e})
			assert.Assert(t, !s.Matches(tags) || alone.Matches(tags), "%s without %s", s, alone)
			e.Operator = map[Operator]Operator{In: NotIn, NotIn: In, Exists: DoesNotExist, DoesNotExist: Exists}[e.Operator]
			assert.Equal(t, alone.Matches(tags) != NewSelector(nil, []Expression{e}).Matches(tags), len(tags) > 1)
		}
	})
}

func TestSelects_DoesNotAllocate(t *testing.T) {
	b := Budget{"default", "b", NewSelector(map[string]string{"app": "db"}, []Expression{{"x", DoesNotExist, nil}, {"tier", In, []string{"a", "b"}}}), Allowance{}}
	tags := labelled("default", "app=db", "tier=b")
	assert.Equal(t, testing.AllocsPerRun(100, func() {
		if !b.Selects(tags) {
			panic("it does not match")
		}
	}), 0.0)
}
