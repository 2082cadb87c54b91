package registry_test

import (
	"cmp"
	"errors"
	"maps"
	"slices"
	"strings"
	"testing"

	"gotest.tools/v3/assert"
	"pgregory.net/rapid"

	"github.com/canopy-scheduler/canopy/pkg/registry"
)

type templates = registry.Registry[template, *template]

// reasons are the reasons of all problems that an error joins.
func reasons(err error) (out []registry.Reason) {
	var joined interface{ Unwrap() []error }
	if errors.As(err, &joined) {
		for _, e := range joined.Unwrap() {
			out = append(out, reasons(e)...)
		}
		return out
	}
	if p := new(registry.Problem); errors.As(err, &p) {
		out = append(out, p.Reason)
	}
	return out
}

// randomTemplate draws templates that are often invalid and often have the same key, sometimes that of a system
// template.
var randomTemplate = rapid.Custom(func(t *rapid.T) template {
	return template{
		namespace: rapid.SampledFrom([]string{"", "a", "a-b", "sys"}).Draw(t, "namespace"),
		name:      rapid.SampledFrom([]string{"", "a", "b", "open", "closed"}).Draw(t, "name"),
		size:      rapid.SampledFrom([]int{0, 1, 1, 9}).Draw(t, "size"),
		standard:  rapid.IntRange(0, 3).Draw(t, "standard") == 0,
	}
})

// mapModel is a registry of templates as a map, with its rules written once more.
type mapModel map[registry.Key]template

func newMapModel() mapModel {
	return mapModel{{Name: "open"}: {"", "open", 1, false},
		{Namespace: "sys", Name: "closed"}: {"sys", "closed", 9, false}}
}

func isSystemKey(k registry.Key) bool {
	return k == registry.Key{Name: "open"} || k == registry.Key{Namespace: "sys", Name: "closed"}
}

// violations are the reasons of which x cannot be in the map.
func (m mapModel) violations(x template) (out []registry.Reason) {
	if x.name == "" {
		out = append(out, "invalid-name")
	}
	if x.size == 0 {
		out = append(out, "invalid-size")
	}
	for k, y := range m {
		if len(out) == 0 && x.standard && y.standard && k != x.Key() {
			return []registry.Reason{registry.SecondDefault}
		}
	}
	return out
}

// apply makes a change, or returns why it is refused.
func (m mapModel) apply(change string, x template) []registry.Reason {
	old, exists := m[x.Key()]
	switch change {
	case "with":
		if exists && !isSystemKey(x.Key()) {
			return []registry.Reason{registry.AlreadyExists}
		}
		if refused := m.violations(x); len(refused) > 0 {
			return refused
		}
		if exists {
			return []registry.Reason{registry.AlreadyExists}
		}
		m[x.Key()] = x
	case "update":
		switch refused := m.violations(x); {
		case !exists:
			return []registry.Reason{"unknown-template"}
		case old.size != x.size:
			return []registry.Reason{"size-immutable"}
		case len(refused) > 0:
			return refused
		}
		m[x.Key()] = x
	case "without":
		switch {
		case !exists:
			return []registry.Reason{"unknown-template"}
		case isSystemKey(x.Key()):
			return []registry.Reason{registry.ReservedName}
		}
		delete(m, x.Key())
	}
	return nil
}

// assertEqualsMap compares all that can be asked of a registry with the map.
func assertEqualsMap(t *rapid.T, r templates, m mapModel) {
	want := slices.SortedFunc(maps.Values(m), func(a, b template) int {
		return cmp.Or(cmp.Compare(a.namespace, b.namespace), cmp.Compare(a.name, b.name))
	})
	assert.Assert(t, slices.Equal(r.All(), want), "%v, want %v", r.All(), want)
	var standard *template
	for _, namespace := range []string{"", "a", "a-b", "sys", "z"} {
		for _, name := range []string{"", "a", "b", "open", "closed"} {
			key := registry.Key{Namespace: namespace, Name: name}
			got, ok := r.Get(key)
			y, exists := m[key]
			assert.Equal(t, ok, exists, "%v", key)
			assert.Assert(t, !ok || *got == y)
			if y.standard {
				standard = &y
			}
		}
	}
	assert.Equal(t, r.Default() == nil, standard == nil)
	assert.Assert(t, standard == nil || *r.Default() == *standard)
}

