package lint

import (
	"go/ast"
	"slices"
	"strings"
	"testing"

	"gotest.tools/v3/assert"
)

// supported are the packages that programs outside may import, which docs/EMBEDDING.md says.
var supported = []string{"pkg/canopy"}

// The signatures of a supported package have no type of another package of this module: an importer
// could not name it, or would depend on what may change.
func TestEmbedding_SignaturesHaveNoUnsupportedTypes(t *testing.T) {
	all, err := allSources()
	assert.NilError(t, err)
	exported := 0
	for _, s := range all {
		if !slices.Contains(supported, s.dir()) || s.isTest() {
			continue
		}
		problems, n := unsupportedTypes(s)
		exported += n
		for _, problem := range problems {
			t.Error(problem)
		}
	}
	assert.Assert(t, exported > 20, "only %d exported declarations: were they read?", exported)
}

// unsupportedTypes returns the uses of types of other packages of this module in exported declarations, of
// which there are n.
func unsupportedTypes(s source) (problems []string, n int) {
	ours := map[string]bool{}
	for _, spec := range s.file.Imports {
		if path := importPath(spec); isBelow(path, module) {
			ours[path[strings.LastIndexByte(path, '/')+1:]] = true
		}
	}
	var visit func(name string, typ ast.Node)
	visit = func(name string, typ ast.Node) {
		ast.Inspect(typ, func(node ast.Node) bool {
			switch x := node.(type) {
			case *ast.StructType:
				for _, field := range x.Fields.List {
					if len(field.Names) == 0 || slices.ContainsFunc(field.Names, (*ast.Ident).IsExported) {
						visit(name, field.Type)
					}
				}
				return false
			case *ast.SelectorExpr:
				if pkg, ok := x.X.(*ast.Ident); ok && ours[pkg.Name] {
					problems = append(problems, s.problem(x, "%s has the type %s.%s", name, pkg.Name, x.Sel.Name))
				}
			}
			return true
		})
	}
	check := func(name string, typ ast.Node) {
		n++
		visit(name, typ)
	}
	for _, decl := range s.file.Decls {
		switch d := decl.(type) {
		case *ast.FuncDecl:
			if d.Name.IsExported() && (d.Recv == nil || isExportedReceiver(d.Recv)) {
				check(d.Name.Name, d.Type)
			}
		case *ast.GenDecl:
			for _, spec := range d.Specs {
				switch x := spec.(type) {
				case *ast.TypeSpec:
					if x.Name.IsExported() {
						check(x.Name.Name, x.Type)
					}
				case *ast.ValueSpec:
					if x.Names[0].IsExported() && x.Type != nil {
						check(x.Names[0].Name, x.Type)
					}
				}
			}
		}
	}
	return problems, n
}

func isExportedReceiver(recv *ast.FieldList) bool {
	return ast.IsExported(receiverName(recv.List[0].Type))
}

func receiverName(e ast.Expr) string {
	switch x := e.(type) {
	case *ast.StarExpr:
		return receiverName(x.X)
	case *ast.Ident:
		return x.Name
	}
	return ""
}

func TestUnsupportedTypes(t *testing.T) {
	s, err := parse("pkg/canopy/x.go", `package canopy

import "github.com/canopy-scheduler/canopy/internal/server/loop"

// A is a type.
type A struct {
	hidden *loop.Loop
	Seen   []loop.Options
	Call   func(options loop.Options)
}

// F is a function.
func F(options loop.Options) {}

func (b b) M(loop.Options) {}

func g(loop.Options) {}
`)
	assert.NilError(t, err)
	problems, n := unsupportedTypes(s)
	assert.Equal(t, n, 2)
	assert.Equal(t, len(problems), 3, "%v", problems)
	assert.Assert(t, strings.Contains(problems[0], "A has the type loop.Options") &&
		strings.Contains(problems[2], "F has the type loop.Options"), "%v", problems)
}
