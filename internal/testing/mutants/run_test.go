package mutants

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
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

// A run finds out which faults are caught.
type run struct {
	build *build

	mu     sync.Mutex        // guards the fields below
	alone  map[string]bool   // the titles of the faults that are not in build, or of which build says nothing
	caught map[string]string // by title: the package and the test that catch the fault
	broken []Fault           // those with which the code does not compile
}

// plantAll tests the code with each of the faults, and returns those that no test catches.
func (r *run) plantAll(t *testing.T, all []Numbered, scale string, limit time.Duration) (missed []Numbered) {
	t.Helper()
	var workers sync.WaitGroup
	slots := make(chan struct{}, runtime.NumCPU())
	for i, f := range all {
		slots <- struct{}{}
		workers.Go(func() {
			defer func() { <-slots }()
			start := time.Now()
			by, err := r.plant(t, f, scale, limit)
			took := time.Since(start).Round(time.Second / 10)
			r.mu.Lock()
			defer r.mu.Unlock()
			switch {
			case err != nil:
				r.broken = append(r.broken, f.Fault)
				t.Logf("%d of %d: does not compile: %s: %v", i+1, len(all), f.Title, err)
			case by == "":
				missed = append(missed, f)
				t.Logf("%d of %d: not caught by %s tests in %v: %s (%s %s)", i+1, len(all), scale, took, f.Title, f.File,
					f.Function)
			default:
				t.Logf("%d of %d: caught in %v: %s: %s", i+1, len(all), took, f.Title, by)
				r.caught[f.Title] = by
			}
		})
	}
	workers.Wait()
	return missed
}

// plant tests the code with a fault in it, with the random tests at a scale (package testscale). by is the first
// package and test that fail; empty: none does.
func (r *run) plant(t *testing.T, f Numbered, scale string, limit time.Duration) (by string, err error) {
	t.Helper()
	r.mu.Lock()
	alone := r.alone[f.Title]
	r.mu.Unlock()
	if !alone {
		by, err := r.firstFailure(t, f.Fault, scale, limit, func(in, tests string) (string, error) {
			return r.build.test(t, f.Number, in, tests, scale, limit)
		})
		if err == nil {
			return by, nil
		}
		t.Logf("%s is planted alone: %v", f.Title, err)
		r.mu.Lock()
		r.alone[f.Title] = true
		r.mu.Unlock()
	}
	return r.plantAlone(t, f.Fault, scale, limit)
}

// firstFailure runs the test that caught the fault last, then all of its packages, until one fails. Tests that are
// stopped have caught the fault if those of all random runs are not asked for, and the same tests without it take less
// than half of the limit now: the machine may have other work.
func (r *run) firstFailure(t *testing.T, f Fault, scale string, limit time.Duration,
	test func(in, tests string) (failed string, err error)) (by string, err error) {
	t.Helper()
	for _, run := range f.runs() {
		failed, err := test(run[0], run[1])
		if err != nil {
			return "", err
		}
		if failed == timedOut && (scale != limits[0].scale || !r.build.finish(t, run[0], run[1], scale, limit/2)) {
			t.Logf("%s: the %s tests of %s were stopped", f.Title, scale, run[0])
			continue
		}
		if failed != "" {
			return run[0] + " " + failed, nil
		}
	}
	return "", nil
}

// runs returns the packages and patterns of tests that are run: the test that caught the fault last, then all.
func (f Fault) runs() (runs [][2]string) {
	if f.CaughtBy != "" {
		runs = append(runs, [2]string{f.CaughtIn, "^" + f.CaughtBy + "$"})
	}
	for _, p := range f.Packages {
		runs = append(runs, [2]string{p, ""})
	}
	return runs
}

// plantAlone tests a copy of the code with a fault in it and no other.
func (r *run) plantAlone(t *testing.T, f Fault, scale string, limit time.Duration) (by string, err error) {
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
	return r.firstFailure(t, f, scale, limit, func(in, tests string) (string, error) {
		ctx, cancel := context.WithTimeout(t.Context(), 2*limit)
		defer cancel()
		c := exec.CommandContext(ctx, "go", "test", "-overlay", overlay, "-vet=off", "-count=1", "-failfast", "-timeout",
			limit.String(), "-run", tests, in)
		c.Dir, c.Env = root, environment(scale)
		var out bytes.Buffer
		c.Stdout, c.Stderr = &out, &out
		if c.Run() == nil {
			return "", nil
		}
		if text := out.String(); strings.Contains(text, "[build failed]") || strings.Contains(text, "[setup failed]") {
			return "", errors.New(firstLine(text))
		}
		return failedTest(out.String()), nil
	})
}

// environment is that of the tests, with the random ones at a scale.
func environment(scale string) []string {
	return append(os.Environ(), variable+"=", "CANOPY_TESTS="+scale)
}

func firstLine(out string) string {
	lines := slices.DeleteFunc(strings.Split(out, "\n"),
		func(l string) bool { return l == "" || strings.HasPrefix(l, "#") })
	return append(lines, "")[0]
}

const timedOut = "time-out"

// failedTest returns the name of the first test that failed in the output of go test.
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
