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

// layers lists the packages bottom up. A package may import only from layers below its own. Test files
// may import anything.
var layers = [][]string{
	{"pkg/resources", "pkg/security", "pkg/names", "pkg/persistent", "pkg/registry", "pkg/constraints"},
	{"pkg/policies", "pkg/limits", "pkg/placement", "pkg/priorities", "pkg/budgets", "pkg/events", "pkg/feasibility",
		"pkg/gangs", "pkg/topology", "pkg/refusals"},
	{"pkg/affinity", "pkg/configs", "pkg/lifecycle", "pkg/quota"},
	{"pkg/objects"},
	{"pkg/preemption/victim", "pkg/explain"},
	{"pkg/preemption", "pkg/reservation"},
	{"pkg/scheduler", "pkg/configs/validation", "pkg/configs/diff"},
	{"internal/answer", "internal/cpushare", "internal/durations", "internal/objectgraph", "pkg/configs/queuesyaml"},
	{"internal/loop", "internal/offline", "internal/plan", "internal/wire", "internal/history", "internal/totals",
		"internal/effectlog", "internal/logging", "internal/testscale", "internal/auth", "internal/testcert",
		"internal/coalesce", "internal/httpserver", "internal/measure", "internal/fakerm", "internal/conformance",
		"internal/randomrun", "internal/serverprocess", "internal/usage", "internal/forecast", "internal/recording",
		"internal/election"},
	{"internal/recording/playback", "internal/reload", "internal/bench/workload", "internal/operators", "internal/webui",
		"internal/election/etcd", "internal/election/memstore"},
	{"internal/engine", "internal/etcdstore", "internal/etcdstore/storetest", "internal/whatif",
		"internal/recording/excerpt", "pkg/webservice/dao"},
	{
		"pkg/rmproxy", "pkg/webservice", "pkg/metrics",
		"internal/configwatch", "internal/usergroup", "internal/twin", "internal/chaos", "internal/complexity",
		"internal/mutants", "internal/whatif/tune",
	},
	{"pkg/canopy", "internal/sim", "internal/bench/report"},
	{"internal/bench"}, // drives all of these
	{"cmd/core"},
}

// firstImpureLayer is the first layer with goroutines and a clock; the layers below are the pure core.
const firstImpureLayer = 7

// impure are the standard packages, with all below them, that the core must not import.
var impure = []string{
	"C", "context", "crypto/rand", "log", "math/rand", "net", "os", "plugin", "runtime", "sync", "syscall", "unsafe",
}

// deterministic are packages above the core that, like the core, have no clock, goroutine or channel and
// import nothing that depends on the machine, with the modules outside the standard library that
// they may import.
var deterministic = map[string][]string{
	"pkg/configs/queuesyaml": {"gopkg.in/yaml.v3"},
}

// restrictedImports are the modules that only the named packages may import, tests included.
// pkg/canopy hands the in-process API out; internal/sim, internal/bench, internal/fakerm, internal/conformance, and
// internal/chaos are clients of the scheduler interface.
var restrictedImports = map[string][]string{
	si: {"pkg/rmproxy", "pkg/canopy", "internal/sim", "internal/bench", "internal/fakerm", "internal/conformance",
		"internal/chaos"},

	"go.etcd.io/etcd":       {"internal/election/etcd", "internal/etcdstore", "internal/etcdstore/storetest"},
	"github.com/prometheus": {"pkg/metrics", "pkg/canopy"}, // the latter names its types for embedding programs
}

// examplesDir are directories of programs that use Canopy from outside: they are in no layer and do not
// import the core.
const examplesDir = "examples/"

// standaloneExamples must build without packages of this repository.
const standaloneExamples = "examples/shim-"

func layerOf(dir string) (layer int, known bool) {
	for i, names := range layers {
		if slices.Contains(names, dir) {
			return i, true
		}
	}
	return 0, false
}

func isPure(dir string) bool {
	f, known := layerOf(dir)
	return known && f < firstImpureLayer
}

// isDeterministic reports whether a package is in the core or one of deterministic.
func isDeterministic(dir string) bool {
	_, listed := deterministic[dir]
	return listed || isPure(dir)
}

func isBelow(importPath, parent string) bool {
	return importPath == parent || strings.HasPrefix(importPath, parent+"/")
}

func isStandard(importPath string) bool {
	first, _, _ := strings.Cut(importPath, "/")
	return !strings.Contains(first, ".")
}

