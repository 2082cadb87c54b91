package limits

import (
	"testing"

	"gotest.tools/v3/assert"
)

func TestSelector_Matches(t *testing.T) {
	two := []string{"high", "low"}
	for _, c := range []struct {
		of                Selector
		high, other, none bool
		text              string
	}{
		{Selector{In, two}, true, false, false, "PriorityClass In [high low]"},
		{Selector{NotIn, two}, false, true, true, "PriorityClass NotIn [high low]"},
		{Selector{Operator: Exists}, true, true, false, "PriorityClass Exists"},
		{Selector{Operator: DoesNotExist}, false, false, true, "PriorityClass DoesNotExist"},
	} {
		t.Run(c.text, func(t *testing.T) {
			assert.Equal(t, c.of.Matches("high"), c.high)
			assert.Equal(t, c.of.Matches("other"), c.other)
			assert.Equal(t, c.of.Matches(""), c.none)
			assert.Equal(t, c.of.String(), c.text)
			o, ok := ParseOperator(c.of.Operator.String())
			assert.Assert(t, ok && o == c.of.Operator)
		})
	}
	_, ok := ParseOperator("in")
	assert.Assert(t, !ok, "the names of operators are case-sensitive")
}

func TestScope_IndexOfQuota(t *testing.T) {
	high, low := Selector{In, []string{"high"}}, Selector{In, []string{"low"}}
	scopes := Scopes([]ClassQuota{
		{Name: "ann", Match: high, Users: []string{"ann"}},
		{Name: "low", Match: low},
		{Name: "each", Match: high, Users: []string{"bob", Wildcard}, Groups: []string{"ops"}},
		{Name: "rest", Match: high, Groups: []string{Wildcard, "dev"}},
	})
	assert.Equal(t, len(scopes), 2)
	s, other := &scopes[0], &scopes[1]
	assert.Equal(t, other.IndexForAll(), 0)
	assert.Equal(t, other.IndexForUser("ann"), -1, "a quota of all users is not one of a single user")
	assert.Equal(t, s.IndexForAll(), -1)
	for user, want := range map[string]string{"ann": "ann", "bob": "each", "eve": "each"} {
		assert.Equal(t, s.Quotas[s.IndexForUser(user)].Name, want)
	}
	for _, c := range []struct {
		groups      []string
		quota, want string
	}{
		{[]string{"dev", "ops"}, "each", "ops"}, // in the order of the document, not of the groups of the user
		{[]string{"dev"}, "rest", "dev"},        // a name goes before the wildcard, in any order
		{[]string{"x"}, "rest", Wildcard},
		{nil, "rest", Wildcard},
	} {
		i, group := s.IndexForGroups(c.groups)
		assert.Equal(t, s.Quotas[i].Name, c.quota)
		assert.Equal(t, group, c.want)
	}
	i, _ := other.IndexForGroups([]string{"dev"})
	assert.Equal(t, i, -1)
}
