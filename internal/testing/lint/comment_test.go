package lint

import (
	"go/ast"
	"go/token"
	"maps"
	"slices"
	"testing"

	"gotest.tools/v3/assert"
)

// standardMethods are methods whose meaning the standard library defines.
var standardMethods = map[string]bool{
	"Error": true, "Is": true, "Len": true, "Less": true, "MarshalJSON": true, "MarshalText": true, "Read": true,
	"ServeHTTP": true, "String": true, "Swap": true, "UnmarshalJSON": true, "UnmarshalText": true, "Unwrap": true,
	"Write": true,
}

// exportsAreDocumented refuses exported names without a comment, outside of tests and programs. A
// comment on a group is enough for its members.
func exportsAreDocumented(s source) []string {
	if s.isTest() || s.isMain() || s.generated() {
		return nil
	}
	var problems []string
	for _, decl := range s.file.Decls {
		switch d := decl.(type) {
		case *ast.FuncDecl:
			if d.Doc == nil && isExported(d) {
				problems = append(problems, s.problem(d, "%s has no comment", d.Name.Name))
			}
		case *ast.GenDecl:
			for _, name := range undocumented(d) {
				problems = append(problems, s.problem(name, "%s has no comment", name.Name))
			}
		}
	}
	return problems
}

func isExported(f *ast.FuncDecl) bool {
	if f.Recv == nil {
		return f.Name.IsExported()
	}
	return f.Name.IsExported() && !standardMethods[f.Name.Name] && ast.IsExported(receiver(f.Recv.List[0].Type))
}

// receiver returns the name of the type of a receiver, without star and type parameters.
func receiver(e ast.Expr) string {
	switch x := e.(type) {
	case *ast.StarExpr:
		return receiver(x.X)
	case *ast.ParenExpr:
		return receiver(x.X)
	case *ast.IndexExpr:
		return receiver(x.X)
	case *ast.IndexListExpr:
		return receiver(x.X)
	case *ast.Ident:
		return x.Name
	}
	return ""
}

func undocumented(d *ast.GenDecl) []*ast.Ident {
	if d.Doc != nil || d.Tok == token.IMPORT {
		return nil
	}
	var names []*ast.Ident
	for _, spec := range d.Specs {
		switch x := spec.(type) {
		case *ast.TypeSpec:
			if x.Doc == nil && x.Comment == nil && x.Name.IsExported() {
				names = append(names, x.Name)
			}
		case *ast.ValueSpec:
			if x.Doc != nil || x.Comment != nil {
				continue
			}
			for _, name := range x.Names {
				if name.IsExported() {
					names = append(names, name)
				}
			}
		}
	}
	return names
}

// hasPackageComment reports whether a file of a package has a package comment.
func hasPackageComment(files []source) bool {
	return slices.ContainsFunc(files, func(s source) bool { return s.file.Doc != nil })
}

func TestPackages_HaveComments(t *testing.T) {
	byDir := packages(t)
	for _, dir := range slices.Sorted(maps.Keys(byDir)) {
		if !hasPackageComment(byDir[dir]) {
			t.Errorf("%s has no package comment", dir)
		}
	}
	withoutComment, err := parse("pkg/objects/a.go", "// A stray comment.\n\npackage objects")
	assert.NilError(t, err)
	withComment, err := parse("pkg/objects/doc.go", "// Package objects is the state.\npackage objects")
	assert.NilError(t, err)
	assert.Assert(t, !hasPackageComment([]source{withoutComment}),
		"a comment apart from the package clause does not count")
	assert.Assert(t, hasPackageComment([]source{withoutComment, withComment}))
}

func TestExports_AreDocumented(t *testing.T) {
	checkModule(t, exportsAreDocumented)
	checkSnippets(t, exportsAreDocumented, []snippet{
		{
			name: "exported names need a comment",
			text: "package objects\ntype T struct{}\nfunc F() {}\nfunc (t *T) M() {}\nconst C = 1\nvar V, w = 1, 2",
			want: []string{
				"T has no comment", "F has no comment", "M has no comment", "C has no comment", "V has no comment",
			},
		}, {
			name: "with a comment they pass, before or behind",
			text: "package objects\n// T is.\ntype T struct{}\n// F does.\nfunc F() {}\nconst (\nC = 1 // C is one\n)",
		}, {
			name: "one comment speaks for a group",
			text: "package objects\n// The colours.\nconst (\nRed = iota\nGreen\n)",
		}, {
			name: "a group without one leaves each to itself",
			text: "package objects\ntype (\n// A is.\nA int\nB int\n)",
			want: []string{"B has no comment"},
		}, {
			name: "methods of generic types count",
			text: "package objects\n// T is.\ntype T[K any] struct{}\nfunc (t *T[K]) M() {}",
			want: []string{"M has no comment"},
		}, {
			name: "what nobody outside can see needs none",
			text: "package objects\ntype t struct{}\nfunc (t) M() {}\nfunc f() {}\nvar v = 1",
		}, {
			name: "what the standard library defines needs none",
			text: "package objects\n// T is.\ntype T int\nfunc (t T) String() string { return \"\" }",
		}, {
			name: "a program has no readers of its names",
			path: "cmd/core/a.go",
			text: "package main\nfunc F() {}",
		}, {
			name: "nor has a test",
			path: "pkg/objects/a_test.go",
			text: "package objects\nfunc TestF() {}",
		},
	})
}
