package mutants

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"gotest.tools/v3/assert"
)

// Every kind of function takes faults together with others: with and without names, results, a receiver, types as
// parameters.
const shapes = `package main

import "fmt"

type pair[K any] struct{ a, b K }

func (p *pair[K]) first(_ int, _ ...string) K { return p.a }

func (pair[_]) nothing(string) { fmt.Print("n") }

func sum[T int | float64](x T, more ...T) (total T) {
	total = x
	for _, m := range more {
		total += m
	}
	return
}

func count(n int) int {
	if n == 0 {
		return 0
	}
	return 1 + count(n-1)
}

func main() {
	p := &pair[int]{1, 2}
	p.nothing("x")
	fmt.Println(p.first(7, "a", "b"), sum(1, 2, 3), count(3))
}
`

var shapeFaults = []Fault{
	{Function: "pair.first", Old: "p.a", New: "p.b"},
	{Function: "pair.nothing", Old: `"n"`, New: `"m"`},
	{Function: "sum", Old: "+=", New: "-="},
	{Function: "sum", Old: "total = x", New: ""},
	{Function: "count", Old: "1 +", New: "2 +"},
	{Function: "count", Old: "n int", New: "n int64"}, // has to be alone
}

func TestPlantTogether_OneIsInForce(t *testing.T) {
	var numbered []Numbered
	for i, f := range shapeFaults {
		f.File = "main.go"
		numbered = append(numbered, Numbered{f, i + 1})
	}
	text, alone, err := PlantTogether(shapes, numbered)
	assert.NilError(t, err)
	assert.Equal(t, len(alone), 1)
	assert.Equal(t, alone[0].Number, 6)
	dir := t.TempDir()
	for name, text := range map[string]string{"main.go": text, "fault.go": Switch("main"),
		"go.mod": "module shapes\n\ngo 1.24\n"} {
		assert.NilError(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600))
	}
	build := exec.Command("go", "build", "-o", "shapes", ".")
	build.Dir = dir
	out, err := build.CombinedOutput()
	assert.NilError(t, err, "%s\n%s", out, text)
	for number, want := range map[string]string{"": "n1 6 3", "0": "n1 6 3", "1": "n2 6 3", "2": "m1 6 3", "3": "n1 -4 3",
		"4": "n1 5 3", "5": "n1 6 6", "6": "n1 6 3"} {
		c := exec.Command(filepath.Join(dir, "shapes"))
		c.Env = append(os.Environ(), Variable+"="+number)
		out, err := c.CombinedOutput()
		assert.NilError(t, err, string(out))
		assert.Equal(t, strings.TrimSpace(string(out)), want, "fault %s", number)
	}
}

// A fault that cannot be applied is named, and one that does not compile is left out of the build.
func TestPlantTogether_NamesFaultsThatCannotBeApplied(t *testing.T) {
	_, _, err := PlantTogether(shapes, []Numbered{{Fault{File: "main.go", Function: "count", Old: "absent"}, 1}})
	assert.Error(t, err, `main.go: the code "absent" is 0 times in count`)

	all := faults(t)
	one, two := all[0], all[1]
	two.File, two.Function, two.Old, two.New = one.File, one.Function, one.Old, "absent()"
	b, alone := newBuild(t, []Numbered{{two, 1}, {one, 2}})
	assert.Equal(t, len(alone), 1)
	assert.Equal(t, alone[0].Number, 1)
	assert.Assert(t, len(b.uncompiled(t)) == 0)
}
