package placement

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"gotest.tools/v3/assert"

	"github.com/canopy-scheduler/canopy/pkg/security"
)

// aclTree is a Tree whose queues let only some users in, and in what is below them.
type aclTree struct {
	fakeTree
	users map[string][]string
}

func (g aclTree) SubmitDenyReason(path string, u security.User) string {
	for at := path; at != ""; at = at[:max(0, strings.LastIndexByte(at, '.'))] {
		if slices.Contains(g.users[at], u.Name) {
			return ""
		}
	}
	return fmt.Sprintf("%s keeps %s out", path, u.Name)
}

func TestPlace_ChecksSubmitAccess(t *testing.T) {
	ann, bob := security.User{Name: "ann"}, security.User{Name: "bob"}
	create := func(k Kind, value string) Rule { return Rule{Kind: k, Value: value, Create: true} }
	tree := func(extra fakeTree) aclTree {
		g := aclTree{fakeTree{"root": {}, "root.a": {Leaf: true}, "root.b": {Leaf: true}, "root.p": {}},
			map[string][]string{"root.a": {"ann"}, "root.b": {"bob"}, "root.p": {"ann"}, "root.default": {"bob"}, RecoveryQueue: {"ann"}}}
		for path, spot := range extra {
			g.fakeTree[path] = spot
		}
		return g
	}
	for _, tc := range []struct {
		name  string
		rules []Rule
		s     Submission
		more  fakeTree
		want  string
		err   string
	}{
		{name: "7.1: an existing leaf is taken with submit access", s: Submission{Queue: "root.a", User: ann}, want: "root.a"},
		{name: "7.1: without it the next rule is asked", rules: []Rule{create(Provided, ""), create(Fixed, "b")},
			s: Submission{Queue: "root.a", User: bob}, want: "root.b"},
		{name: "4.3.5: a refusal names every rule and what it met", rules: []Rule{create(Provided, ""), create(Fixed, "b")},
			s:   Submission{Queue: "root.p.x", User: security.User{Name: "eve"}},
			err: "no placement rule matched: rule provided: root.p.x keeps eve out; rule fixed b: root.b keeps eve out"},
		{name: "7.1: a missing path is asked for too", rules: []Rule{create(Provided, "")},
			s: Submission{Queue: "root.p.x.y", User: ann}, want: "root.p.x.y"},
		{name: "7.1: a missing path may be refused", rules: []Rule{create(Provided, "")}, s: Submission{Queue: "root.p.x.y", User: bob},
			err: "no placement rule matched: rule provided: root.p.x.y keeps bob out"},
		{name: "7.1: root.default asks as well", rules: []Rule{create(Provided, "")}, s: Submission{Queue: "root.a", User: bob},
			more: fakeTree{"root.default": {Leaf: true}}, want: "root.default"},
		{name: "7.1: and says so when it refuses", rules: []Rule{create(Provided, "")}, s: Submission{Queue: "root.b", User: ann},
			more: fakeTree{"root.default": {Leaf: true}},
			err:  "no placement rule matched: rule provided: root.b keeps ann out; what no rule places: root.default keeps ann out"},
		{name: "7.6: no access list opens the recovery queue", rules: []Rule{create(Provided, "")}, s: Submission{Queue: RecoveryQueue, User: ann},
			err: "no placement rule matched: rule provided: queue root.@recovery@ is only for applications that are recovered"},
		{name: "7.6: nor anything below it", rules: []Rule{create(Provided, "")}, s: Submission{Queue: RecoveryQueue + ".x", User: ann},
			err: "no placement rule matched: rule provided: queue root.@recovery@.x is only for applications that are recovered"},
		{name: "7.6: a name that only begins like it is another queue", rules: []Rule{create(Fixed, "p.@recovery@x")},
			s: Submission{User: ann}, want: "root.p.@recovery@x"},
		{name: "4.5: a forced application without access goes to the recovery queue", rules: []Rule{create(Provided, "")},
			s: Submission{Queue: "root.a", User: bob, CreateForced: true}, want: RecoveryQueue},
		{name: "4.5: with access it goes where it belongs", rules: []Rule{create(Provided, "")},
			s: Submission{Queue: "root.a", User: ann, CreateForced: true}, want: "root.a"},
		{name: "4.5: a rule that errs rejects it even so", rules: []Rule{create(Provided, "")},
			s: Submission{Queue: "root.a!", User: ann, CreateForced: true}, err: `placement rule provided: "a!" is not a legal queue name`},
	} {
		t.Run(tc.name, func(t *testing.T) {
			got, err := Place(tc.rules, tc.s, tree(tc.more))
			if tc.err != "" {
				assert.Error(t, err, tc.err)
				return
			}
			assert.NilError(t, err)
			assert.Equal(t, got, tc.want)
		})
	}
}
