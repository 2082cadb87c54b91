package lint

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"gotest.tools/v3/assert"
)

const (
	module = "github.com/canopy-scheduler/canopy"
	si     = "github.com/apache/yunikorn-scheduler-interface"
)

// floors lists the packages bottom up. A package may import only from floors below
// its own. Test files may look anywhere: what they import does not ship.
var floors = [][]string{
	{"pkg/resources", "pkg/security", "pkg/names", "pkg/persistent", "internal/invariants"},
	{"pkg/policies", "pkg/limits", "pkg/placement", "pkg/priorities", "pkg/budgets", "pkg/events"},
	{"pkg/configs"},
	{"pkg/objects"},
	{"pkg/preemption"},
	{"pkg/scheduler"},
	{"internal/cpushare"},
	{"internal/loop", "internal/offline", "internal/plan", "internal/trace", "internal/wire", "internal/history", "internal/effectlog", "internal/logging", "internal/testscale", "internal/coalesce", "internal/httpserver"},
	{"internal/reload"},
	{
		"pkg/rmproxy", "pkg/webservice", "pkg/metrics",
		"internal/configwatch", "internal/usergroup", "internal/sim", "internal/twin", "internal/storm", "internal/counts",
	},
	{"internal/bench"}, // drives all of these
	{"cmd/core"},
}

// pureBelow is the first floor with goroutines and a clock; floors[:pureBelow] are
// the pure core.
const pureBelow = 6

// impure are the standard packages, and all below them, that the core does without.
var impure = []string{
	"C", "context", "crypto/rand", "log", "math/rand", "net", "os", "plugin", "runtime", "sync", "syscall", "unsafe",
}

// exceptions are the modules outside the standard library that a core package may use.
var exceptions = map[string][]string{
	"pkg/configs": {"gopkg.in/yaml.v3"},
}

// doors are the modules that only the named packages may import, tests included.
// internal/sim and internal/bench speak the wire as clients.
var doors = map[string][]string{
	si: {"pkg/rmproxy", "internal/sim", "internal/bench"},

	"github.com/prometheus": {"pkg/metrics"},
}

// outside are directories of programs that use Canopy as strangers: they stand on
// no floor and reach nothing of the pure core.
const outside = "examples/"

// strangers must build without a single package of ours.
const strangers = "examples/shim-go/"

func floorOf(dir string) (floor int, known bool) {
	for i, names := range floors {
		if slices.Contains(names, dir) {
			return i, true
		}
	}
	return 0, false
}

func isPure(dir string) bool {
	f, known := floorOf(dir)
	return known && f < pureBelow
}

func isBelow(importPath, parent string) bool {
	return importPath == parent || strings.HasPrefix(importPath, parent+"/")
}

func isStandard(importPath string) bool {
	first, _, _ := strings.Cut(importPath, "/")
	return !strings.Contains(first, ".")
}

// importsGoDown refuses imports from the same floor or a higher one.
func importsGoDown(s source) []string {
	f, known := floorOf(s.dir())
	if !known || s.isTest() {
		return nil
	}
	var problems []string
	for _, spec := range s.file.Imports {
		imp := importPath(spec)
		if !isBelow(imp, module) {
			continue
		}
		g, known := floorOf(strings.TrimPrefix(imp, module+"/"))
		switch {
		case !known:
			problems = append(problems, s.problem(spec, "imports %s, which is on no floor", imp))
		case g >= f:
			problems = append(problems, s.problem(spec, "floor %d imports %s from floor %d", f, imp, g))
		}
	}
	return problems
}

// coreIsAlone refuses what the pure core must not know: the machine it runs on, and
// other people's modules.
func coreIsAlone(s source) []string {
	if !isPure(s.dir()) || s.isTest() {
		return nil
	}
	var problems []string
	for _, spec := range s.file.Imports {
		imp := importPath(spec)
		switch {
		case slices.ContainsFunc(impure, func(p string) bool { return isBelow(imp, p) }):
			problems = append(problems, s.problem(spec, "the pure core imports %s", imp))
		case isStandard(imp), isBelow(imp, module), slices.Contains(exceptions[s.dir()], imp):
		default:
			problems = append(problems, s.problem(spec, "the pure core imports %s, which is no standard package", imp))
		}
	}
	return problems
}

// doorsAreFew refuses imports of a module that only its doors may know.
func doorsAreFew(s source) []string {
	var problems []string
	for _, spec := range s.file.Imports {
		for behind, allowed := range doors {
			if isBelow(importPath(spec), behind) && !slices.Contains(allowed, s.dir()) {
				problems = append(problems, s.problem(spec, "only %s may import %s", strings.Join(allowed, ", "), behind))
			}
		}
	}
	return problems
}

// examplesStandOutside refuses examples that reach into the core, or that use a
// package of ours although they should show how to do without.
func examplesStandOutside(s source) []string {
	if !strings.HasPrefix(s.path, outside) {
		return nil
	}
	var problems []string
	for _, spec := range s.file.Imports {
		imp := importPath(spec)
		switch {
		case !isBelow(imp, module):
		case strings.HasPrefix(s.path, strangers):
			problems = append(problems, s.problem(spec, "a stranger imports %s", imp))
		case isPure(strings.TrimPrefix(imp, module+"/")):
			problems = append(problems, s.problem(spec, "an example imports %s from the pure core", imp))
		}
	}
	return problems
}

