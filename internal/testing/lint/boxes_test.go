package lint

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"gotest.tools/v3/assert"
)

const (
	module = "github.com/canopy-scheduler/canopy"
	si     = "github.com/apache/yunikorn-scheduler-interface"
)

// A box is a group of packages with one rule. A package imports from its own box and those before it.
type box struct {
	name string
	// no clock, lock, goroutine, file or network: only packages of the standard library that are the same everywhere
	pure  bool
	trees []string // directories, with all below them
}

// boxes are in the order of imports. What the product does not run comes last: the product never imports the laboratory
// or testing. Test files may import anything.
var boxes = []box{
	{name: "values", pure: true, trees: []string{
		"pkg/affinity", "pkg/budgets", "pkg/configs", "pkg/constraints", "pkg/decay", "pkg/events", "pkg/feasibility",
		"pkg/gangs",
		"pkg/lifecycle", "pkg/limits", "pkg/names", "pkg/persistent", "pkg/placement", "pkg/policies", "pkg/priorities",
		"pkg/quota",
		"pkg/refusals", "pkg/registry", "pkg/resources", "pkg/security", "pkg/topology",
	}},
	{name: "core", pure: true,
		trees: []string{"pkg/ageing", "pkg/backfill", "pkg/clusterquota", "pkg/explain", "pkg/fairness", "pkg/gangscheduling",
			"pkg/nodeselection", "pkg/objects", "pkg/preemption", "pkg/reservation", "pkg/runtimes", "pkg/scheduler"}},
	{name: "process", trees: []string{
		"internal/ha", "internal/server", "pkg/canopy", "pkg/hints", "pkg/metrics", "pkg/rmproxy", "pkg/webservice",
	}},
	{name: "program", trees: []string{"cmd/core", "internal/cli"}},
	{name: "testing", trees: []string{"internal/testing"}},
	{name: "laboratory", trees: []string{"cmd/lab", "internal/lab"}},
}

// impure are the standard packages, with all below them, that the core must not import.
var impure = []string{
	"C", "context", "crypto/rand", "log", "math/rand", "net", "os", "plugin", "runtime", "sync", "syscall", "unsafe",
}

// extraImports are the modules outside the standard library that a pure package may import.
var extraImports = map[string][]string{
	"pkg/configs/queuesyaml": {"gopkg.in/yaml.v3"},
	"pkg/configs/validation": {"gopkg.in/yaml.v3"},
}

// restrictedImports are the modules that only the named packages may import, tests included.
// pkg/canopy hands the in-process API out; internal/cli/demo, internal/lab/sim, internal/lab/bench,
// internal/testing/fakerm, internal/lab/conformance, and internal/testing/chaos are clients of the scheduler interface.
var restrictedImports = map[string][]string{
	si: {"pkg/rmproxy", "pkg/canopy", "internal/cli/demo", "internal/lab/sim", "internal/lab/bench",
		"internal/testing/fakerm", "internal/lab/conformance", "internal/testing/chaos"},

	"go.etcd.io/etcd":       {"internal/ha/election/etcd", "internal/ha/etcdstore", "internal/testing/storetest"},
	"github.com/prometheus": {"pkg/metrics", "pkg/canopy"}, // the latter names its types for embedding programs
}

// examplesDir are directories of programs that use Canopy from outside: they are in no box and do not
// import the core.
const examplesDir = "examples/"

// Of this repository, standaloneExamples import the messages of hints only, which another scheduler may serve as well.
const (
	standaloneExamples = "examples/shim-"
	messagesOfHints    = module + "/pkg/hints/canopyv1"
)

// boxOf returns the index in boxes of a directory.
func boxOf(dir string) (i int, known bool) {
	for i, b := range boxes {
		if slices.ContainsFunc(b.trees, func(tree string) bool { return isBelow(dir, tree) }) {
			return i, true
		}
	}
	return 0, false
}

func isPure(dir string) bool {
	i, known := boxOf(dir)
	return known && boxes[i].pure
}

func isBelow(importPath, parent string) bool {
	return importPath == parent || strings.HasPrefix(importPath, parent+"/")
}

func isStandard(importPath string) bool {
	first, _, _ := strings.Cut(importPath, "/")
	return !strings.Contains(first, ".")
}

