package mutants

import (
	"fmt"
	"go/ast"
	"regexp"
	"strings"
)

// A Fault is a change of a function that makes the scheduler wrong.
type Fault struct {
	Title    string   // what goes wrong, in words; unique
	File     string   // from the top of the repository
	Function string   // in File; a method with its type before it: Partition.Place
	Old, New string   // a text in the function, and what replaces it; white space is as good as any other
	Packages []string // whose tests have to catch it, cheapest first
	Line     int      // in the list

	CaughtIn, CaughtBy string // one of Packages and its test that caught the fault last, which is run first; empty: unknown
}

// Parse reads a list of faults. Lines that begin with "#" and empty lines are comments.
//
//	fault: an ask that is resized keeps its nomination
//	in: pkg/objects/ledger.go Partition.unpost
//	- p.ClearNomination(x)
//	+
//	tests: ./pkg/objects ./pkg/scheduler ./internal/twin
//
// Several lines of "-" and of "+" belong together. An error names the line.
func Parse(text string) ([]Fault, error) {
	var list []Fault
	titles := map[string]bool{}
	var f *Fault
	for i, line := range strings.Split(text, "\n") {
		key, value, _ := strings.Cut(line, " ")
		value = strings.TrimSpace(value)
		if f == nil && key != "fault:" && line != "" && !strings.HasPrefix(line, "#") {
			return nil, fmt.Errorf("line %d: %q stands before the first fault", i+1, line)
		}
		switch {
		case line == "" || strings.HasPrefix(line, "#"):
		case key == "fault:":
			if titles[value] {
				return nil, fmt.Errorf("line %d: there are two faults %q", i+1, value)
			}
			titles[value] = true
			list = append(list, Fault{Title: value, Line: i + 1})
			f = &list[len(list)-1]
		case key == "in:":
			f.File, f.Function, _ = strings.Cut(value, " ")
		case key == "-":
			f.Old += value + "\n"
		case key == "+":
			f.New += value + "\n"
		case key == "tests:":
			f.Packages = strings.Fields(value)
		default:
			return nil, fmt.Errorf("line %d: %q begins with none of the keys fault, in, -, + and tests", i+1, line)
		}
	}
	for _, f := range list {
		if f.File == "" || f.Function == "" || f.Old == "" || len(f.Packages) == 0 {
			return nil, fmt.Errorf("line %d: fault %q has no place, no text to replace, or no tests", f.Line, f.Title)
		}
	}
	return list, nil
}

// Apply returns the file with the fault in it. It is an error if there is no such function, or the
// text is not in it exactly once.
func (f Fault) Apply(source string) (string, error) {
	in, err := parseFunction(f.File, source, f.Function)
	if err != nil {
		return "", err
	}
	begin, end := in.offset(in.decl.Pos()), in.offset(in.decl.End())
	words := strings.Fields(f.Old)
	for i, w := range words {
		words[i] = regexp.QuoteMeta(w)
	}
	body := source[begin:end]
	found := regexp.MustCompile(strings.Join(words, `\s+`)).FindAllStringIndex(body, -1)
	if len(found) != 1 {
		return "", fmt.Errorf("%s: the text %q is %d times in %s", f.File, strings.TrimSpace(f.Old), len(found), f.Function)
	}
	return source[:begin] + body[:found[0][0]] + strings.TrimSuffix(f.New, "\n") + body[found[0][1]:] + source[end:], nil
}

// nameOf is the name of a function, of a method with its type before it.
func nameOf(d *ast.FuncDecl) string {
	if d.Recv == nil || len(d.Recv.List) == 0 {
		return d.Name.Name
	}
	t := d.Recv.List[0].Type
	if star, ok := t.(*ast.StarExpr); ok {
		t = star.X
	}
	switch x := t.(type) {
	case *ast.IndexExpr:
		t = x.X
	case *ast.IndexListExpr:
		t = x.X
	}
	if id, ok := t.(*ast.Ident); ok {
		return id.Name + "." + d.Name.Name
	}
	return d.Name.Name
}
