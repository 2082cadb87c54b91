package placement

import (
	"strings"
	"testing"

	"gotest.tools/v3/assert"

	"github.com/canopy-scheduler/canopy/pkg/security"
)

func TestExplain_StepOfEachRule(t *testing.T) {
	ann := security.User{Name: "ann"}
	team := &Rule{Kind: Fixed, Value: "p", Filter: Filter{Users: []string{"ann"}}}
	for _, tc := range []struct {
		name  string
		rules []Rule
		s     Submission
		tree  fakeTree
		want  string
	}{
		{name: "PLC-1: the rules before the one that decides",
			s: Submission{User: ann, Tags: map[string]string{"queue": "old"}},
			rules: []Rule{{Kind: Provided}, {Kind: Tag, Value: "queue"}, {Kind: Fixed, Value: "a"},
				{Kind: UserName, Create: true}},
			want: "provided: passed over: the application names no queue | " +
				"tag queue (root.old): passed over: queue root.old is being removed | fixed a (root.a): named"},
		{name: "PLC-3: an error is the last step", s: Submission{User: ann, Queue: "a b"},
			rules: []Rule{{Kind: Provided, Create: true}, {Kind: Fixed, Value: "a"}},
			want:  `provided: rejected: "a b" is not a legal queue name`},
		{name: "PLC-6: root.default is tried last", s: Submission{User: ann},
			tree: fakeTree{"root": {}, "root.default": {Leaf: true}},
			want: "provided: passed over: the application names no queue | root.default (root.default): named"},
		{name: "PLC-14: a parent rule that derives a queue", s: Submission{User: ann},
			rules: []Rule{{Kind: UserName, Create: true, Parent: team}},
			want:  "user (root.p.ann) [fixed p (root.p): named]: named"},
		{name: "PLC-14: a parent rule that is passed over", s: Submission{User: security.User{Name: "bob"}},
			rules: []Rule{{Kind: UserName, Create: true, Parent: team}},
			want:  "user [fixed p: passed over: its filter is not for user bob]: passed over: its filter is not for user bob"},
		{name: "PLC-14: a parent rule that derives a leaf", s: Submission{User: ann},
			rules: []Rule{{Kind: UserName, Create: true, Parent: &Rule{Kind: Fixed, Value: "a"}}},
			want:  "user [fixed a (root.a): named]: rejected: parent rule fixed a names root.a, which is a leaf"},
		{name: "PLC-13: a qualified name needs no parent rule", s: Submission{User: ann, Queue: "root.p.x"},
			rules: []Rule{{Kind: Provided, Parent: team}},
			want:  "provided (root.p.x): named"},
		{name: "PLC-28: recovery comes last", s: Submission{User: ann, CreateForced: true},
			want: "provided: passed over: the application names no queue | recovery (root.@recovery@): named"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if tc.tree == nil {
				tc.tree = testTree
			}
			e := Explain(tc.rules, tc.s, tc.tree)
			var steps []string
			for _, s := range e.Steps {
				steps = append(steps, stepText(s))
			}
			assert.Equal(t, strings.Join(steps, " | "), tc.want)

			path, err := Place(tc.rules, tc.s, tc.tree)
			assert.Equal(t, path, e.Path)
			assert.Equal(t, (err == nil), e.Path != "")
			last := e.Steps[len(e.Steps)-1]
			assert.Equal(t, last.Outcome == Named, e.Path != "", "the outcome of the last step contradicts the result")
		})
	}
}

func stepText(s Step) string {
	out := s.Rule
	if s.Path != "" {
		out += " (" + s.Path + ")"
	}
	if s.Parent != nil {
		out += " [" + stepText(*s.Parent) + "]"
	}
	out += ": " + s.Outcome.String()
	if s.Reason != "" {
		out += ": " + s.Reason
	}
	return out
}

func TestIsCreateForced_ReadsTag(t *testing.T) {
	for value, want := range map[string]bool{"true": true, "1": true, "false": false, "perhaps": false, "": false} {
		assert.Equal(t, IsCreateForced(map[string]string{"Application.Create.FORCE": value}), want, value)
	}
	assert.Assert(t, !IsCreateForced(nil))
}
