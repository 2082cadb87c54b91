package lint

import (
	"errors"
	"fmt"
	"go/ast"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"gotest.tools/v3/assert"
)

// The greatest lengths of a line, in characters. A tab counts as one.
const (
	maxGoLine       = 120
	maxDocumentLine = 200
)

// linesAreShort refuses long lines of Go. Generated protobuf code is exempt.
func linesAreShort(s source) []string {
	if strings.HasSuffix(s.path, ".pb.go") {
		return nil
	}
	return longLines(s.path, s.text, maxGoLine, func(string) bool { return false })
}

// longLines reports the lines of a text that are longer than most characters and not exempt.
func longLines(name, text string, most int, exempt func(line string) bool) (problems []string) {
	for i, line := range strings.Split(text, "\n") {
		if n := utf8.RuneCountInString(line); n > most && !exempt(line) {
			problems = append(problems, fmt.Sprintf("%s:%d: the line has %d columns, at most %d", name, i+1, n, most))
		}
	}
	return problems
}

// documentLinesAreShort refuses long lines of a document. A row of a table cannot be wrapped.
func documentLinesAreShort(name, text string) []string {
	return longLines(name, text, maxDocumentLine, func(line string) bool { return strings.HasPrefix(line, "|") })
}

// ifHeadersOnlyDefine refuses an if whose header changes state: a reader who looks for changes misses it. A header may
// define variables, and may assign what a call returns with an error.
func ifHeadersOnlyDefine(s source) (problems []string) {
	ast.Inspect(s.file, func(n ast.Node) bool {
		if x, ok := n.(*ast.IfStmt); ok && x.Init != nil && !onlyDefines(x.Init) {
			problems = append(problems, s.problem(x, "the header of an if changes state: put the statement before it"))
		}
		return true
	})
	return problems
}

func onlyDefines(init ast.Stmt) bool {
	assign, ok := init.(*ast.AssignStmt)
	if !ok {
		return false
	}
	if assign.Tok == token.DEFINE {
		return true
	}
	return assign.Tok == token.ASSIGN && slices.ContainsFunc(assign.Lhs, isError)
}

// isError reports whether an expression is a variable or a field for an error, by its name.
func isError(e ast.Expr) bool {
	name := ""
	switch x := e.(type) {
	case *ast.Ident:
		name = x.Name
	case *ast.SelectorExpr:
		name = x.Sel.Name
	}
	return name == "err" || strings.HasSuffix(name, "Err")
}

func TestLines_OfGoAreShort(t *testing.T) {
	sources, err := allSources()
	assert.NilError(t, err)
	for _, s := range sources {
		for _, p := range linesAreShort(s) {
			t.Error(p)
		}
	}
	line := func(columns int) string {
		return "package objects\n\n// " + strings.Repeat("ü", columns-len("// ")) + "\n"
	}
	checkSnippets(t, linesAreShort, []snippet{
		{name: "a line may have 120 characters, whatever their bytes", text: line(120)},
		{name: "but not 121", text: line(121), want: []string{"the line has 121 columns, at most 120"}},
		{
			name: "a raw string is no exception", path: "pkg/objects/a_test.go",
			text: "package objects\n\nconst a = `\n" + strings.Repeat("a", 121) + "`\n",
			want: []string{"the line has 122 columns, at most 120"},
		},
		{name: "generated protobuf code is as it is", path: "pkg/si/si.pb.go", text: line(121)},
	})
}

// eachDocument calls do with each tracked document.
func eachDocument(t *testing.T, do func(name, text string)) {
	t.Helper()
	names, err := tracked()
	assert.NilError(t, err)
	read := 0
	for _, name := range names {
		if filepath.Ext(name) != ".md" {
			continue
		}
		text, err := os.ReadFile(filepath.Join(root, name))
		if errors.Is(err, fs.ErrNotExist) {
			continue // removed, not yet committed
		}
		assert.NilError(t, err)
		read++
		do(name, string(text))
	}
	assert.Assert(t, read > 100, "only %d documents: was the tree really read?", read)
}

func TestLines_OfDocumentsAreShort(t *testing.T) {
	eachDocument(t, func(name, text string) {
		if name == "CHANGELOG.md" {
			return
		}
		for _, p := range documentLinesAreShort(name, text) {
			t.Error(p)
		}
	})

	long := strings.Repeat("a", 201)
	assert.DeepEqual(t, documentLinesAreShort("a.md", long[1:]+"\n"+long+"\n"),
		[]string{"a.md:2: the line has 201 columns, at most 200"})
	assert.DeepEqual(t, documentLinesAreShort("a.md", "| "+long+" |\n"), []string(nil))
}

func TestIfHeaders_ChangeNoState(t *testing.T) {
	sources, err := allSources()
	assert.NilError(t, err)
	for _, s := range sources {
		for _, p := range ifHeadersOnlyDefine(s) {
			t.Error(p)
		}
	}
	header := func(init string) string {
		return "package objects\n\nfunc f() {\n\tif " + init + "; ok {\n\t}\n}\n"
	}
	want := []string{"the header of an if changes state: put the statement before it"}
	checkSnippets(t, ifHeadersOnlyDefine, []snippet{
		{name: "a header may define", text: header("x, ok := m[k]")},
		{name: "it may assign to an error", text: header("err = f()")},
		{name: "also to one with a longer name, and to a field", text: header("s.closeErr = f.Close()")},
		{name: "and what comes with the error", text: header("s.n, err = w.Write(b)")},
		{name: "it may not count", text: header("x--"), want: want},
		{name: "nor call", text: header("s.Report()"), want: want},
		{name: "nor assign to anything else", text: header("ok = s.Report()"), want: want},
		{name: "nor to a field of anything else", text: header("err.code = f()"), want: want},
		{name: "nor add", text: header("n += 1"), want: want},
		{name: "an else if is an if", text: header("ok := f()") + "\nfunc g() {\n\tif a {\n\t} else if x++; ok {\n\t}\n}\n",
			want: want},
	})
}
