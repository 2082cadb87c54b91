package mutants

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"go/parser"
	"go/token"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"gotest.tools/v3/assert"
)

const root = "../.."

// variable is the environment variable that has the faults planted: "all", or a part of a title or of the name of a
// file.
const variable = "CANOPY_MUTANTS"

// limits are how long the tests of one package may take with a fault in the code, at each scale. A fault can make them wait for
// ever, and is caught then: the few random runs take a small part of the limit without one. All of them take long, so that a
// test that is stopped says nothing of the fault.
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
		for _, f := range list {
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
		t.Skipf("takes half an hour or more; %s=all, or a part of a title or of a file name, runs it (make mutants)", variable)
	}
	var chosen []Fault
	for _, f := range faults(t) {
		if wanted == "all" || strings.Contains(f.Title, wanted) || strings.Contains(f.File, wanted) {
			chosen = append(chosen, f)
		}
	}
	assert.Assert(t, len(chosen) > 0, "no title and no file name has %q in it", wanted)
	missed, broken := chosen, []Fault(nil)
	caught := readCaught(t)
	for _, at := range limits { // most faults show in few random runs, some in one of many
		var unbuilt []Fault
		missed, unbuilt = plantAll(t, missed, at.scale, at.limit, caught)
		broken = append(broken, unbuilt...)
		t.Logf("%s tests: %d of %d faults are not caught", at.scale, len(missed), len(chosen))
	}
	writeCaught(t, caught)
	for _, f := range missed {
		t.Errorf("no test catches: %s", f.Title)
	}
	for _, f := range broken {
		t.Errorf("does not compile: %s", f.Title)
	}
}

// plantAll tests a copy of the code with each of the faults in it, and returns those that no test catches. caught gets the
// packages and tests that catch the others.
func plantAll(t *testing.T, all []Fault, scale string, limit time.Duration, caught map[string]string) (missed, broken []Fault) {
	t.Helper()
	var lock sync.Mutex
	var workers sync.WaitGroup
	slots := make(chan struct{}, runtime.NumCPU()) // one fault is linked while the tests of another run
	for _, f := range all {
		slots <- struct{}{}
		workers.Go(func() {
			defer func() { <-slots }()
			start := time.Now()
			by, err := plant(t, f, scale, limit)
			took := time.Since(start).Round(time.Second)
			lock.Lock()
			defer lock.Unlock()
			switch {
			case err != nil:
				broken = append(broken, f)
				t.Logf("does not compile: %s: %v", f.Title, err)
			case by == "":
				missed = append(missed, f)
				t.Logf("not caught by %s tests in %v: %s (%s %s)", scale, took, f.Title, f.File, f.Function)
			default:
				t.Logf("caught in %v: %s: %s", took, f.Title, by)
				caught[f.Title] = by
			}
		})
	}
	workers.Wait()
	return missed, broken
}

// plant tests a copy of the code with a fault in it, with the random tests at a scale (package testscale). by is the first package
// and test that fail; empty: none does.
func plant(t *testing.T, f Fault, scale string, limit time.Duration) (by string, err error) {
	t.Helper()
	dir := t.TempDir()
	file, err := filepath.Abs(filepath.Join(root, f.File))
	assert.NilError(t, err)
	source, err := os.ReadFile(file)
	assert.NilError(t, err)
	text, err := f.Apply(string(source))
	if err != nil {
		return "", err
	}
	mutant, overlay := filepath.Join(dir, filepath.Base(file)), filepath.Join(dir, "overlay.json")
	assert.NilError(t, os.WriteFile(mutant, []byte(text), 0o600))
	replace, err := json.Marshal(map[string]map[string]string{"Replace": {file: mutant}})
	assert.NilError(t, err)
	assert.NilError(t, os.WriteFile(overlay, replace, 0o600))
	for _, run := range f.runs() {
		args := append([]string{"test", "-overlay", overlay, "-vet=off", "-count=1", "-failfast", "-timeout", limit.String()}, run...)
		out, err := command(t, scale, limit, args...)
		if err == nil {
			continue
		}
		if strings.Contains(out, "[build failed]") || strings.Contains(out, "[setup failed]") {
			return "", errors.New(firstLine(out))
		}
		if by := failedTest(out); by != timedOut || scale == limits[0].scale {
			return run[0] + " " + by, nil
		}
		t.Logf("%s: the %s tests of %s were stopped after %v", f.Title, scale, run[0], limit)
	}
	return "", nil
}

// runs are the packages and flags with which the tests are run: the test that caught the fault last, then all.
func (f Fault) runs() (runs [][]string) {
	if f.CaughtBy != "" {
		runs = append(runs, []string{f.CaughtIn, "-run", "^" + f.CaughtBy + "$"})
	}
	for _, p := range f.Packages {
		runs = append(runs, []string{p})
	}
	return runs
}

// command runs go with the random tests at a scale.
func command(t *testing.T, scale string, limit time.Duration, args ...string) (string, error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 2*limit)
	defer cancel()
	c := exec.CommandContext(ctx, "go", args...)
	c.Dir = root
	c.Env = append(os.Environ(), variable+"=", "CANOPY_TESTS="+scale)
	var out bytes.Buffer
	c.Stdout, c.Stderr = &out, &out
	err := c.Run()
	return out.String(), err
}

func firstLine(out string) string {
	lines := slices.DeleteFunc(strings.Split(out, "\n"), func(l string) bool { return l == "" || strings.HasPrefix(l, "#") })
	return append(lines, "")[0]
}

const timedOut = "time-out"

// failedTest is the name of the first test that failed in the output of go test.
func failedTest(out string) string {
	for _, line := range strings.Split(out, "\n") {
		if name, ok := strings.CutPrefix(strings.TrimSpace(line), "--- FAIL: "); ok {
			name, _, _ = strings.Cut(name, " ")
			return name
		}
	}
	if strings.Contains(out, "panic: test timed out") {
		return timedOut
	}
	if strings.Contains(out, "panic: ") {
		return "panic"
	}
	return fmt.Sprintf("failed: %s", firstLine(out))
}

func TestParse_Faults(t *testing.T) {
	const list = "# a comment\n\nfault: a is b\nin: pkg/a/a.go T.m\n- x := 1\n- y := 2\n+ x := 2\ntests: ./pkg/a ./pkg/b\n"
	got, err := Parse(list)
	assert.NilError(t, err)
	assert.DeepEqual(t, got, []Fault{{Title: "a is b", File: "pkg/a/a.go", Function: "T.m", Old: "x := 1\ny := 2\n", New: "x := 2\n",
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
	assert.Error(t, err, `a.go: the text "q" is 0 times in f`)
}
