package placement

import (
	"regexp"
	"strings"
	"testing"

	"gotest.tools/v3/assert"

	"github.com/canopy-scheduler/canopy/pkg/security"
)

// fakeTree is a Tree with these queues.
type fakeTree map[string]QueueInfo

func (f fakeTree) Lookup(path string) (QueueInfo, bool) { s, ok := f[path]; return s, ok }

// SubmitDenyReason implements Tree: every user may submit to every queue.
func (fakeTree) SubmitDenyReason(string, security.User) string { return "" }

var testTree = fakeTree{
	"root": {}, "root.a": {Leaf: true}, "root.p": {}, "root.p.x": {Leaf: true}, "root.old": {Leaf: true, Draining: true},
	"root.dev_dot_team": {Leaf: true},
}

func TestPlace_Rules(t *testing.T) {
	ann := security.User{Name: "ann.b", Groups: []string{"dev", "ops"}}
	create := func(k Kind, value string) Rule { return Rule{Kind: k, Value: value, Create: true} }
	for _, tc := range []struct {
		name  string
		rules []Rule
		s     Submission
		tree  fakeTree
		want  string
		err   string
	}{
		{name: "PLC-2: without rules the named queue is used", s: Submission{Queue: "root.a"}, want: "root.a"},
		{name: "PLC-13: a name without root is below root", s: Submission{Queue: "a"}, want: "root.a"},
		{name: "PLC-11: names are lower-cased", s: Submission{Queue: "ROOT.P.X"}, want: "root.p.x"},
		{name: "PLC-12: dots of an unqualified name are part of it", s: Submission{Queue: "dev.team"},
			want: "root.dev_dot_team"},
		{name: "PLC-15: a missing queue is not created without create", s: Submission{Queue: "root.b"},
			err: "no placement rule matched: rule provided: queue root.b does not exist, and the rule does not create it"},
		{name: "PLC-16: no queue named", err: "no placement rule matched: rule provided: the application names no queue"},
		{name: "PLC-4: a parent queue is passed over", s: Submission{Queue: "root.p"},
			err: "no placement rule matched: rule provided: queue root.p is not a leaf"},
		{name: "PLC-4: a draining leaf is passed over", s: Submission{Queue: "root.old"},
			err: "no placement rule matched: rule provided: queue root.old is being removed"},
		{name: "PLC-13: plain root is a name like any other", rules: []Rule{create(Provided, "")},
			s: Submission{Queue: "root"}, want: "root.root"},
		{name: "PLC-15: a rule may create", rules: []Rule{create(Provided, "")}, s: Submission{Queue: "root.new.one"},
			want: "root.new.one"},
		{name: "PLC-3: an illegal name is an error, and no later rule is tried",
			rules: []Rule{create(Provided, ""), create(Fixed, "root.a")},
			s:     Submission{Queue: "root.b!"}, err: `placement rule provided: "b!" is not a legal queue name`},
		{name: "PLC-11: an empty level is an error", rules: []Rule{create(Provided, "")}, s: Submission{Queue: "root..x"},
			err: `placement rule provided: "" is not a legal queue name`},
		{name: "a name that is too long",
			s: Submission{Queue: "root." + strings.Repeat("a", 65)},
			err: `placement rule provided: "` + strings.Repeat("a",
				64) + `"... is not a legal queue name: it has 65 bytes, and may have 64`},
		{name: "a name as long as it may be", rules: []Rule{create(Provided, "")},
			s: Submission{Queue: "root." + strings.Repeat("a", 64)}, want: "root." + strings.Repeat("a", 64)},
		{name: "an illegal name that is not too long", s: Submission{Queue: "root." + strings.Repeat("!", 64)},
			err: `placement rule provided: "` + strings.Repeat("!", 64) + `" is not a legal queue name`},
		{name: "PLC-17: the user rule uses the name with its dots", rules: []Rule{create(UserName, "")},
			s: Submission{User: ann}, want: "root.ann_dot_b"},
		{name: "PLC-19: the name of a tag matches in any case", rules: []Rule{create(Tag, "namespace")},
			s: Submission{Tags: map[string]string{"NameSpace": "web"}}, want: "root.web"},
		{name: "PLC-19: a tag may be a whole path", rules: []Rule{create(Tag, "queue")},
			s: Submission{Tags: map[string]string{"queue": "root.p.y"}}, want: "root.p.y"},
		{name: "PLC-19: without the tag the next rule is tried",
			rules: []Rule{create(Tag, "namespace"), {Kind: Fixed, Value: "a"}}, want: "root.a"},
		{name: "PLC-18: a fixed value keeps its levels", rules: []Rule{create(Fixed, "p.z")}, want: "root.p.z"},
		{name: "PLC-18: a fixed value that only begins like root is not a path", rules: []Rule{create(Fixed, "rootfoo")},
			want: "root.rootfoo"},
		{name: "PLC-14: a parent rule derives the queue above",
			rules: []Rule{{Kind: UserName, Create: true, Parent: &Rule{Kind: Fixed, Value: "p"}}},
			s:     Submission{User: ann}, want: "root.p.ann_dot_b"},
		{name: "PLC-15: a parent rule that may not create passes the rule over",
			rules: []Rule{{Kind: UserName, Create: true, Parent: &Rule{Kind: Fixed, Value: "q"}}},
			s:     Submission{User: ann},
			err:   "no placement rule matched: rule user: queue root.q does not exist, and the rule does not create it"},
		{name: "PLC-14: a parent rule that derives a leaf is an error",
			rules: []Rule{{Kind: UserName, Create: true, Parent: &Rule{Kind: Fixed, Value: "a"}}},
			s:     Submission{User: ann}, err: "placement rule user: parent rule fixed a names root.a, which is a leaf"},
		{name: "PLC-22: a filter passes the named groups",
			rules: []Rule{{Kind: Fixed, Value: "a", Filter: Filter{Groups: []string{"ops"}}}},
			s:     Submission{User: ann}, want: "root.a"},
		{name: "PLC-22: a filter does not pass other users",
			rules: []Rule{{Kind: Fixed, Value: "a", Filter: Filter{Users: []string{"bob"}}}},
			s:     Submission{User: ann}, err: "no placement rule matched: rule fixed a: its filter is not for user ann.b"},
		{name: "PLC-22: a deny filter does not pass the matching users",
			rules: []Rule{{Kind: Fixed, Value: "a", Filter: Filter{Deny: true, UserPattern: regexp.MustCompile("^a")}}},
			s:     Submission{User: ann}, err: "no placement rule matched: rule fixed a: its filter is not for user ann.b"},
		{name: "PLC-22: a deny filter passes other users",
			rules: []Rule{{Kind: Fixed, Value: "a", Filter: Filter{Deny: true, Groups: []string{"qa"}}}},
			s:     Submission{User: ann}, want: "root.a"},
		{name: "PLC-23: an empty deny filter passes no user",
			rules: []Rule{{Kind: Fixed, Value: "a", Filter: Filter{Deny: true}}},
			s:     Submission{User: ann}, err: "no placement rule matched: rule fixed a: its filter is not for user ann.b"},
		{name: "PLC-6: root.default is used if no rule places the application", s: Submission{Queue: "root.b"},
			tree: fakeTree{"root": {}, "root.default": {Leaf: true}}, want: "root.default"},
		{name: "PLC-28: a forced application that no rule places", s: Submission{Queue: "root.b", CreateForced: true},
			want: "root.@recovery@"},
		{name: "PLC-30: an application that is not forced and names the recovery queue", rules: []Rule{create(Provided, "")},
			s:   Submission{Queue: "root.@recovery@"},
			err: "no placement rule matched: rule provided: queue root.@recovery@ is only for applications that are recovered"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if tc.tree == nil {
				tc.tree = testTree
			}
			got, err := Place(tc.rules, tc.s, tc.tree)
			if tc.err != "" {
				assert.Error(t, err, tc.err)
				return
			}
			assert.NilError(t, err)
			assert.Equal(t, got, tc.want)
		})
	}
}