// After any changes, most of them refused, a registry equals a map with the same changes, no registry before has
// changed, and New makes the same of its objects in any order.
func TestRegistry_EqualsMapAfterAnyChanges(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var r templates
		m := newMapModel()
		assertEqualsMap(t, r, m)
		var before []templates
		var states []mapModel
		for range rapid.IntRange(1, 20).Draw(t, "changes") {
			before, states = append(before, r), append(states, maps.Clone(m))
			x := randomTemplate.Draw(t, "template")
			change := rapid.SampledFrom([]string{"with", "update", "without"}).Draw(t, "change")
			next, err := map[string]func() (templates, error){
				"with": func() (templates, error) { return r.With(x) }, "update": func() (templates, error) { return r.Update(x) },
				"without": func() (templates, error) { return r.Without(x.Key()) },
			}[change]()
			assert.DeepEqual(t, reasons(err), m.apply(change, x))
			if err == nil {
				assert.Equal(t, r.Equal(next), maps.Equal(m, states[len(states)-1]))
				r = next
			}
			assertEqualsMap(t, r, m)
		}
		for i := range before {
			assertEqualsMap(t, before[i], states[i])
		}
		again, err := registry.New(rapid.Permutation(r.All()).Draw(t, "order")...)
		assert.NilError(t, err)
		assert.Assert(t, again.Equal(r) && r.Equal(again))
		assertEqualsMap(t, again, m)
	})
}

// New refuses a list if and only if adding its objects one by one refuses one of them.
func TestNew_EqualsAddingOneByOne(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		list := rapid.SliceOfN(randomTemplate.Filter(func(x template) bool { return !isSystemKey(x.Key()) }), 0, 5).Draw(t,
			"templates")
		all, err := registry.New(list...)
		var one templates
		refused := false
		for _, x := range list {
			next, err := one.With(x)
			refused = refused || err != nil
			if err == nil {
				one = next
			}
		}
		assert.Equal(t, err != nil, refused, "%v", err)
		assert.Assert(t, refused || all.Equal(one))
	})
}

func TestNew_ReportsAllProblems(t *testing.T) {
	_, err := registry.New(template{"a", "", 0, true}, template{"a", "x", 1, true}, template{"a", "x", 1, false})
	assert.Error(t, err, strings.Join([]string{
		`invalid-name: queue template "a/": it has no name`,
		`invalid-size: queue template "a/": the size is not from 1 to 9`,
		`second-global-default: queue template "a/x": "a/" is the default already, and there can be only one`,
		`already-exists: queue template "a/x": the name exists already`,
	}, "\n"))
}

func TestRegistry_RefusalTexts(t *testing.T) {
	r, err := registry.New(template{"a", "x", 1, true})
	assert.NilError(t, err)
	for _, c := range []struct {
		refused error
		want    string
	}{
		{second(r.With(template{"", "open", 1, false})), `already-exists: queue template "open": it is a system template`},
		{second(r.Update(template{"a", "y", 1, false})), `unknown-template: queue template "a/y": there is no such template`},
		{second(r.Without(registry.Key{Name: "open"})),
			`reserved-name: queue template "open": a system template cannot be deleted`},
		{second(r.Without(registry.Key{})), `unknown-template: there is no such template`},
	} {
		assert.Error(t, c.refused, c.want)
	}
}

func second(_ templates, err error) error { return err }

// A kind without system objects, default and immutable fields.
func TestRegistry_OfPlainKind(t *testing.T) {
	var r registry.Registry[plain, *plain]
	assert.Assert(t, len(r.All()) == 0 && r.Default() == nil)
	for _, name := range []plain{"b", "a", "c"} {
		var err error
		r, err = r.With(name)
		assert.NilError(t, err)
	}
	r, err := r.Update("a")
	assert.NilError(t, err)
	r, err = r.Without(registry.Key{Name: "b"})
	assert.NilError(t, err)
	assert.DeepEqual(t, r.All(), []plain{"a", "c"})
	_, err = r.With("a")
	assert.ErrorContains(t, err, "already-exists")
	assert.Assert(t, r.Default() == nil)
	r, err = registry.New[plain]()
	assert.NilError(t, err)
	assert.Assert(t, r.Equal(registry.Registry[plain, *plain]{}))
}

func TestQuote_ShortensLongNames(t *testing.T) {
	assert.Equal(t, registry.Quote("a\n"), `"a\n"`)
	assert.Equal(t, len(registry.Quote(strings.Repeat("a", 1000))), 253+len(`""...`))
}

// A caller that appends to the objects of a registry does not change it.
func TestAll_AppendDoesNotChangeRegistry(t *testing.T) {
	r, err := registry.New[plain]("a", "b")
	assert.NilError(t, err)
	r, err = r.Without(registry.Key{Name: "b"})
	assert.NilError(t, err)
	_ = append(r.All(), "z")
	with, err := r.With("c")
	assert.NilError(t, err)
	assert.DeepEqual(t, with.All(), []plain{"a", "c"})
	assert.DeepEqual(t, r.All(), []plain{"a"})
}
