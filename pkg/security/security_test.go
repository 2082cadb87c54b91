package security

import (
	"testing"

	"gotest.tools/v3/assert"
	"pgregory.net/rapid"
)

func TestACL_Allows(t *testing.T) {
	list := AllowList([]string{"bob", "alice", "bob"}, []string{"ops", "dev"})
	for _, c := range []struct {
		name string
		acl  ACL
		user User
		want bool
	}{
		{"ACL-3: the empty list", ACL{}, User{Name: "alice", Groups: []string{"dev"}}, false},
		{"ACL-2: a star", Everyone(), User{Name: "eve"}, true},
		{"ACL-2: a star and a user without a name", Everyone(), User{}, true},
		{"ACL-1: a listed user", list, User{Name: "alice"}, true},
		{"ACL-1: a member of a listed group", list, User{Name: "eve", Groups: []string{"qa", "ops"}}, true},
		{"ACL-1: a user with the name of a listed group", list, User{Name: "dev"}, false},
		{"ACL-1: a group with the name of a listed user", list, User{Name: "eve", Groups: []string{"alice"}}, false},
		{"ACL-5: matching is case-sensitive", list, User{Name: "Alice", Groups: []string{"DEV"}}, false},
		{"ACL-5: whole names match", list, User{Name: "ali", Groups: []string{"developers"}}, false},
		{"ACL-5: a user without a name", list, User{}, false},
	} {
		t.Run(c.name, func(t *testing.T) { assert.Equal(t, c.acl.Allows(c.user), c.want) })
	}
}

// String and ParseACL are inverse.
func TestACL_StringParsesBack(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		users := rapid.SliceOf(rapid.StringMatching(`[a-zA-Z_][a-zA-Z0-9:#/_.@-]{0,8}\$?`)).Draw(t, "users")
		groups := rapid.SliceOf(rapid.StringMatching(`[a-zA-Z_][a-zA-Z0-9:_.-]{0,8}`)).Draw(t, "groups")
		acl := AllowList(users, groups)
		if rapid.Bool().Draw(t, "everyone") {
			acl = Everyone()
		}
		again, illegal, err := ParseACL(acl.String())
		assert.NilError(t, err)
		assert.Equal(t, len(illegal), 0)
		assert.Equal(t, again.String(), acl.String())
		for _, u := range users {
			assert.Assert(t, again.Allows(User{Name: u}), u)
		}
		for _, g := range groups {
			assert.Assert(t, again.Allows(User{Groups: []string{g}}), g)
		}
		assert.Equal(t, again.IsEmpty(), acl.IsEmpty())
	})
}

func TestACL_MatchedEntry(t *testing.T) {
	list := AllowList([]string{"ann"}, []string{"ops", "dev"})
	for _, c := range []struct {
		list ACL
		u    User
		want string
	}{
		{Everyone(), User{Name: "ann"}, "*"}, {list, User{"ann", []string{"dev"}}, "user ann"},
		{list, User{"bob", []string{"x", "dev", "ops"}}, "group dev"}, {list, User{"bob", []string{"x"}}, ""},
		{ACL{}, User{Name: "ann"}, ""},
	} {
		assert.Equal(t, c.list.MatchedEntry(c.u), c.want)
		assert.Equal(t, c.list.Allows(c.u), c.want != "")
	}
}
