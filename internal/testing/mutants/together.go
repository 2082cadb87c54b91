package mutants

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"slices"
	"strings"
)

// Variable is the environment variable that says which of the faults of a build with many is in force: its number; 0 or
// not set: none.
const Variable = "CANOPY_FAULT"

// A Numbered fault is one of those of a build.
type Numbered struct {
	Fault
	Number int // from 1
}

// PlantTogether returns the file with all the faults in it, each in force only if Variable has its number, and those
// that have to be planted alone because they change more than the body of a function. Each fault becomes a copy of its
// function, which the function calls in its own place. It is an error if a fault cannot be applied.
func PlantTogether(source string, faults []Numbered) (text string, alone []Numbered, err error) {
	var edits []edit
	var copies strings.Builder
	for _, f := range faults {
		mutated, err := f.Apply(source)
		if err != nil {
			return "", nil, err
		}
		original, err := parseFunction(f.File, source, f.Function)
		if err != nil {
			return "", nil, err
		}
		mutant, err := parseFunction(f.File, mutated, f.Function)
		if err != nil || mutant.signature() != original.signature() {
			alone = append(alone, f)
			continue
		}
		name := fmt.Sprintf("%s__fault%d", original.decl.Name.Name, f.Number)
		fmt.Fprintf(&copies, "\n%s%s%s\n", mutant.between(mutant.decl.Pos(), mutant.decl.Name.Pos()), name,
			mutant.between(mutant.decl.Name.End(), mutant.decl.End()))
		call, named := original.call(name)
		edits = append(edits, named...)
		edits = append(edits,
			edit{at: original.offset(original.decl.Body.Lbrace) + 1,
				text: fmt.Sprintf("\n\tif fault__ == %d {\n\t\t%s\n\t}\n", f.Number, call)})
	}
	return apply(source, edits) + copies.String(), alone, nil
}

// Switch returns the source of a file that has to be added to each package with faults that are planted together.
func Switch(packageName string) string {
	return fmt.Sprintf("package %s\n\nimport (\n\t\"os\"\n\t\"strconv\"\n)\n\nvar fault__, _ = "+
		"strconv.Atoi(os.Getenv(%q))\n", packageName, Variable)
}

// an edit replaces length bytes of a text.
type edit struct {
	at, length int
	text       string
}

// apply makes each different edit once: the faults of one function name its parameters alike.
func apply(source string, edits []edit) string {
	slices.SortStableFunc(edits, func(a, b edit) int { return a.at - b.at })
	var text strings.Builder
	done := 0
	for _, e := range slices.Compact(edits) {
		text.WriteString(source[done:e.at])
		text.WriteString(e.text)
		done = e.at + e.length
	}
	return text.String() + source[done:]
}

// a function is a declaration with its source.
type function struct {
	set    *token.FileSet
	source string
	decl   *ast.FuncDecl
}

func parseFunction(file, source, name string) (function, error) {
	set := token.NewFileSet()
	parsed, err := parser.ParseFile(set, file, source, parser.SkipObjectResolution)
	if err != nil {
		return function{}, err
	}
	for _, d := range parsed.Decls {
		if d, ok := d.(*ast.FuncDecl); ok && nameOf(d) == name {
			return function{set, source, d}, nil
		}
	}
	return function{}, fmt.Errorf("%s has no function %s", file, name)
}

func (f function) offset(p token.Pos) int { return f.set.Position(p).Offset }

func (f function) between(begin, end token.Pos) string {
	return f.source[f.offset(begin):f.offset(end)]
}

func (f function) signature() string { return f.between(f.decl.Pos(), f.decl.Body.Lbrace) }

// call returns the statement with which the function calls another one with its own receiver and arguments, and what
// has to be changed in its signature so that all of them have names.
func (f function) call(name string) (statement string, named []edit) {
	nameless := 0
	names := func(fields *ast.FieldList) (list []string) {
		for _, field := range fields.List {
			start := len(list)
			for _, id := range field.Names {
				n := id.Name
				if n == "_" {
					n = fmt.Sprint("nameless__", nameless)
					nameless++
					named = append(named, edit{f.offset(id.Pos()), 1, n})
				}
				list = append(list, n)
			}
			if len(field.Names) == 0 {
				n := fmt.Sprint("nameless__", nameless)
				nameless++
				named = append(named, edit{f.offset(field.Type.Pos()), 0, n + " "})
				list = append(list, n)
			}
			if _, ok := field.Type.(*ast.Ellipsis); ok {
				list[start] += "..."
			}
		}
		return list
	}
	if f.decl.Recv != nil {
		name = names(f.decl.Recv)[0] + "." + name
	}
	if types := f.decl.Type.TypeParams; types != nil {
		var list []string
		for _, field := range types.List {
			for _, id := range field.Names {
				list = append(list, id.Name)
			}
		}
		name += "[" + strings.Join(list, ", ") + "]"
	}
	statement = fmt.Sprintf("%s(%s)", name, strings.Join(names(f.decl.Type.Params), ", "))
	if f.decl.Type.Results == nil || len(f.decl.Type.Results.List) == 0 {
		return statement + "\n\t\treturn", named
	}
	return "return " + statement, named
}
