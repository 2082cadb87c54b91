package lint

import (
	"go/ast"
	"go/token"
	"slices"
	"strings"
	"testing"

	"gotest.tools/v3/assert"
)

const objectsDir = "pkg/objects"

// journalSources are the files of a package that has a journal.
type journalSources []source

// kinds are the names of the kinds of changes: the methods of the interfaces in changeConsumer.
func (j journalSources) kinds() (names []string) {
	interfaces := map[string]*ast.InterfaceType{}
	j.types(func(name string, t ast.Expr) {
		if i, ok := t.(*ast.InterfaceType); ok {
			interfaces[name] = i
		}
	})
	consumer := interfaces["changeConsumer"]
	if consumer == nil {
		return nil
	}
	for _, group := range consumer.Methods.List {
		embedded, ok := group.Type.(*ast.Ident)
		if !ok || interfaces[embedded.Name] == nil {
			continue
		}
		for _, m := range interfaces[embedded.Name].Methods.List {
			names = append(names, m.Names[0].Name)
		}
	}
	return names
}

// consumers are the fields of journal, in order.
func (j journalSources) consumers() (names []string) {
	j.types(func(name string, t ast.Expr) {
		if s, ok := t.(*ast.StructType); ok && name == "journal" {
			for _, f := range s.Fields.List {
				names = append(names, f.Names[0].Name)
			}
		}
	})
	return names
}

func (j journalSources) types(yield func(name string, t ast.Expr)) {
	for _, s := range j {
		for _, d := range s.file.Decls {
			if g, ok := d.(*ast.GenDecl); ok && g.Tok == token.TYPE {
				for _, spec := range g.Specs {
					yield(spec.(*ast.TypeSpec).Name.Name, spec.(*ast.TypeSpec).Type)
				}
			}
		}
	}
}

// problems are the kinds that the journal does not pass to every consumer once, in their order and with the
// arguments that it got, and the calls of a consumer about a change that are not in the journal.
func (j journalSources) problems() (problems []string) {
	kinds, consumers := j.kinds(), j.consumers()
	passed := map[string]bool{}
	for _, s := range j {
		for _, d := range s.file.Decls {
			f, ok := d.(*ast.FuncDecl)
			if !ok {
				continue
			}
			if receiverType(f) == "journal" && slices.Contains(kinds, f.Name.Name) {
				passed[f.Name.Name] = true
				if got := passedOn(f); !slices.Equal(got, consumers) {
					problems = append(problems,
						s.problem(f, "the change %s is passed to %v, not to each consumer once: %v", f.Name.Name, got, consumers))
				}
				continue
			}
			ast.Inspect(f, func(n ast.Node) bool {
				call, ok := n.(*ast.SelectorExpr)
				if !ok || !slices.Contains(kinds, call.Sel.Name) {
					return true
				}
				if on, ok := call.X.(*ast.SelectorExpr); ok && slices.Contains(consumers, on.Sel.Name) {
					problems = append(problems, s.problem(call, "%s of one consumer is called without the journal", call.Sel.Name))
				}
				return true
			})
		}
	}
	for _, k := range kinds {
		if !passed[k] {
			problems = append(problems, "the journal has no method for changes of the kind "+k)
		}
	}
	return problems
}

// passedOn is the fields of the receiver whose method of the same name f calls with its own parameters, in
// order; anything else in f has the name "?".
func passedOn(f *ast.FuncDecl) (fields []string) {
	var params []string
	for _, p := range f.Type.Params.List {
		for _, name := range p.Names {
			params = append(params, name.Name)
		}
	}
	for _, statement := range f.Body.List {
		field := "?"
		if e, ok := statement.(*ast.ExprStmt); ok {
			if call, ok := e.X.(*ast.CallExpr); ok {
				var args []string
				for _, a := range call.Args {
					if id, ok := a.(*ast.Ident); ok {
						args = append(args, id.Name)
					}
				}
				if method, ok := call.Fun.(*ast.SelectorExpr); ok && method.Sel.Name == f.Name.Name && slices.Equal(args, params) {
					if on, ok := method.X.(*ast.SelectorExpr); ok {
						field = on.Sel.Name
					}
				}
			}
		}
		fields = append(fields, field)
	}
	return fields
}

func receiverType(f *ast.FuncDecl) string {
	if f.Recv == nil {
		return ""
	}
	t := f.Recv.List[0].Type
	if p, ok := t.(*ast.StarExpr); ok {
		t = p.X
	}
	if id, ok := t.(*ast.Ident); ok {
		return id.Name
	}
	return ""
}

// The compiler checks that each consumer has a method for each kind; this test, that the journal calls it.
func TestJournal_EveryConsumerGetsEveryChange(t *testing.T) {
	var j journalSources
	for _, s := range moduleSources(t) {
		if s.dir() == objectsDir && !s.isTest() {
			j = append(j, s)
		}
	}
	assert.Assert(t, len(j.kinds()) > 30 && len(j.consumers()) > 4, "%v, %v", j.kinds(), j.consumers())
	assert.Equal(t, strings.Join(j.problems(), "\n"), "")
}

func TestJournal_FindsForgottenConsumers(t *testing.T) {
	const declared = `package p
type changeConsumer interface { nodeChanges }
type nodeChanges interface { added(n int); removed(n int) }
type journal struct { a x; b y }
`
	for _, c := range []struct{ code, want string }{
		{"func (j *journal) added(n int) { j.a.added(n); j.b.added(n) }\nfunc (j *journal) removed(n int) { " +
			"j.a.removed(n); j.b.removed(n) }", ""},
		{"func (j *journal) added(n int) { j.a.added(n); j.b.added(n) }\nfunc (j *journal) removed(n int) { j.a.removed(n) }",
			"p.go:6: the change removed is passed to [a], not to each consumer once: [a b]"},
		{"func (j *journal) added(n int) { j.a.added(n); j.b.removed(n) }\nfunc (j *journal) removed(n int) { " +
			"j.a.removed(n); j.b.removed(n) }",
			"p.go:5: the change added is passed to [a ?], not to each consumer once: [a b]"},
		{"func (j *journal) added(n int) { j.a.added(n); j.b.added(1) }\nfunc (j *journal) removed(n int) { " +
			"j.a.removed(n); j.b.removed(n) }",
			"p.go:5: the change added is passed to [a ?], not to each consumer once: [a b]"},
		{"func (j *journal) added(n int) { j.a.added(n); j.b.added(n) }",
			"the journal has no method for changes of the kind removed"},
		{"func (j *journal) added(n int) { j.a.added(n); j.b.added(n) }\nfunc (j *journal) removed(n int) { " +
			"j.a.removed(n); j.b.removed(n) }\nfunc f(p *t) { p.journal.b.added(1) }",
			"p.go:7: added of one consumer is called without the journal"},
	} {
		s, err := parse("p.go", declared+c.code)
		assert.NilError(t, err)
		assert.Equal(t, strings.Join(journalSources{s}.problems(), "\n"), c.want, "%s", c.code)
	}
}