// importsFollowBoxes refuses imports from a later box.
func importsFollowBoxes(s source) []string {
	from, known := boxOf(s.dir())
	if !known || s.isTest() {
		return nil
	}
	var problems []string
	for _, spec := range s.file.Imports {
		imp := importPath(spec)
		if !isBelow(imp, module) {
			continue
		}
		to, known := boxOf(strings.TrimPrefix(imp, module+"/"))
		switch {
		case !known:
			problems = append(problems, s.problem(spec, "imports %s, which is in no box", imp))
		case to > from:
			problems = append(problems,
				s.problem(spec, "the box %s imports %s from the box %s", boxes[from].name, imp, boxes[to].name))
		}
	}
	return problems
}

// coreImportsOnlyStandard refuses imports of pure packages that depend on the machine, and of other modules.
func coreImportsOnlyStandard(s source) []string {
	if !isPure(s.dir()) || s.isTest() {
		return nil
	}
	var problems []string
	for _, spec := range s.file.Imports {
		imp := importPath(spec)
		switch {
		case slices.ContainsFunc(impure, func(p string) bool { return isBelow(imp, p) }):
			problems = append(problems, s.problem(spec, "the pure core imports %s", imp))
		case isStandard(imp), isBelow(imp, module), slices.Contains(extraImports[s.dir()], imp):
		default:
			problems = append(problems, s.problem(spec, "the pure core imports %s, which is no standard package", imp))
		}
	}
	return problems
}

// restrictedImportsAreKept refuses restricted imports in other packages.
func restrictedImportsAreKept(s source) []string {
	var problems []string
	for _, spec := range s.file.Imports {
		for restricted, allowed := range restrictedImports {
			if isBelow(importPath(spec), restricted) && !slices.Contains(allowed, s.dir()) {
				problems = append(problems, s.problem(spec, "only %s may import %s", strings.Join(allowed, ", "), restricted))
			}
		}
	}
	return problems
}

// examplesAvoidCore refuses examples that import the core, and in standaloneExamples any package of this repository
// except messagesOfHints.
func examplesAvoidCore(s source) []string {
	if !strings.HasPrefix(s.path, examplesDir) {
		return nil
	}
	var problems []string
	for _, spec := range s.file.Imports {
		imp := importPath(spec)
		switch {
		case !isBelow(imp, module), imp == messagesOfHints:
		case strings.HasPrefix(s.path, standaloneExamples):
			problems = append(problems, s.problem(spec, "a standalone example imports %s", imp))
		case isPure(strings.TrimPrefix(imp, module+"/")):
			problems = append(problems, s.problem(spec, "an example imports %s from the pure core", imp))
		}
	}
	return problems
}

// packagesWithoutBox returns the package directories that are in no box and need none.
func packagesWithoutBox(dirs []string) []string {
	var problems []string
	for _, dir := range dirs {
		if _, known := boxOf(dir); !known && !strings.HasPrefix(dir, examplesDir) {
			problems = append(problems, fmt.Sprintf("%s is in no box: add it to boxes", dir))
		}
	}
	return problems
}

func TestBoxes_CoverEveryPackage(t *testing.T) {
	for _, p := range packagesWithoutBox(slices.Sorted(maps.Keys(packages(t)))) {
		t.Error(p)
	}
	got := packagesWithoutBox([]string{"pkg/objects", "internal/testing/lint", "examples/embed", "pkg/util", "pkg/quotas",
		"."})
	assert.DeepEqual(t, got, []string{
		"pkg/util is in no box: add it to boxes",
		"pkg/quotas is in no box: add it to boxes",
		". is in no box: add it to boxes",
	})
}

func TestImports_FollowBoxes(t *testing.T) {
	checkModule(t, importsFollowBoxes)
	checkSnippets(t, importsFollowBoxes, []snippet{
		{
			name: "an earlier box may be imported",
			text: "package objects\nimport \"" + module + "/pkg/resources\"",
		}, {
			name: "so may the own box",
			path: "pkg/scheduler/a.go",
			text: "package scheduler\nimport \"" + module + "/pkg/objects\"",
		}, {
			name: "a later box may not, under whatever name",
			path: "pkg/limits/a.go",
			text: "package limits\nimport p \"" + module + "/pkg/objects\"",
			want: []string{"the box values imports " + module + "/pkg/objects from the box core"},
		}, {
			name: "the product does not import the laboratory",
			path: "internal/server/loop/a.go",
			text: "package loop\nimport \"" + module + "/internal/lab/bench\"",
			want: []string{"the box process imports " + module + "/internal/lab/bench from the box laboratory"},
		}, {
			name: "a package in no box may not be imported",
			text: "package objects\nimport _ \"" + module + "/pkg/util\"",
			want: []string{"imports " + module + "/pkg/util, which is in no box"},
		}, {
			name: "a test may import anything",
			path: "pkg/objects/a_test.go",
			text: "package objects_test\nimport \"" + module + "/pkg/scheduler\"",
		},
	})
}

