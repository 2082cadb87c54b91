package placement

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"gotest.tools/v3/assert"

	"github.com/canopy-scheduler/canopy/pkg/security"
)

// aclTree is a Tree in which a queue allows some users to submit to it and below it.
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
	return fmt.Sprintf("%s denies %s", path, u.Name)
}

func TestPlace_ChecksSubmitAccess(t *testing.T) {
	ann, bob := security.User{Name: "ann"}, security.User{Name: "bob"}
	create := func(k Kind, value string) Rule { return Rule{Kind: k, Value: value, Create: true} }
	tree := func(extra fakeTree) aclTree {
		g := aclTree{fakeTree{"root": {}, "root.a": {Leaf: true}, "root.b": {Leaf: true}, "root.p": {}},
			map[string][]string{"root.a": {"ann"}, "root.b": {"bob"}, "root.p": {"ann"}, "root.default": {"bob"},
				RecoveryQueue: {"ann"}}}
		for path, queue := range extra {
			g.fakeTree[path] = queue
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
		{name: "PLC-5: an existing leaf with submit access", s: Submission{Queue: "root.a", User: ann}, want: "root.a"},
		{name: "PLC-5: without submit access the next rule is tried", rules: []Rule{create(Provided, ""), create(Fixed, "b")},
			s: Submission{Queue: "root.a", User: bob}, want: "root.b"},
		{name: "PLC-7: a rejection names every rule with its reason", rules: []Rule{create(Provided, ""), create(Fixed, "b")},
			s:   Submission{Queue: "root.p.x", User: security.User{Name: "eve"}},
			err: "no placement rule matched: rule provided: root.p.x denies eve; rule fixed b: root.b denies eve"},
		{name: "PLC-5: submit access for a path that does not exist", rules: []Rule{create(Provided, "")},
			s: Submission{Queue: "root.p.x.y", User: ann}, want: "root.p.x.y"},
		{name: "PLC-5: no submit access for a path that does not exist", rules: []Rule{create(Provided, "")},
			s:   Submission{Queue: "root.p.x.y", User: bob},
			err: "no placement rule matched: rule provided: root.p.x.y denies bob"},
		{name: "PLC-6: root.default with submit access", rules: []Rule{create(Provided, "")},
			s:    Submission{Queue: "root.a", User: bob},
			more: fakeTree{"root.default": {Leaf: true}}, want: "root.default"},
		{name: "PLC-6: root.default without submit access", rules: []Rule{create(Provided, "")},
			s:    Submission{Queue: "root.b", User: ann},
			more: fakeTree{"root.default": {Leaf: true}},
			err:  "no placement rule matched: rule provided: root.b denies ann; default queue: root.default denies ann"},
		{name: "PLC-30: no access list opens the recovery queue", rules: []Rule{create(Provided, "")},
			s:   Submission{Queue: RecoveryQueue, User: ann},
			err: "no placement rule matched: rule provided: queue root.@recovery@ is only for applications that are recovered"},
		{name: "PLC-30: no access list opens a queue below it", rules: []Rule{create(Provided, "")},
			s: Submission{Queue: RecoveryQueue + ".x", User: ann},
			err: "no placement rule matched: rule provided: " +
				"queue root.@recovery@.x is only for applications that are recovered"},
		{name: "PLC-30: a name that only begins like it is another queue", rules: []Rule{create(Fixed, "p.@recovery@x")},
			s: Submission{User: ann}, want: "root.p.@recovery@x"},
		{name: "PLC-28: a forced application without access goes to the recovery queue", rules: []Rule{create(Provided, "")},
			s: Submission{Queue: "root.a", User: bob, CreateForced: true}, want: RecoveryQueue},
		{name: "PLC-27: a forced application with access goes to its queue", rules: []Rule{create(Provided, "")},
			s: Submission{Queue: "root.a", User: ann, CreateForced: true}, want: "root.a"},
		{name: "PLC-28: a forced application for which a rule fails goes to the recovery queue",
			rules: []Rule{create(Provided, ""), create(Fixed, "root.a")},
			s:     Submission{Queue: "root.a!", User: ann, CreateForced: true}, want: RecoveryQueue},
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
