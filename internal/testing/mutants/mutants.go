package mutants

import (
	"fmt"
	"go/ast"
	gobuild "go/build"
	"go/scanner"
	"go/token"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// A Fault is a change of a function that makes the scheduler wrong.
type Fault struct {
	Title    string   // what goes wrong, in words; unique
	Dir      string   // the package, from the top of the repository
	Function string   // in Dir; a method with its type before it: Partition.Place
	File     string   // the file of the function; set by Locate
	Old, New string   // code in the function, and what replaces it; only its tokens matter, not its layout
	Packages []string // whose tests have to catch it, cheapest first
	Line     int      // in the list

	// one of Packages and its test that caught the fault last, which is run first; empty: unknown
	CaughtIn, CaughtBy string
}

// Parse reads a list of faults. Lines that begin with "#" and empty lines are comments.
//
//	fault: an ask that is resized keeps its nomination
//	in: pkg/objects Partition.unpost
//	- p.ClearNomination(x)
//	+
//	tests: ./pkg/objects ./pkg/scheduler ./internal/testing/twin
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
			f.Dir, f.Function, _ = strings.Cut(value, " ")
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
		if f.Dir == "" || f.Function == "" || f.Old == "" || len(f.Packages) == 0 {
			return nil, fmt.Errorf("line %d: fault %q has no place, no text to replace, or no tests", f.Line, f.Title)
		}
	}
	return list, nil
}

// Locate sets File to the file of f.Dir, below root, that declares f.Function.
func (f *Fault) Locate(root string) error {
	files, err := filepath.Glob(filepath.Join(root, f.Dir, "*.go"))
	if err != nil {
		return err
	}
	for _, name := range files {
		matches, err := gobuild.Default.MatchFile(filepath.Dir(name), filepath.Base(name))
		if err != nil {
			return err
		}
		if !matches || strings.HasSuffix(name, "_test.go") {
			continue
		}
		source, err := os.ReadFile(name)
		if err != nil {
			return err
		}
		if _, err := parseFunction(name, string(source), f.Function); err == nil {
			f.File = filepath.ToSlash(filepath.Join(f.Dir, filepath.Base(name)))
			return nil
		}
	}
	return fmt.Errorf("%s has no function %s", f.Dir, f.Function)
}

// Apply returns the file with the fault in it. It is an error if there is no such function, or the
// code is not in it exactly once.
func (f Fault) Apply(source string) (string, error) {
	in, err := parseFunction(f.File, source, f.Function)
	if err != nil {
		return "", err
	}
	begin, end := in.offset(in.decl.Pos()), in.offset(in.decl.End())
	body, old := tokensOf(source[begin:end]), tokensOf(f.Old)
	var found []int
	for i := 0; i+len(old) <= len(body); i++ {
		if slices.EqualFunc(body[i:i+len(old)], old, func(a, b codeToken) bool { return a.text == b.text }) {
			found = append(found, i)
		}
	}
	if len(found) != 1 || len(old) == 0 {
		return "", fmt.Errorf("%s: the code %q is %d times in %s", f.File, strings.TrimSpace(f.Old), len(found), f.Function)
	}
	from, to := begin+body[found[0]].begin, begin+body[found[0]+len(old)-1].end
	return source[:from] + strings.TrimSuffix(f.New, "\n") + source[to:], nil
}

// A codeToken is a token of Go and its place in the source.
type codeToken struct {
	text       string
	begin, end int
}

// tokensOf returns the tokens of code without comments and without what only the layout decides: semicolons at ends of
// lines and commas before a closing bracket.
func tokensOf(code string) (tokens []codeToken) {
	var s scanner.Scanner
	set := token.NewFileSet()
	file := set.AddFile("", set.Base(), len(code))
	s.Init(file, []byte(code), nil, 0)
	for {
		pos, kind, literal := s.Scan()
		if kind == token.EOF {
			return tokens
		}
		if kind == token.SEMICOLON && literal == "\n" {
			continue
		}
		text := literal
		if text == "" || kind.IsOperator() {
			text = kind.String()
		}
		closes := kind == token.RPAREN || kind == token.RBRACE || kind == token.RBRACK
		if last := len(tokens) - 1; closes && last >= 0 && tokens[last].text == "," {
			tokens = tokens[:last]
		}
		begin := file.Offset(pos)
		tokens = append(tokens, codeToken{text, begin, begin + len(text)})
	}
}

// nameOf returns the name of a function, of a method with its type before it.
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
