package security

import (
	"testing"

	"gotest.tools/v3/assert"
)

func TestParseACL_Lists(t *testing.T) {
	none := []string(nil)
	for _, c := range []struct {
		name, text string
		want       ACL
		illegal    []string
		err        error
	}{
		{name: "an empty text allows no user", text: ""},
		{name: "white space allows no user", text: "  "},
		{name: "a star allows every user", text: "*", want: Everyone()},
		{name: "white space around it does not matter", text: " *\n", want: Everyone()},
		{name: "a star as the users allows every user", text: "* dev", want: Everyone()},
		{name: "a star as the groups allows every user", text: "alice *", want: Everyone()},
		{name: "users", text: "alice,bob", want: AllowList([]string{"alice", "bob"}, none)},
		{name: "users and groups", text: "alice dev,ops",
			want: AllowList([]string{"alice"}, []string{"dev", "ops"})},
		{name: "white space between them collapses", text: "alice \t dev",
			want: AllowList([]string{"alice"}, []string{"dev"})},
		{name: "a space in front stands for no users", text: " dev", want: AllowList(none, []string{"dev"})},
		{name: "several spaces in front stand for no users", text: "  dev ", want: AllowList(none, []string{"dev"})},
		{name: "a space in front of two lists is ambiguous", text: " alice dev", err: ErrLeadingSpace},
		{name: "three lists", text: "alice bob carol", err: ErrTooManyLists},
		{name: "service accounts are users", text: "system:serviceaccount:spark:driver",
			want: AllowList([]string{"system:serviceaccount:spark:driver"}, none)},
		{name: "groups may have dots and colons", text: " data.science,oidc:dev",
			want: AllowList(none, []string{"data.science", "oidc:dev"})},
		{name: "a machine account ends in a dollar", text: "host$,a$b", want: AllowList([]string{"host$"}, none),
			illegal: []string{"a$b"}},
		{name: "illegal names are left out", text: "alice,1st,*, dev,a/b",
			want:    AllowList([]string{"alice"}, []string{"dev"}),
			illegal: []string{"1st", "*", "", "a/b"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, illegal, err := ParseACL(c.text)
			assert.Equal(t, err, c.err)
			assert.DeepEqual(t, illegal, c.illegal)
			assert.Equal(t, got.everyone, c.want.everyone)
			assert.DeepEqual(t, got.users, c.want.users)
			assert.DeepEqual(t, got.groups, c.want.groups)
		})
	}
}

func TestACL_EmptyAllowsNoUser(t *testing.T) {
	assert.Assert(t, ACL{}.IsEmpty())
	assert.Assert(t, !Everyone().IsEmpty())
	assert.Assert(t, !AllowList([]string{"alice"}, nil).IsEmpty())
	assert.Assert(t, !AllowList(nil, []string{"dev"}).IsEmpty())
}

func TestIsPrintable_Names(t *testing.T) {
	for name, want := range map[string]bool{
		"": true, "ann": true, "Zoë 1*)(uid=": true, "no-break\u00a0space": true,
		"\x00": false, "root\x00x": false, "a\nb": false, "tab\t": false, "del\x7f": false, "next\u0085line": false,
		"\x1b[31m": false, "\xff": false,
	} {
		assert.Equal(t, IsPrintable(name), want, "%q", name)
	}
}
