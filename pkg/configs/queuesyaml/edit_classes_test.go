package queuesyaml

import (
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"gotest.tools/v3/assert"

	"github.com/canopy-scheduler/canopy/pkg/configs/diff"
	"github.com/canopy-scheduler/canopy/pkg/priorities"
	"github.com/canopy-scheduler/canopy/pkg/security"
)

func classRegistry(t testing.TB, classes ...priorities.Class) priorities.Registry {
	t.Helper()
	r, err := priorities.New(classes...)
	assert.NilError(t, err)
	return r
}

func TestEditClasses_ChangesNothingElse(t *testing.T) {
	dev := security.AllowList([]string{"ann"}, []string{"dev"})
	a := priorities.Class{Name: "a", Value: 1}
	b := priorities.Class{Name: "b", Value: -2, Policy: priorities.Never, GlobalDefault: true,
		Description: "no: \"quotes\"\n# are lost", SubmitACL: &dev}
	const tree = "partitions: # pools\n  - queues: [{name: root,   submitacl: '*'}]\n"
	for _, c := range []struct {
		name, text string
		classes    []priorities.Class
		want       string
	}{
		{"a class is added", "# mine\n" + tree, []priorities.Class{a},
			"# mine\n" + tree + "priorityclasses:\n  - name: a\n    value: 1\n"},
		{"a class is added to a text without a final line break", strings.TrimSuffix(tree, "\n"), []priorities.Class{a},
			tree + "priorityclasses:\n  - name: a\n    value: 1\n"},
		{"a class with all fields is added", tree, []priorities.Class{b},
			tree + "priorityclasses:\n  - name: b\n    value: -2\n    globalDefault: true\n" +
				"    preemptionPolicy: Never\n    description: |-\n      no: \"quotes\"\n      # are lost\n" +
				"    submitacl: ann dev\n"},
		{"the last class is removed", "priorityclasses:\n- {name: a, value: 1}\n\n# the tree\n" + tree, nil,
			"\n# the tree\n" + tree},
		{"one of several classes is removed, comments stay",
			"priorityclasses:\n# first\n- {name: a, value: 1} # one\n- name: b # two\n  value: 5\n- {name: c, value: 6}\n# " +
				"the tree\n" + tree,
			[]priorities.Class{a, {Name: "b", Value: 5}},
			"priorityclasses:\n  # first\n  - {name: a, value: 1} # one\n  - name: b # two\n    value: 5\n# the tree\n" + tree},
		{"comments below the list stay below it", "priorityclasses:\n- name: a\n  value: 1\n  # foot\n\n# head\n" + tree,
			[]priorities.Class{a, {Name: "c", Value: 5}},
			"priorityclasses:\n  - name: a\n    value: 1\n  - name: c\n    value: 5\n  # foot\n\n# head\n" + tree},
		{"a PriorityClass keeps its form",
			tree + "priorityclasses:\n- kind: PriorityClass\n  metadata: {name: a, uid: 7}\n  value: 1\n",
			[]priorities.Class{{Name: "a", Value: 1, Description: "new"}}, tree +
				"priorityclasses:\n  - kind: PriorityClass\n    metadata: {name: a, uid: 7}\n    value: 1\n    description: new\n"},
		{"before a second document", tree + "---\npartitions: []\n", []priorities.Class{a},
			tree + "priorityclasses:\n  - name: a\n    value: 1\n---\npartitions: []\n"},
		{"in an indented text", "  partitions:\n  - queues: []\n", []priorities.Class{a},
			"  partitions:\n  - queues: []\n  priorityclasses:\n    - name: a\n      value: 1\n"},
		{"in flow style", "{partitions: [{queues: []}]}", []priorities.Class{a},
			"partitions: [{queues: []}]\npriorityclasses:\n  - name: a\n    value: 1\n"},
		{"a list that is null", "priorityclasses:\n" + tree, []priorities.Class{a},
			"priorityclasses:\n  - name: a\n    value: 1\n" + tree},
		{"an access list for a system class", tree,
			[]priorities.Class{{Name: "system-node-critical", Value: priorities.NodeCritical, SubmitACL: &dev}},
			tree + "priorityclasses:\n  - name: system-node-critical\n    value: 2000001000\n    submitacl: ann dev\n"},
		{"an empty access list replaces another one", tree + "priorityclasses: [{name: a, value: 1, submitacl: '*'}]\n",
			[]priorities.Class{{Name: "a", Value: 1, SubmitACL: &security.ACL{}}},
			tree + "priorityclasses:\n  - {name: a, value: 1, submitacl: \"\"}\n"},
		{"an access list is removed", tree + "priorityclasses: [{name: a, submitacl: '', value: 1}]\n", []priorities.Class{a},
			tree + "priorityclasses:\n  - {name: a, value: 1}\n"},
		{"a class named like its key",
			tree + "priorityclasses: [{name: submitacl, description: submitacl, value: 1, submitacl: ann}]\n",
			[]priorities.Class{{Name: "submitacl", Value: 1, Description: "submitacl"}},
			tree + "priorityclasses:\n  - {name: submitacl, description: submitacl, value: 1}\n"},
		{"no change", tree + "priorityclasses:   [ {name: a, value: 1} ]\n", []priorities.Class{a},
			tree + "priorityclasses:   [ {name: a, value: 1} ]\n"},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, err := PriorityClasses.Edit([]byte(c.text), classRegistry(t, c.classes...), Options{})
			assert.NilError(t, err)
			assert.Equal(t, string(got), c.want)
		})
	}
}

