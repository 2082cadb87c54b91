package lint

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"

	"gotest.tools/v3/assert"
)

// root is the top of the checkout, relative to this package.
const root = "../../.."

// A tree with fewer files or packages than these was not read completely.
const (
	minFiles    = 16
	minPackages = 6
)

// source is one parsed Go file.
type source struct {
	path   string // from the top of the checkout, with slashes
	nested bool   // it belongs to a nested module
	text   string
	set    *token.FileSet
	file   *ast.File
}

// rule returns the problems of a file, one sentence each.
type rule func(source) []string

func parse(name, text string) (source, error) {
	set := token.NewFileSet()
	file, err := parser.ParseFile(set, name, text, parser.ParseComments|parser.SkipObjectResolution)
	return source{path: name, text: text, set: set, file: file}, err
}

func (s source) dir() string          { return path.Dir(s.path) }
func (s source) isTest() bool         { return strings.HasSuffix(s.path, "_test.go") }
func (s source) generated() bool      { return ast.IsGenerated(s.file) }
func (s source) isMain() bool         { return s.file.Name.Name == "main" }
func (s source) line(n token.Pos) int { return s.set.Position(n).Line }

// problem returns a problem at a position of the file.
func (s source) problem(at ast.Node, format string, args ...any) string {
	return fmt.Sprintf("%s:%d: ", s.path, s.line(at.Pos())) + fmt.Sprintf(format, args...)
}

// localName returns the name of an imported package in the file: "." for a dot import, "" when it is not
// imported.
func (s source) localName(importedPath string) string {
	for _, spec := range s.file.Imports {
		if importPath(spec) != importedPath {
			continue
		}
		if spec.Name != nil {
			return spec.Name.Name
		}
		return path.Base(importedPath)
	}
	return ""
}

func importPath(spec *ast.ImportSpec) string {
	p, err := strconv.Unquote(spec.Path.Value)
	if err != nil {
		panic(err) // the parser accepted it
	}
	return p
}

// uses yields every use of pkg.X for one of the names.
func (s source) uses(pkg string, names map[string]bool, found func(at ast.Node, name string)) {
	local := s.localName(pkg)
	if local == "" {
		return
	}
	ast.Inspect(s.file, func(n ast.Node) bool {
		switch x := n.(type) {
		case *ast.SelectorExpr:
			if id, ok := x.X.(*ast.Ident); ok && id.Name == local && names[x.Sel.Name] {
				found(x, x.Sel.Name)
			}
			return local != "." // below a dot import, a method of the same name is no use
		case *ast.Ident:
			if local == "." && names[x.Name] {
				found(x, x.Name)
			}
		}
		return true
	})
}

var allSources = sync.OnceValues(func() ([]source, error) {
	var all []source
	nested := ""
	err := filepath.WalkDir(root, func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(root, name)
		if err != nil {
			return err
		}
		rel = filepath.ToSlash(rel)
		if d.IsDir() {
			if rel != "." && (strings.HasPrefix(d.Name(), ".") || d.Name() == "testdata" || d.Name() == "bin") {
				return fs.SkipDir
			}
			inside := nested != "" && strings.HasPrefix(rel, nested) // a module in a nested one does not end it
			if _, err := os.Stat(filepath.Join(name, "go.mod")); err == nil && rel != "." && !inside {
				nested = rel + "/"
			}
			return nil
		}
		if path.Ext(rel) != ".go" {
			return nil
		}
		text, err := os.ReadFile(name)
		if err != nil {
			return err
		}
		s, err := parse(rel, string(text))
		if err != nil {
			return err
		}
		s.nested = nested != "" && strings.HasPrefix(rel, nested)
		all = append(all, s)
		return nil
	})
	return all, err
})

// moduleSources returns the Go files of the module, without the modules nested in it.
func moduleSources(t *testing.T) []source {
	t.Helper()
	all, err := allSources()
	assert.NilError(t, err)
	var files []source
	for _, s := range all {
		if !s.nested {
			files = append(files, s)
		}
	}
	assert.Assert(t, len(files) >= minFiles, "only %d files: was the tree really read?", len(files))
	return files
}

// packages returns the files of the module by directory.
func packages(t *testing.T) map[string][]source {
	t.Helper()
	byDir := map[string][]source{}
	for _, s := range moduleSources(t) {
		byDir[s.dir()] = append(byDir[s.dir()], s)
	}
	assert.Assert(t, len(byDir) >= minPackages, "only %d packages: was the tree really read?", len(byDir))
	return byDir
}

// checkModule checks every file of the module.
func checkModule(t *testing.T, r rule) {
	t.Helper()
	for _, s := range moduleSources(t) {
		for _, p := range r(s) {
			t.Error(p)
		}
	}
}

// snippet is a source file that breaks or keeps a rule.
type snippet struct {
	name string // a sentence
	path string // pkg/objects/a.go unless given
	text string
	want []string // the problems, without path and line; none when the file is valid
}

// checkSnippets tests a rule with snippets.
func checkSnippets(t *testing.T, r rule, snippets []snippet) {
	t.Helper()
	for _, c := range snippets {
		t.Run(c.name, func(t *testing.T) {
			name := c.path
			if name == "" {
				name = "pkg/objects/a.go"
			}
			s, err := parse(name, c.text)
			assert.NilError(t, err)
			var got []string
			for _, p := range r(s) {
				_, sentence, _ := strings.Cut(p, ": ")
				got = append(got, sentence)
			}
			assert.DeepEqual(t, got, c.want)
		})
	}
}

func TestSources_WithoutNestedModules(t *testing.T) {
	assert.Assert(t, len(packages(t)) > 0)
	for _, s := range moduleSources(t) {
		assert.Assert(t, !strings.HasPrefix(s.path, "tools/"), "%s is in a module of its own", s.path)
	}
}

// functionsOf returns the functions that a file declares, methods also with their type.
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
		if typ := receiver(f.Recv.List[0].Type); typ != "" {
			names[typ+"."+f.Name.Name] = true
		}
	}
	return names
}
