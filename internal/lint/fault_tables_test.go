package lint

import (
	"fmt"
	"go/ast"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"gotest.tools/v3/assert"
)

// faultLocation is the cell of a row that says where a fault was planted: a file, below pkg or
// internal, and a function in it, which may be named with its type.
var faultLocation = regexp.MustCompile("^`([\\w/]+\\.go)` `(?:(\\w+)\\.)?(\\w+)`$")

// functionsOf are the functions that a file declares, methods also with their type before them.
func functionsOf(s source) map[string]bool {
	names := map[string]bool{}
	for _, decl := range s.file.Decls {
		f, ok := decl.(*ast.FuncDecl)
		if !ok {
			continue
		}
		names[f.Name.Name] = true
		if f.Recv == nil {
			continue
		}
		typ := f.Recv.List[0].Type
		if p, ok := typ.(*ast.StarExpr); ok {
			typ = p.X
		}
		if x, ok := typ.(*ast.IndexExpr); ok { // it has type parameters
			typ = x.X
		}
		if id, ok := typ.(*ast.Ident); ok {
			names[id.Name+"."+f.Name.Name] = true
		}
	}
	return names
}

// checkFaultTables says which rows of the tables of planted faults name a file or a function that is
// not there, and how many rows there are. Such a table has "Where" as its second heading.
func checkFaultTables(text string, files []source) (rows int, problems []string) {
	inTable := false
	for i, line := range strings.Split(text, "\n") {
		cells := strings.Split(line, "|")
		if len(cells) < 4 || strings.HasPrefix(line, "|---") {
			inTable = inTable && strings.HasPrefix(line, "|---")
			continue
		}
		where := strings.TrimSpace(cells[2])
		if !inTable {
			inTable = where == "Where" && strings.Contains(strings.ToLower(cells[1]), "fault")
			continue
		}
		rows++
		m := faultLocation.FindStringSubmatch(where)
		if m == nil {
			problems = append(problems, fmt.Sprintf("line %d: %q is no file and function", i+1, where))
			continue
		}
		name := m[3]
		if m[2] != "" {
			name = m[2] + "." + name
		}
		var found, declared bool
		for _, s := range files {
			if s.path == "pkg/"+m[1] || s.path == "internal/"+m[1] {
				found, declared = true, declared || functionsOf(s)[name]
			}
		}
		switch {
		case !found:
			problems = append(problems, fmt.Sprintf("line %d: there is no file %s", i+1, m[1]))
		case !declared:
			problems = append(problems, fmt.Sprintf("line %d: %s has no function %s", i+1, m[1], name))
		}
	}
	return rows, problems
}

// Whoever plants a fault again has to find the place.
func TestFaultTables_NameExistingFunctions(t *testing.T) {
	text, err := os.ReadFile(filepath.Join(root, "docs", "TESTING.md"))
	assert.NilError(t, err)
	rows, problems := checkFaultTables(string(text), moduleSources(t))
	for _, p := range problems {
		t.Errorf("docs/TESTING.md: %s", p)
	}
	assert.Assert(t, rows > 100, "only %d rows: were the tables really read?", rows)
}

func TestFaultTables_FindMissingFunctions(t *testing.T) {
	file, err := parse("pkg/objects/a.go", "package objects\nfunc free() {}\nfunc (b *Bound) Allows() {}\nfunc (o order[T]) add() {}\n")
	assert.NilError(t, err)
	const head = "| Fault | Where | Random runs |\n|---|---|---|\n"
	for _, c := range []struct {
		name, text string
		rows       int
		want       []string
	}{
		{name: "functions and methods, with their type or without", rows: 4,
			text: head + "| a | `objects/a.go` `free` | x |\n| b | `objects/a.go` `Allows` | x |\n" +
				"| c | `objects/a.go` `Bound.Allows` | x |\n| d | `objects/a.go` `order.add` | x |"},
		{name: "a file that is gone", text: head + "| a | `objects/b.go` `free` | x |", rows: 1,
			want: []string{"line 3: there is no file objects/b.go"}},
		{name: "a function that is elsewhere", text: head + "| a | `objects/a.go` `choose` | x |", rows: 1,
			want: []string{"line 3: objects/a.go has no function choose"}},
		{name: "a method of another type", text: head + "| a | `objects/a.go` `Vector.Allows` | x |", rows: 1,
			want: []string{"line 3: objects/a.go has no function Vector.Allows"}},
		{name: "no function at all", text: head + "| a | `objects/a.go` | x |", rows: 1,
			want: []string{"line 3: \"`objects/a.go`\" is no file and function"}},
		{name: "other tables are about other things", text: "| Kind | Where | Shows |\n|---|---|---|\n| a | `b` | c |"},
		{name: "a table ends", text: head + "| a | `objects/a.go` `free` | x |\n\n| a | `b` | c |", rows: 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			rows, problems := checkFaultTables(c.text, []source{file})
			assert.Equal(t, rows, c.rows)
			assert.DeepEqual(t, problems, c.want)
		})
	}
}
