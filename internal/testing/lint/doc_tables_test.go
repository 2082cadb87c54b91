package lint

import (
	"go/ast"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"gotest.tools/v3/assert"
)

var testNamePattern = regexp.MustCompile("`(Test\\w+)`")

// The tables of docs name tests that exist.
func TestTables_NameExistingTests(t *testing.T) {
	all, err := allSources()
	assert.NilError(t, err)
	defined := map[string]bool{}
	for _, s := range all {
		for _, decl := range s.file.Decls {
			if f, ok := decl.(*ast.FuncDecl); ok && s.isTest() {
				defined[f.Name.Name] = true
			}
		}
	}
	found := 0
	for _, doc := range []string{requirementsFile, "docs/TESTING.md", "docs/SECURITY.md"} {
		text, err := os.ReadFile(filepath.Join(root, doc))
		assert.NilError(t, err)
		for _, m := range testNamePattern.FindAllSubmatch(text, -1) {
			found++
			if name := string(m[1]); !defined[name] {
				t.Errorf("%s names %s, which is no test", doc, name)
			}
		}
	}
	assert.Assert(t, found > 30, "only %d tests are named: were the tables really read?", found)
}

// Each threat of docs/SECURITY.md has a mitigation, and a test that shows it.
func TestTables_EveryThreatHasATest(t *testing.T) {
	text, err := os.ReadFile(filepath.Join(root, "docs", "SECURITY.md"))
	assert.NilError(t, err)
	_, rest, found := strings.Cut(string(text), "\n## Threats\n")
	assert.Assert(t, found)
	threats, _, _ := strings.Cut(rest, "\n## ")
	n := 0
	for _, row := range regexp.MustCompile(`(?m)^\| (.*) \|$`).FindAllStringSubmatch(threats, -1)[1:] {
		cells := strings.Split(row[1], " | ")
		assert.Check(t, len(cells) == 3 && cells[1] != "" && testNamePattern.MatchString(cells[2]), "%s", row[1])
		n++
	}
	assert.Assert(t, n > 15, "only %d threats", n)
}

// Each alert of the rules has a row in docs/OPERATIONS.md, and each row has its alert.
func TestTables_EveryAlertIsInOperations(t *testing.T) {
	rules, err := os.ReadFile(filepath.Join(root, "deploy", "prometheus", "canopy-rules.yml"))
	assert.NilError(t, err)
	text, err := os.ReadFile(filepath.Join(root, "docs", "OPERATIONS.md"))
	assert.NilError(t, err)
	var alerts, rows []string
	for _, m := range regexp.MustCompile(`(?m)^ +- alert: (\w+)$`).FindAllStringSubmatch(string(rules), -1) {
		alerts = append(alerts, m[1])
	}
	for _, m := range regexp.MustCompile("(?m)^\\| `(Canopy\\w+)` \\|").FindAllStringSubmatch(string(text), -1) {
		rows = append(rows, m[1])
	}
	assert.Assert(t, len(alerts) > 10)
	assert.DeepEqual(t, rows, alerts)
}

var (
	verdictPattern     = regexp.MustCompile("verdict(?: is)?\\s+`([a-z][A-Za-z]*)`")
	verdictCodePattern = regexp.MustCompile("`([a-z][A-Za-z]*)`")
)

// A rule that names a verdict uses a code that docs/EXPLAIN.md lists.
func TestRules_NameVerdictsThatExist(t *testing.T) {
	text, err := os.ReadFile(filepath.Join(root, "docs", "EXPLAIN.md"))
	assert.NilError(t, err)
	codes := map[string]bool{}
	for _, row := range regexp.MustCompile("(?m)^\\| (`[^|]*) \\|").FindAllSubmatch(text, -1) {
		for _, m := range verdictCodePattern.FindAllSubmatch(row[1], -1) {
			codes[string(m[1])] = true
		}
	}
	files, err := filepath.Glob(filepath.Join(root, "docs", "behaviour", "*.md"))
	assert.NilError(t, err)
	found := 0
	for _, file := range files {
		text, err := os.ReadFile(file)
		assert.NilError(t, err)
		for _, m := range verdictPattern.FindAllSubmatch(text, -1) {
			found++
			if !codes[string(m[1])] {
				t.Errorf("%s: verdict %s is not in docs/EXPLAIN.md", filepath.Base(file), m[1])
			}
		}
	}
	assert.Assert(t, found >= 6, "only %d verdicts are named: were the rules really read?", found)
}
