package priorities

import (
	"slices"
	"testing"

	"gotest.tools/v3/assert"
	"pgregory.net/rapid"
)

// randomClass draws classes that are often invalid and often have the same name.
var randomClass = rapid.Custom(func(t *rapid.T) Class {
	c := Class{
		Name: rapid.OneOf(
			rapid.SampledFrom([]string{"a", "b", "c", "", "A", "system-x", "system-node-critical", "system-cluster-critical"}),
			rapid.StringMatching(`[a-z0-9.-]{0,4}`),
		).Draw(t, "name"),
		Value: rapid.SampledFrom([]int32{-1 << 31, 0, 1, UserMaximum, UserMaximum + 1, ClusterCritical,
			NodeCritical}).Draw(t, "value"),
		GlobalDefault: rapid.IntRange(0, 3).Draw(t, "default") == 0,
		Policy:        Policy(rapid.IntRange(0, 2).Draw(t, "policy")),
	}
	if rapid.Bool().Draw(t, "open") {
		c.Policy, c.GlobalDefault = 0, false
	}
	return c
})

// assertValid checks the invariant of the package.
func assertValid(t *rapid.T, r Registry) {
	all := r.All()
	assert.Assert(t, slices.IsSortedFunc(all, func(a, b Class) int {
		if a.Name < b.Name {
			return -1
		}
		return 1
	}), "classes are not sorted or not unique")
	defaults := 0
	for _, c := range all {
		assert.Equal(t, len(c.Check()), 0)
		if c.GlobalDefault {
			defaults++
			assert.Equal(t, r.Default().Name, c.Name)
		}
		got, ok := r.Get(key(c.Name))
		assert.Assert(t, ok && got.Equal(&c))
	}
	assert.Assert(t, defaults <= 1 && (defaults == 1) == (r.Default() != nil))
	for _, s := range systemClasses() {
		c, ok := r.Get(key(s.Name))
		assert.Assert(t, ok && c.Value == s.Value)
	}
}

// After any sequence of changes, most of them refused, the registry is valid and equals one that New makes of its
// classes.
func TestRegistry_IsValidAfterAnyChanges(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var r Registry
		for range rapid.IntRange(0, 20).Draw(t, "changes") {
			c, before := randomClass.Draw(t, "class"), r.All()
			was := r
			next, err := r, error(nil)
			switch rapid.IntRange(0, 2).Draw(t, "kind") {
			case 0:
				next, err = r.With(c)
			case 1:
				next, err = r.Update(c)
			case 2:
				next, err = r.Without(key(c.Name))
			}
			if err == nil {
				r = next
			} else {
				assert.Assert(t, len(reasons(err)) > 0, "%v has no reason", err)
			}
			assert.Assert(t, slices.EqualFunc(was.All(), before, func(a, b Class) bool { return a.Equal(&b) }))
			assertValid(t, r)
		}
		again, err := New(r.All()...)
		assert.NilError(t, err)
		assert.Assert(t, again.Equal(r))
	})
}

// New(classes) equals adding them one by one with With, in any order.
func TestNew_EqualsAddingOneByOne(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		classes := rapid.SliceOfN(randomClass, 0, 5).Draw(t, "classes")
		for i := range classes {
			if classes[i].IsSystem() {
				classes[i].Name = "plain" // With refuses system classes
			}
		}
		all, err := New(classes...)
		order := rapid.Permutation(classes).Draw(t, "order")
		var one Registry
		var failed error
		for _, c := range order {
			next, err := one.With(c)
			if err != nil {
				failed = err
				continue
			}
			one = next
		}
		assert.Equal(t, err == nil, failed == nil, "New: %v, With: %v", err, failed)
		if err == nil {
			assert.Assert(t, all.Equal(one))
		}
	})
}
