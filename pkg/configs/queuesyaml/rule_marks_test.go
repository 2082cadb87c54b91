package queuesyaml

import (
	"fmt"
	"os"
	"regexp"
	"strings"
	"testing"
	"unicode/utf8"

	"gotest.tools/v3/assert"

	"github.com/canopy-scheduler/canopy/pkg/configs"
	"github.com/canopy-scheduler/canopy/pkg/configs/validation"
)

// Test documents have marks for their problems: «V6» is right before the position where
// rule V6 must be reported.
var ruleMark = regexp.MustCompile(`«([^»]*)»`)

// parseMarks returns a document without its marks, and the marks as "line:col rule".
func parseMarks(text string) (document string, want []string) {
	for {
		m := ruleMark.FindStringSubmatchIndex(text)
		if m == nil {
			return text, want
		}
		before := text[:m[0]]
		line := 1 + strings.Count(before, "\n")
		col := 1 + utf8.RuneCountInString(before[strings.LastIndexByte(before, '\n')+1:])
		want = append(want, fmt.Sprintf("%d:%d %s", line, col, text[m[2]:m[3]]))
		text = before + text[m[1]:]
	}
}

func positions(problems validation.Problems) []string {
	var got []string
	for _, p := range problems {
		got = append(got, fmt.Sprintf("%d:%d %s", p.Line, p.Col, p.RuleID))
	}
	return got
}

// mustLoad loads a document that has neither errors nor warnings.
func mustLoad(t *testing.T, text string) *configs.Config {
	t.Helper()
	c, problems := Load([]byte(text))
	assert.Equal(t, problems.Error(), "")
	assert.Assert(t, c != nil)
	return c
}

// mustFind returns the queue of a path in the first partition.
func mustFind(t *testing.T, c *configs.Config, path string) *configs.Queue {
	t.Helper()
	q := &c.Partitions[0].Root
	levels := strings.Split(path, ".")
	assert.Equal(t, q.Name, levels[0])
next:
	for _, name := range levels[1:] {
		for i := range q.Children {
			if q.Children[i].Name == name {
				q = &q.Children[i]
				continue next
			}
		}
		t.Fatalf("there is no queue %s", path)
	}
	return q
}

// rootHead begins a document up to the keys of the queue root, which may be continued.
const rootHead = `
partitions:
- queues:
  - name: root
    submitacl: '*'
`

// onePartition ends a document for tests of other keys than partitions.
const onePartition = "\npartitions: [{queues: [{name: root, submitacl: '*'}]}]\n"

func readTestFile(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(name)
	assert.NilError(t, err)
	return string(text)
}
