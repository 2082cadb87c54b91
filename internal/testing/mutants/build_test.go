package mutants

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"go/parser"
	"go/token"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"gotest.tools/v3/assert"
)

// A build has many faults planted together, of which each run of a test binary puts one in force. Building each fault
// by itself takes longer than the tests that catch it.
type build struct {
	overlay  string // the file for the go command
	folder   string
	mu       sync.Mutex
	replace  map[string]string                 // by file: what stands in its place
	packages []string                          // those with faults
	binaries map[string]func() (string, error) // by package: the test binary, built once
	without  map[string]func() error           // by package, tests and scale: they pass without a fault, found once
}

// newBuild plants the faults together, and returns those that have to be planted alone.
func newBuild(t *testing.T, faults []Numbered) (b *build, alone []Numbered) {
	t.Helper()
	for {
		b, left := plantBuild(t, faults)
		alone = append(alone, left...)
		broken := b.uncompiled(t)
		if len(broken) == 0 {
			return b, alone
		}
		faults = slices.DeleteFunc(slices.Clone(faults), func(f Numbered) bool {
			if broken[f.Number] {
				alone = append(alone, f)
			}
			return broken[f.Number]
		})
	}
}

func plantBuild(t *testing.T, faults []Numbered) (b *build, alone []Numbered) {
	t.Helper()
	b = &build{folder: t.TempDir(), replace: map[string]string{}, binaries: map[string]func() (string, error){},
		without: map[string]func() error{}}
	byFile := map[string][]Numbered{}
	for _, f := range faults {
		byFile[f.File] = append(byFile[f.File], f)
	}
	for file, list := range byFile {
		path, err := filepath.Abs(filepath.Join(root, file))
		assert.NilError(t, err)
		source, err := os.ReadFile(path)
		assert.NilError(t, err)
		text, left, err := PlantTogether(string(source), list)
		assert.NilError(t, err)
		alone = append(alone, left...)
		parsed, err := parser.ParseFile(token.NewFileSet(), file, text, parser.SkipObjectResolution)
		assert.NilError(t, err, text)
		b.add(t, path, text)
		b.add(t, filepath.Join(filepath.Dir(path), "fault__.go"), Switch(parsed.Name.Name))
		b.packages = append(b.packages, "./"+filepath.Dir(file))
	}
	text, err := json.Marshal(map[string]any{"Replace": b.replace})
	assert.NilError(t, err)
	b.overlay = filepath.Join(b.folder, "overlay.json")
	assert.NilError(t, os.WriteFile(b.overlay, text, 0o600))
	return b, alone
}

// uncompiled returns the numbers of the faults with which the code does not compile.
func (b *build) uncompiled(t *testing.T) map[int]bool {
	t.Helper()
	slices.Sort(b.packages)
	args := append([]string{"build", "-overlay", b.overlay, "-gcflags=-e"}, slices.Compact(b.packages)...)
	c := exec.Command("go", args...)
	c.Dir = root
	out, err := c.CombinedOutput()
	if err == nil {
		return nil
	}
	broken := map[int]bool{}
	for _, place := range regexp.MustCompile(`(?m)^(\S+\.go):(\d+):`).FindAllStringSubmatch(string(out), -1) {
		path := place[1] // of the file in the overlay; go shortens it where it is near
		if !filepath.IsAbs(path) {
			path = filepath.Join(root, path)
		}
		text, err := os.ReadFile(path)
		assert.NilError(t, err, string(out))
		line, err := strconv.Atoi(place[2])
		assert.NilError(t, err)
		before := strings.Join(strings.Split(string(text), "\n")[:line], "\n")
		names := regexp.MustCompile(`(?m)^func .*__fault(\d+)[(\[]`).FindAllStringSubmatch(before, -1)
		assert.Assert(t, len(names) > 0, string(out))
		number, err := strconv.Atoi(names[len(names)-1][1])
		assert.NilError(t, err)
		broken[number] = true
	}
	assert.Assert(t, len(broken) > 0, "%s", out)
	return broken
}

// add puts a file in the overlay.
func (b *build) add(t *testing.T, path, text string) {
	t.Helper()
	if _, ok := b.replace[path]; ok {
		return // the switch of a package, once more
	}
	name := filepath.Join(b.folder, fmt.Sprintf("%d.go", len(b.replace)))
	assert.NilError(t, os.WriteFile(name, []byte(text), 0o600))
	b.replace[path] = name
}

// binary returns the test binary of a package. It is an error, with what the compiler says, if it cannot be built.
func (b *build) binary(in string) (string, error) {
	b.mu.Lock()
	once, ok := b.binaries[in]
	if !ok {
		once = sync.OnceValues(func() (string, error) {
			file := filepath.Join(b.folder, strings.ReplaceAll(strings.TrimPrefix(in, "./"), "/", "_")+".test")
			c := exec.Command("go", "test", "-c", "-overlay", b.overlay, "-vet=off", "-o", file, in)
			c.Dir = root
			out, err := c.CombinedOutput()
			if err != nil {
				return "", fmt.Errorf("%s: %w\n%s", in, err, out)
			}
			return file, nil
		})
		b.binaries[in] = once
	}
	b.mu.Unlock()
	return once()
}

// test runs tests of a package with one of the faults in force. tests: a pattern of names; empty: all of them. failed
// is the first test that fails; empty: none does. It is an error if the package cannot be built, or if the tests fail
// also without a fault, so that their failure says nothing.
func (b *build) test(t *testing.T, number int, in, tests, scale string, limit time.Duration) (failed string,
	err error) {
	t.Helper()
	key := fmt.Sprint(in, " ", tests, " ", scale)
	b.mu.Lock()
	once, ok := b.without[key]
	if !ok {
		once = sync.OnceValue(func() error {
			failed, err := b.run(t, 0, in, tests, scale, limit)
			if err == nil && failed != "" {
				err = fmt.Errorf("%s of %s fails without a fault, planted together", failed, in)
			}
			return err
		})
		b.without[key] = once
	}
	b.mu.Unlock()
	if err := once(); err != nil {
		return "", err
	}
	return b.run(t, number, in, tests, scale, limit)
}

// finish reports whether tests of a package pass within a time, without a fault.
func (b *build) finish(t *testing.T, in, tests, scale string, limit time.Duration) bool {
	t.Helper()
	failed, err := b.run(t, 0, in, tests, scale, limit)
	return err == nil && failed == ""
}

func (b *build) run(t *testing.T, number int, in, tests, scale string, limit time.Duration) (failed string, err error) {
	t.Helper()
	file, err := b.binary(in)
	if err != nil {
		return "", err
	}
	ctx, cancel := context.WithTimeout(t.Context(), 2*limit)
	defer cancel()
	c := exec.CommandContext(ctx, file, "-test.failfast", "-test.paniconexit0", "-test.timeout", limit.String(),
		"-test.run", tests)
	c.Dir = filepath.Join(root, in)
	c.Env = append(environment(scale), Variable+"="+strconv.Itoa(number))
	var out bytes.Buffer
	c.Stdout, c.Stderr = &out, &out
	if c.Run() == nil {
		return "", nil
	}
	return failedTest(out.String()), nil
}
