package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// spec is a spec in a report of Ginkgo.
func spec(kind, name, state, message string) string {
	return fmt.Sprintf(`{"ContainerHierarchyTexts": ["Queues"], "LeafNodeType": %q, "LeafNodeText": %q,
		"State": %q, "RunTime": 1500000000,
		"Failure": {"Message": %q, "Location": {"FileName": "/x/a_test.go", "LineNumber": 7}}}`, kind, name, state, message)
}

func write(t *testing.T, folder, name, text string) {
	t.Helper()
	file := filepath.Join(folder, name)
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

func ginkgo(specs ...string) string {
	return `[{"RunTime": 62000000000, "SpecReports": [` + strings.Join(specs, ",") + `]}]`
}

func TestReport_WorseWhenCanopyFailsWhatTheOriginalPasses(t *testing.T) {
	for name, test := range map[string]struct {
		canopy, known string
		cores         []string
		worse         bool
		want          string
	}{
		"same": {canopy: ginkgo(spec("It", "a", "passed", ""), spec("It", "b", "failed", "no pod")),
			want: "Queues b: failed with Canopy; failed with the original too"},
		"worse": {canopy: ginkgo(spec("It", "a", "timedout", "too\nslow")), worse: true,
			want: "Queues a: failed with Canopy: too slow (a_test.go:7)"},
		"not run": {canopy: ginkgo(spec("It", "a", "skipped", "")), worse: true,
			want: "Queues a: not run with Canopy"},
		"skips itself": {canopy: ginkgo(spec("It", "a", "skipped", "needs volumes")),
			want: "| s | 1 | 1 | 0 | 0 | 62 | 0 | 0 | 1 | 0 | 62 |"},
		"no report": {worse: true, want: "the suite left no report"},
		"before suite": {canopy: ginkgo(spec("BeforeSuite", "", "failed", "no REST")), worse: true,
			want: "[BeforeSuite]: failed with Canopy: no REST"},
		"known": {canopy: ginkgo(spec("It", "b", "failed", "no pod")), cores: []string{"canopy"},
			known: "s | Queues b | no kubelet\n", want: "known: no kubelet"},
		"not known": {canopy: ginkgo(spec("It", "b", "failed", "no pod")), cores: []string{"canopy"}, worse: true,
			want: "failed with Canopy: no pod"},
		"known passes": {canopy: ginkgo(spec("It", "b", "passed", "")), cores: []string{"canopy"},
			known: "# x\ns | Queues b | y\n", want: "passes with Canopy, and is known"},
		"original passes": {canopy: ginkgo(spec("It", "a", "passed", "")), known: "s | Queues a | y\n",
			want: "passes with the original, though known to fail: y"},
	} {
		t.Run(name, func(t *testing.T) {
			folder := t.TempDir()
			write(t, folder, "original/s.json",
				ginkgo(spec("BeforeSuite", "", "passed", ""), spec("It", "a", "passed", ""), spec("It", "b", "failed", "no pod")))
			if test.canopy != "" {
				write(t, folder, "canopy/s.json", test.canopy)
			}
			write(t, folder, "known.txt", test.known)
			cores := test.cores
			if cores == nil {
				cores = []string{"original", "canopy"}
			}
			worse, err := report(folder, filepath.Join(folder, "known.txt"), cores, []string{"s"})
			if err != nil {
				t.Fatal(err)
			}
			text, err := os.ReadFile(filepath.Join(folder, "report.md"))
			if err != nil {
				t.Fatal(err)
			}
			if worse != test.worse || !strings.Contains(string(text), test.want) {
				t.Errorf("worse: %v, want %v and %q in:\n%s", worse, test.worse, test.want, text)
			}
		})
	}
}

func TestReadKnown_RefusesALineWithoutAReason(t *testing.T) {
	folder := t.TempDir()
	write(t, folder, "known.txt", "\n# comment\ns | a\n")
	if _, err := readKnown(filepath.Join(folder, "known.txt")); err == nil ||
		!strings.Contains(err.Error(), "known.txt:3: want SUITE | SPEC | REASON") {
		t.Errorf("got %v", err)
	}
}
