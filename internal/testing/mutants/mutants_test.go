package mutants

import (
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"gotest.tools/v3/assert"
)

const root = "../../.."

// variable is the environment variable that has the faults planted: "all", or a part of a title, of the name of a file
// or of the package whose tests caught them last.
const variable = "CANOPY_MUTANTS"

// limits are how long the tests of one package may take with a fault in the code, at each scale. A fault can make them
// wait for ever, and is caught then, if the few random runs take a small part of the limit without one. All of them
// take long, so that a test that is stopped says nothing of the fault.
var limits = []struct {
	scale string
	limit time.Duration
}{{"quick", 6 * time.Minute}, {"full", 40 * time.Minute}}

func faults(t *testing.T) []Fault {
	t.Helper()
	files, err := filepath.Glob(filepath.Join("testdata", "*.txt"))
	assert.NilError(t, err)
	var all []Fault
	titles := map[string]string{}
	for _, name := range files {
		text, err := os.ReadFile(name)
		assert.NilError(t, err)
		list, err := Parse(string(text))
		assert.NilError(t, err, name)
		for i, f := range list {
			assert.Check(t, list[i].Locate(root), "%s:%d", name, f.Line)
			if other, ok := titles[f.Title]; ok {
				t.Errorf("%s and %s have the fault %q", other, name, f.Title)
			}
			titles[f.Title] = name
		}
		all = append(all, list...)
	}
	assert.Assert(t, len(all) > 0, "no fault in %v", files)
	known := readCaught(t)
	for i, f := range all {
		all[i].CaughtIn, all[i].CaughtBy, _ = strings.Cut(known[f.Title], " ")
	}
	return all
}

// Code that moves takes its faults along.
func TestMutants_CanBeApplied(t *testing.T) {
	for _, f := range faults(t) {
		source, err := os.ReadFile(filepath.Join(root, f.File))
		assert.NilError(t, err, f.Title)
		text, err := f.Apply(string(source))
		if err != nil {
			t.Errorf("%s: %v", f.Title, err)
			continue
		}
		assert.Check(t, text != string(source), f.Title)
		_, err = parser.ParseFile(token.NewFileSet(), f.File, text, parser.SkipObjectResolution)
		assert.Check(t, err, f.Title)
		for _, p := range f.Packages {
			_, err := os.Stat(filepath.Join(root, p))
			assert.Check(t, err, f.Title)
		}
	}
}

func TestMutants_AreCaught(t *testing.T) {
	wanted := os.Getenv(variable)
	if wanted == "" {
		t.Skipf("takes 25 minutes; %s=all, or a part of a title, file or package name, runs it (make mutants)", variable)
	}
	var chosen []Fault
	for _, f := range faults(t) {
		if wanted == "all" || strings.Contains(f.Title, wanted) || strings.Contains(f.File, wanted) ||
			strings.Contains(f.CaughtIn, wanted) {
			chosen = append(chosen, f)
		}
	}
	assert.Assert(t, len(chosen) > 0, "no title, file or package name has %q in it", wanted)
	numbered := make([]Numbered, len(chosen))
	for i, f := range chosen {
		numbered[i] = Numbered{f, i + 1}
	}
	together, alone := newBuild(t, numbered)
	run := &run{build: together, alone: map[string]bool{}, caught: readCaught(t)}
	for _, f := range alone {
		run.alone[f.Title] = true
	}
	missed := numbered
	for _, at := range limits { // most faults show in few random runs, some in one of many
		missed = run.plantAll(t, missed, at.scale, at.limit)
		t.Logf("%s tests: %d of %d faults are not caught, %d were planted alone", at.scale, len(missed), len(chosen),
			len(run.alone))
	}
	writeCaught(t, run.caught)
	for _, f := range missed {
		t.Errorf("no test catches: %s", f.Title)
	}
	for _, f := range run.broken {
		t.Errorf("does not compile: %s", f.Title)
	}
}

func TestParse_Faults(t *testing.T) {
	const list = "# a comment\n\nfault: a is b\nin: pkg/a T.m\n- x := 1\n- y := 2\n+ x := 2\ntests: ./pkg/a ./pkg/b\n"
	got, err := Parse(list)
	assert.NilError(t, err)
	assert.DeepEqual(t, got,
		[]Fault{{Title: "a is b", Dir: "pkg/a", Function: "T.m", Old: "x := 1\ny := 2\n", New: "x := 2\n",
			Packages: []string{"./pkg/a", "./pkg/b"}, Line: 3}})
	for text, want := range map[string]string{
		"in: a b\n":                       `line 1: "in: a b" stands before the first fault`,
		"fault: a\nwhere: b\n":            `line 2: "where: b" begins with none of the keys fault, in, -, + and tests`,
		"fault: a\nin: f g\ntests: ./a\n": `line 1: fault "a" has no place, no text to replace, or no tests`,
		list + list:                       `line 11: there are two faults "a is b"`,
	} {
		_, err := Parse(text)
		assert.Error(t, err, want)
	}
}

func TestApply_ReplacesOnce(t *testing.T) {
	const source = "package a\n\nfunc f() {\n\tx++\n\ty()\n}\n\nfunc (t *T[K]) m() { x++ }\n"
	f := Fault{File: "a.go", Function: "f", Old: "x++ y()", New: "z()\n"}
	got, err := f.Apply(source)
	assert.NilError(t, err)
	assert.Equal(t, got, strings.Replace(source, "x++\n\ty()", "z()", 1))
	f = Fault{File: "a.go", Function: "T.m", Old: "x++"}
	got, err = f.Apply(source)
	assert.NilError(t, err)
	assert.Equal(t, got, "package a\n\nfunc f() {\n\tx++\n\ty()\n}\n\nfunc (t *T[K]) m() {  }\n")
	_, err = Fault{File: "a.go", Function: "g", Old: "x"}.Apply(source)
	assert.Error(t, err, "a.go has no function g")
	_, err = Fault{File: "a.go", Function: "f", Old: "q"}.Apply(source)
	assert.Error(t, err, `a.go: the code "q" is 0 times in f`)
	f = Fault{File: "a.go", Function: "f", Old: "x += g(1, 2)", New: "x++"}
	got, err = f.Apply("package a\n\nfunc f() {\n\tx +=\n\t\tg( // why\n\t\t\t1,\n\t\t\t2,\n\t\t)\n}\n")
	assert.NilError(t, err)
	assert.Equal(t, got, "package a\n\nfunc f() {\n\tx++\n}\n")
}
