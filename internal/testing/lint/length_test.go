package lint

import (
	"go/ast"
	"strings"
	"testing"
)

// maxFunctionLines is the greatest length of a function outside of tests. Files have no bound: one is as long as its
// subject needs.
const maxFunctionLines = 80

// functionsAreShort refuses long functions.
func functionsAreShort(s source) []string {
	if s.isTest() || s.generated() {
		return nil
	}
	var problems []string
	for _, decl := range s.file.Decls {
		f, ok := decl.(*ast.FuncDecl)
		if !ok {
			continue
		}
		if n := s.line(f.End()) - s.line(f.Pos()) + 1; n > maxFunctionLines {
			problems = append(problems, s.problem(f, "%s has %d lines, at most %d: look for two subjects",
				f.Name.Name, n, maxFunctionLines))
		}
	}
	return problems
}

func TestFunctions_MaxLines(t *testing.T) {
	checkModule(t, functionsAreShort)
	function := func(lines int) string {
		return "package objects\n\n// f is long.\nfunc f() {" + strings.Repeat("\n", lines-1) + "}\n"
	}
	checkSnippets(t, functionsAreShort, []snippet{
		{name: "a function may have 80 lines, its comment apart", text: function(80)},
		{
			name: "but not 81", text: function(81),
			want: []string{"f has 81 lines, at most 80: look for two subjects"},
		},
		{name: "a test may tell a long story", path: "pkg/objects/a_test.go", text: function(200)},
	})
}