func TestCore_ImportsOnlyStandardPackages(t *testing.T) {
	checkModule(t, coreImportsOnlyStandard)
	checkSnippets(t, coreImportsOnlyStandard, []snippet{
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
			name: "the reader of queues.yaml may import the YAML parser",
			path: "pkg/configs/queuesyaml/a.go",
			text: "package queuesyaml\nimport \"gopkg.in/yaml.v3\"",
		}, {
			name: "but nothing that depends on the machine",
			path: "pkg/configs/queuesyaml/a.go",
			text: "package queuesyaml\nimport \"os\"",
			want: []string{"the pure core imports os"},
		}, {
			name: "the typed settings may not import the YAML parser",
			path: "pkg/configs/a.go",
			text: "package configs\nimport \"gopkg.in/yaml.v3\"",
			want: []string{"the pure core imports gopkg.in/yaml.v3, which is no standard package"},
		}, {
			name: "above the core everything goes",
			path: "internal/server/loop/a.go",
			text: "package loop\nimport (\n\"sync\"\n\"go.uber.org/zap\"\n)",
		},
	})
}

func TestImports_RestrictedModules(t *testing.T) {
	checkModule(t, restrictedImportsAreKept)
	checkSnippets(t, restrictedImportsAreKept, []snippet{
		{
			name: "the RM's door speaks the interface",
			path: "pkg/rmproxy/a.go",
			text: "package rmproxy\nimport \"" + si + "/lib/go/si\"",
		}, {
			name: "nobody else does",
			path: "pkg/webservice/a.go",
			text: "package webservice\nimport \"" + si + "/lib/go/si\"",
			want: []string{"only pkg/rmproxy, pkg/canopy, internal/cli/demo, internal/lab/sim, internal/lab/bench, " +
				"internal/testing/fakerm, internal/lab/conformance, internal/testing/chaos may import " + si},
		}, {
			name: "nor do their tests",
			path: "internal/server/loop/a_test.go",
			text: "package loop\nimport \"" + si + "/lib/go/api\"",
			want: []string{"only pkg/rmproxy, pkg/canopy, internal/cli/demo, internal/lab/sim, internal/lab/bench, " +
				"internal/testing/fakerm, internal/lab/conformance, internal/testing/chaos may import " + si},
		},
	})
}

func TestExamples_AvoidCore(t *testing.T) {
	all, err := allSources()
	assert.NilError(t, err)
	assert.Assert(t, len(all) >= minFiles)
	for _, s := range all { // also those in modules of their own
		for _, p := range examplesAvoidCore(s) {
			t.Error(p)
		}
	}
	checkSnippets(t, examplesAvoidCore, []snippet{
		{
			name: "the example shim uses nothing of ours",
			path: "examples/shim-go/main.go",
			text: "package main\nimport \"" + module + "/pkg/rmproxy\"",
			want: []string{"a standalone example imports " + module + "/pkg/rmproxy"},
		}, {
			name: "but the messages of hints",
			path: "examples/shim-go/main.go",
			text: "package main\nimport \"" + messagesOfHints + "\"",
		}, {
			name: "not the server of hints",
			path: "examples/shim-go/main.go",
			text: "package main\nimport \"" + module + "/pkg/hints\"",
			want: []string{"a standalone example imports " + module + "/pkg/hints"},
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

// make race runs the tests of every package that may have goroutines.
func TestRace_HasEveryBoxWithGoroutines(t *testing.T) {
	makefile, err := os.ReadFile(filepath.Join(root, "Makefile"))
	assert.NilError(t, err)
	_, list, _ := strings.Cut(string(makefile), "\nRACE := ")
	list, _, _ = strings.Cut(list, "\n\n")
	for _, b := range boxes {
		for _, tree := range b.trees {
			parent := tree[:strings.LastIndexByte(tree, '/')]
			assert.Check(t, b.pure || b.name == "testing" || strings.Contains(list, "./"+tree+"/...") ||
				strings.Contains(list, "./"+parent+"/..."), "%s is not in RACE of the Makefile", tree)
		}
	}
}