// homeless are the package directories that are on no floor and need none.
func homeless(dirs []string) []string {
	var problems []string
	for _, dir := range dirs {
		_, known := floorOf(dir)
		if !known && dir != "internal/lint" && !strings.HasPrefix(dir, outside) {
			problems = append(problems, fmt.Sprintf("%s is on no floor: add it to floors", dir))
		}
	}
	return problems
}

func TestEveryPackageIsOnAFloor(t *testing.T) {
	for _, p := range homeless(slices.Sorted(maps.Keys(packages(t)))) {
		t.Error(p)
	}
	got := homeless([]string{"pkg/objects", "internal/lint", "examples/embed", "pkg/util", "."})
	assert.DeepEqual(t, got, []string{
		"pkg/util is on no floor: add it to floors",
		". is on no floor: add it to floors",
	})
}

func TestNoPackageIsOnTwoFloors(t *testing.T) {
	seen := map[string]int{}
	for _, names := range floors {
		for _, name := range names {
			seen[name]++
			assert.Equal(t, seen[name], 1, name)
		}
	}
}

func TestImportsGoDown(t *testing.T) {
	keep(t, importsGoDown)
	show(t, importsGoDown, []snippet{
		{
			name: "a lower floor may be imported",
			text: "package objects\nimport \"" + module + "/pkg/resources\"",
		}, {
			name: "a higher floor may not",
			text: "package objects\nimport \"" + module + "/pkg/scheduler\"",
			want: []string{"floor 3 imports " + module + "/pkg/scheduler from floor 5"},
		}, {
			name: "a neighbour on the same floor may not either, under whatever name",
			path: "pkg/limits/a.go",
			text: "package limits\nimport p \"" + module + "/pkg/policies\"",
			want: []string{"floor 1 imports " + module + "/pkg/policies from floor 1"},
		}, {
			name: "a package on no floor may not",
			text: "package objects\nimport _ \"" + module + "/pkg/util\"",
			want: []string{"imports " + module + "/pkg/util, which is on no floor"},
		}, {
			name: "a test may look up",
			path: "pkg/objects/a_test.go",
			text: "package objects_test\nimport \"" + module + "/pkg/scheduler\"",
		},
	})
}

func TestCoreIsAlone(t *testing.T) {
	keep(t, coreIsAlone)
	show(t, coreIsAlone, []snippet{
		{
			name: "the standard library is welcome",
			text: "package objects\nimport (\n\"cmp\"\n\"slices\"\n\"math/bits\"\n\"time\"\n)",
		}, {
			name: "locks, files, nets, logs, dice and contexts are not",
			text: "package objects\nimport (\n\"sync\"\n\"sync/atomic\"\n\"os/exec\"\n\"net/url\"\n\"log/slog\"\n" +
				"\"math/rand/v2\"\n\"context\"\n\"runtime/debug\"\n\"unsafe\"\n)",
			want: []string{
				"the pure core imports sync", "the pure core imports sync/atomic", "the pure core imports os/exec",
				"the pure core imports net/url", "the pure core imports log/slog", "the pure core imports math/rand/v2",
				"the pure core imports context", "the pure core imports runtime/debug", "the pure core imports unsafe",
			},
		}, {
			name: "configs may read YAML",
			path: "pkg/configs/a.go",
			text: "package configs\nimport \"gopkg.in/yaml.v3\"",
		}, {
			name: "nobody else in the core may",
			text: "package objects\nimport \"gopkg.in/yaml.v3\"",
			want: []string{"the pure core imports gopkg.in/yaml.v3, which is no standard package"},
		}, {
			name: "above the core everything goes",
			path: "internal/loop/a.go",
			text: "package loop\nimport (\n\"sync\"\n\"go.uber.org/zap\"\n)",
		},
	})
}

func TestDoorsAreFew(t *testing.T) {
	keep(t, doorsAreFew)
	show(t, doorsAreFew, []snippet{
		{
			name: "the RM's door speaks the interface",
			path: "pkg/rmproxy/a.go",
			text: "package rmproxy\nimport \"" + si + "/lib/go/si\"",
		}, {
			name: "nobody else does",
			path: "pkg/webservice/a.go",
			text: "package webservice\nimport \"" + si + "/lib/go/si\"",
			want: []string{"only pkg/rmproxy, internal/sim, internal/bench may import " + si},
		}, {
			name: "nor do their tests",
			path: "internal/loop/a_test.go",
			text: "package loop\nimport \"" + si + "/lib/go/api\"",
			want: []string{"only pkg/rmproxy, internal/sim, internal/bench may import " + si},
		},
	})
}

func TestExamplesStandOutside(t *testing.T) {
	all, err := everything()
	assert.NilError(t, err)
	assert.Assert(t, len(all) >= fewestFiles)
	for _, s := range all { // also those in modules of their own
		for _, p := range examplesStandOutside(s) {
			t.Error(p)
		}
	}
	show(t, examplesStandOutside, []snippet{
		{
			name: "the example shim uses nothing of ours",
			path: "examples/shim-go/main.go",
			text: "package main\nimport \"" + module + "/pkg/rmproxy\"",
			want: []string{"a stranger imports " + module + "/pkg/rmproxy"},
		}, {
			name: "another example may use a door",
			path: "examples/embed/main.go",
			text: "package main\nimport \"" + module + "/pkg/rmproxy\"",
		}, {
			name: "another example may not use the core",
			path: "examples/embed/main.go",
			text: "package main\nimport \"" + module + "/pkg/objects\"",
			want: []string{"an example imports " + module + "/pkg/objects from the pure core"},
		},
	})
}