func TestEditClasses_RefusesTooLongText(t *testing.T) {
	text := "partitions: [{queues: []}]\n"
	_, err := PriorityClasses.Edit([]byte(text), classRegistry(t, priorities.Class{Name: "a"}),
		Options{MaxBytes: len(text) + 10})
	assert.ErrorContains(t, err, "max-config-bytes")
}

// FuzzEditClasses edits every valid text, and checks that the result has the new classes and no
// other change (CFG-97).
func FuzzEditClasses(f *testing.F) {
	for _, c := range allBadDocuments() {
		text, _ := parseMarks(c.text)
		f.Add([]byte(text), "a", int32(5), "about")
	}
	f.Add([]byte("priorityclasses: [{name: a, value: 1, description: x}]\npartitions: []"), "b", int32(-1), "")
	f.Add([]byte("priorityclasses:\n- name: a\n  value: 1 # one\n  # foot\n\n# head\npartitions: []"), "a", int32(1),
		"new\n# no comment")
	f.Add([]byte(" "), "0", int32(-24), "\n")
	f.Fuzz(func(t *testing.T, text []byte, name string, value int32, about string) {
		old, _ := Load(text)
		if old == nil || !utf8.ValidString(about) {
			return
		}
		next, err := old.Classes.With(priorities.Class{Name: name, Value: value, Description: about})
		if err != nil {
			if next, err = old.Classes.Without((&priorities.Class{Name: name}).Key()); err != nil {
				return
			}
		}
		out, err := PriorityClasses.Edit(text, next, Options{})
		assert.NilError(t, err)
		conf, problems := Load(out)
		assert.Assert(t, conf != nil, "%v", problems)
		assert.Assert(t, conf.Classes.Equal(next))
		assert.Equal(t, len(diff.Compare(old, conf).Partitions), 0)
		back, err := PriorityClasses.Edit(out, old.Classes, Options{})
		assert.NilError(t, err)
		again, _ := Load(back)
		assert.Assert(t, diff.Compare(old, again).IsEmpty())
	})
}

func BenchmarkEditClasses(b *testing.B) {
	for _, queues := range []int{100, 10_000} {
		b.Run(fmt.Sprintf("queues=%d", queues), func(b *testing.B) {
			text := manyQueues(queues, 1)
			r := classRegistry(b, priorities.Class{Name: "a", Value: 1})
			for b.Loop() {
				_, err := PriorityClasses.Edit(text, r, Options{})
				assert.NilError(b, err)
			}
		})
	}
}
