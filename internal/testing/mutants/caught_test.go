package mutants

import (
	"flag"
	"fmt"
	"go/parser"
	"go/token"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"gotest.tools/v3/assert"
)

// caughtFile has, for each fault, the package and the test that caught it last: it is run first, which saves most of
// the time.
const caughtFile = "caught.txt"

var rewrite = flag.Bool("rewrite", false, "write which tests catch the faults to "+caughtFile)

// readCaught returns the packages and tests of caughtFile, by the titles of faults.
func readCaught(t *testing.T) map[string]string {
	t.Helper()
	text, err := os.ReadFile(caughtFile)
	assert.NilError(t, err)
	caught := map[string]string{}
	for i, line := range strings.Split(strings.TrimSpace(string(text)), "\n") {
		title, by, ok := strings.Cut(line, "\t")
		assert.Assert(t, ok, "%s:%d: %q has no tab", caughtFile, i+1, line)
		caught[title] = by
	}
	return caught
}

// writeCaught writes caughtFile, if that is asked for. What caught a fault and is no test, such as a panic, is left
// out.
func writeCaught(t *testing.T, caught map[string]string) {
	t.Helper()
	if !*rewrite {
		return
	}
	var text strings.Builder
	for _, title := range slices.Sorted(maps.Keys(caught)) {
		if _, test, _ := strings.Cut(caught[title], " "); strings.HasPrefix(test, "Test") {
			fmt.Fprintf(&text, "%s\t%s\n", title, caught[title])
		}
	}
	assert.NilError(t, os.WriteFile(caughtFile, []byte(text.String()), 0o600))
}

// The list names faults and tests that exist. A line that does not is removed by hand, or written again by
// "make mutants" with -rewrite.
func TestCaught_NamesFaultsAndTests(t *testing.T) {
	caught := readCaught(t)
	assert.Assert(t, len(caught) > 100, "%d lines", len(caught))
	packagesOf := map[string][]string{}
	for _, f := range faults(t) {
		packagesOf[f.Title] = f.Packages
	}
	tests := map[string]map[string]bool{}
	for title, by := range caught {
		in, test, _ := strings.Cut(by, " ")
		assert.Check(t, slices.Contains(packagesOf[title], in), "%s: no fault with tests in %s has this title", title, in)
		if tests[in] == nil {
			tests[in] = testsOf(t, in)
		}
		assert.Check(t, tests[in][test], "%s: %s has no test %s", title, in, test)
	}
}

// testsOf returns the names of the functions in the test files of a package.
func testsOf(t *testing.T, in string) map[string]bool {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(root, in, "*_test.go"))
	assert.NilError(t, err)
	names := map[string]bool{}
	for _, name := range files {
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, 0)
		assert.NilError(t, err)
		for name := range file.Scope.Objects {
			names[name] = true
		}
	}
	return names
}