// importsFollowLayers refuses imports from the same layer or a higher one.
func importsFollowLayers(s source) []string {
	f, known := layerOf(s.dir())
	if !known || s.isTest() {
		return nil
	}
	var problems []string
	for _, spec := range s.file.Imports {
		imp := importPath(spec)
		if !isBelow(imp, module) {
			continue
		}
		g, known := layerOf(strings.TrimPrefix(imp, module+"/"))
		switch {
		case !known:
			problems = append(problems, s.problem(spec, "imports %s, which is in no layer", imp))
		case g >= f:
			problems = append(problems, s.problem(spec, "layer %d imports %s from layer %d", f, imp, g))
		}
	}
	return problems
}

// coreImportsOnlyStandard refuses imports of the core, and of the packages of deterministic, that depend
// on the machine, and of other modules.
func coreImportsOnlyStandard(s source) []string {
	if !isDeterministic(s.dir()) || s.isTest() {
		return nil
	}
	var problems []string
	for _, spec := range s.file.Imports {
		imp := importPath(spec)
		switch {
		case slices.ContainsFunc(impure, func(p string) bool { return isBelow(imp, p) }):
			problems = append(problems, s.problem(spec, "the pure core imports %s", imp))
		case isStandard(imp), isBelow(imp, module), slices.Contains(deterministic[s.dir()], imp):
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

// examplesAvoidCore refuses examples that import the core, and packages of this repository in
// standaloneExamples.
func examplesAvoidCore(s source) []string {
	if !strings.HasPrefix(s.path, examplesDir) {
		return nil
	}
	var problems []string
	for _, spec := range s.file.Imports {
		imp := importPath(spec)
		switch {
		case !isBelow(imp, module):
		case strings.HasPrefix(s.path, standaloneExamples):
			problems = append(problems, s.problem(spec, "a standalone example imports %s", imp))
		case isPure(strings.TrimPrefix(imp, module+"/")):
			problems = append(problems, s.problem(spec, "an example imports %s from the pure core", imp))
		}
	}
	return problems
}

// packagesWithoutLayer are the package directories that are in no layer and need none.
func packagesWithoutLayer(dirs []string) []string {
	var problems []string
	for _, dir := range dirs {
		_, known := layerOf(dir)
		if !known && dir != "internal/lint" && !strings.HasPrefix(dir, examplesDir) {
			problems = append(problems, fmt.Sprintf("%s is in no layer: add it to layers", dir))
		}
	}
	return problems
}

func TestLayers_CoverEveryPackage(t *testing.T) {
	for _, p := range packagesWithoutLayer(slices.Sorted(maps.Keys(packages(t)))) {
		t.Error(p)
	}
	got := packagesWithoutLayer([]string{"pkg/objects", "internal/lint", "examples/embed", "pkg/util", "."})
	assert.DeepEqual(t, got, []string{
		"pkg/util is in no layer: add it to layers",
		". is in no layer: add it to layers",
	})
}

func TestLayers_HaveNoDuplicates(t *testing.T) {
	seen := map[string]int{}
	for _, names := range layers {
		for _, name := range names {
			seen[name]++
			assert.Equal(t, seen[name], 1, name)
		}
	}
}

func TestImports_FollowLayers(t *testing.T) {
	checkModule(t, importsFollowLayers)
	checkSnippets(t, importsFollowLayers, []snippet{
		{
			name: "a lower layer may be imported",
			text: "package objects\nimport \"" + module + "/pkg/resources\"",
		}, {
			name: "a higher layer may not",
			text: "package objects\nimport \"" + module + "/pkg/scheduler\"",
			want: []string{"layer 3 imports " + module + "/pkg/scheduler from layer 6"},
		}, {
			name: "a neighbour in the same layer may not either, under whatever name",
			path: "pkg/limits/a.go",
			text: "package limits\nimport p \"" + module + "/pkg/policies\"",
			want: []string{"layer 1 imports " + module + "/pkg/policies from layer 1"},
		}, {
			name: "a package in no layer may not",
			text: "package objects\nimport _ \"" + module + "/pkg/util\"",
			want: []string{"imports " + module + "/pkg/util, which is in no layer"},
		}, {
			name: "a test may look up",
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
			path: "internal/loop/a.go",
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
			want: []string{"only pkg/rmproxy, pkg/canopy, internal/sim, internal/bench, internal/fakerm, " +
				"internal/conformance, internal/chaos may import " + si},
		}, {
			name: "nor do their tests",
			path: "internal/loop/a_test.go",
			text: "package loop\nimport \"" + si + "/lib/go/api\"",
			want: []string{"only pkg/rmproxy, pkg/canopy, internal/sim, internal/bench, internal/fakerm, " +
				"internal/conformance, internal/chaos may import " + si},
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
