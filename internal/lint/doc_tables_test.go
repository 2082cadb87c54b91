package lint

import (
	"go/ast"
	"os"
	"path/filepath"
	"regexp"
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
	for _, doc := range []string{"PRIORITY.md", "TESTING.md"} {
		text, err := os.ReadFile(filepath.Join(root, "docs", doc))
		assert.NilError(t, err)
		for _, m := range testNamePattern.FindAllSubmatch(text, -1) {
			found++
			if name := string(m[1]); !defined[name] {
				t.Errorf("docs/%s names %s, which is no test", doc, name)
			}
		}
	}
	assert.Assert(t, found > 30, "only %d tests are named: were the tables really read?", found)
}
