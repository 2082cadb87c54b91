package placement

import (
	"regexp"
	"testing"

	"gotest.tools/v3/assert"

	"github.com/canopy-scheduler/canopy/pkg/security"
)

// fakeTree is a Tree of a few queues.
type fakeTree map[string]QueueInfo

func (f fakeTree) Lookup(path string) (QueueInfo, bool) { s, ok := f[path]; return s, ok }

// SubmitDenyReason implements Tree: everybody may submit everywhere.
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
		{name: "7.1: without rules the named queue is taken", s: Submission{Queue: "root.a"}, want: "root.a"},
		{name: "7.3: a name without root is below root", s: Submission{Queue: "a"}, want: "root.a"},
		{name: "7.3: case does not matter", s: Submission{Queue: "ROOT.P.X"}, want: "root.p.x"},
		{name: "7.2: dots of an unqualified name are part of it", s: Submission{Queue: "dev.team"}, want: "root.dev_dot_team"},
		{name: "7.2: a missing queue is not created without being told to", s: Submission{Queue: "root.b"},
			err: "no placement rule matched: rule provided: queue root.b does not exist, and the rule does not create it"},
		{name: "7.3: no queue named", err: "no placement rule matched: rule provided: the application names no queue"},
		{name: "7.1: a parent takes no application", s: Submission{Queue: "root.p"},
			err: "no placement rule matched: rule provided: queue root.p is not a leaf"},
		{name: "7.1: a draining leaf is passed over", s: Submission{Queue: "root.old"}, err: "no placement rule matched: rule provided: queue root.old is being removed"},
		{name: "7.3: plain root is a name like any other", rules: []Rule{create(Provided, "")}, s: Submission{Queue: "root"}, want: "root.root"},
		{name: "7.2: a rule may create", rules: []Rule{create(Provided, "")}, s: Submission{Queue: "root.new.one"}, want: "root.new.one"},
		{name: "7.1: an illegal name is an error, and no later rule is asked", rules: []Rule{create(Provided, ""), create(Fixed, "root.a")},
			s: Submission{Queue: "root.b!"}, err: `placement rule provided: "b!" is not a legal queue name`},
		{name: "7.2: an empty level is an error", rules: []Rule{create(Provided, "")}, s: Submission{Queue: "root..x"},
			err: `placement rule provided: "" is not a legal queue name`},
		{name: "7.3: the user rule uses the name with its dots", rules: []Rule{create(UserName, "")}, s: Submission{User: ann}, want: "root.ann_dot_b"},
		{name: "7.3: a tag names the queue whatever the case of its name", rules: []Rule{create(Tag, "namespace")},
			s: Submission{Tags: map[string]string{"NameSpace": "web"}}, want: "root.web"},
		{name: "7.3: a tag may be a whole path", rules: []Rule{create(Tag, "queue")}, s: Submission{Tags: map[string]string{"queue": "root.p.y"}}, want: "root.p.y"},
		{name: "7.3: without the tag the next rule is asked", rules: []Rule{create(Tag, "namespace"), {Kind: Fixed, Value: "a"}}, want: "root.a"},
		{name: "7.3: a fixed value keeps its levels", rules: []Rule{create(Fixed, "p.z")}, want: "root.p.z"},
		{name: "7.3: a fixed value that only begins like root is not a path", rules: []Rule{create(Fixed, "rootfoo")}, want: "root.rootfoo"},
		{name: "7.2: a parent rule names the queue above", rules: []Rule{{Kind: UserName, Create: true, Parent: &Rule{Kind: Fixed, Value: "p"}}},
			s: Submission{User: ann}, want: "root.p.ann_dot_b"},
		{name: "7.2: a parent rule that may not create passes the rule over", rules: []Rule{{Kind: UserName, Create: true, Parent: &Rule{Kind: Fixed, Value: "q"}}},
			s: Submission{User: ann}, err: "no placement rule matched: rule user: queue root.q does not exist, and the rule does not create it"},
		{name: "7.2: a parent rule that names a leaf is an error", rules: []Rule{{Kind: UserName, Create: true, Parent: &Rule{Kind: Fixed, Value: "a"}}},
			s: Submission{User: ann}, err: "placement rule user: parent rule fixed a names root.a, which is a leaf"},
		{name: "7.4: a filter lets named groups pass", rules: []Rule{{Kind: Fixed, Value: "a", Filter: Filter{Groups: []string{"ops"}}}},
			s: Submission{User: ann}, want: "root.a"},
		{name: "7.4: a filter keeps the others out", rules: []Rule{{Kind: Fixed, Value: "a", Filter: Filter{Users: []string{"bob"}}}},
			s: Submission{User: ann}, err: "no placement rule matched: rule fixed a: its filter is not for user ann.b"},
		{name: "7.4: a deny filter keeps the named out", rules: []Rule{{Kind: Fixed, Value: "a", Filter: Filter{Deny: true, UserPattern: regexp.MustCompile("^a")}}},
			s: Submission{User: ann}, err: "no placement rule matched: rule fixed a: its filter is not for user ann.b"},
		{name: "7.4: a deny filter lets the others pass", rules: []Rule{{Kind: Fixed, Value: "a", Filter: Filter{Deny: true, Groups: []string{"qa"}}}},
			s: Submission{User: ann}, want: "root.a"},
		{name: "7.4: an empty deny filter keeps everybody out", rules: []Rule{{Kind: Fixed, Value: "a", Filter: Filter{Deny: true}}},
			s: Submission{User: ann}, err: "no placement rule matched: rule fixed a: its filter is not for user ann.b"},
		{name: "7.1: root.default takes what no rule placed", s: Submission{Queue: "root.b"},
			tree: fakeTree{"root": {}, "root.default": {Leaf: true}}, want: "root.default"},
		{name: "7.6: a forced application is never homeless", s: Submission{Queue: "root.b", CreateForced: true}, want: "root.@recovery@"},
		{name: "7.6: nobody else gets into the recovery queue", rules: []Rule{create(Provided, "")}, s: Submission{Queue: "root.@recovery@"},
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
