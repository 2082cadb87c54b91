package queuesyaml

import (
	"bytes"
	"fmt"
	"maps"
	"runtime"
	"slices"
	"strings"
	"testing"

	"gotest.tools/v3/assert"

	"github.com/canopy-scheduler/canopy/internal/testing/testscale"
	"github.com/canopy-scheduler/canopy/pkg/configs/validation"
)

// maxMemory is how many bytes Load may allocate for a text within the default bounds: more than
// half of it is the tree that the YAML parser makes of a million values.
const maxMemory = 536 << 20

// The cost of any text is bounded by the bounds of Options (CFG-15). The test counts allocated
// memory: allocation takes most of the time.
func TestLoad_HostileTextsHaveBoundedCost(t *testing.T) {
	bounds, share := DefaultOptions(), 1
	if !testscale.Full() || testscale.RaceDetector { // with the race detector the whole size takes ten minutes
		share = 32
		bounds = Options{MaxBytes: bounds.MaxBytes / share, MaxValues: bounds.MaxValues / share,
			MaxQueues: bounds.MaxQueues / share, MaxDepth: bounds.MaxDepth}
	}
	texts := hostileTexts(bounds)
	for _, name := range slices.Sorted(maps.Keys(texts)) {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		_, problems := LoadWith(texts[name], bounds)
		runtime.ReadMemStats(&after)
		allocated := after.TotalAlloc - before.TotalAlloc
		if !testscale.RaceDetector { // the race detector allocates several times as much itself
			assert.Check(t, allocated <= uint64(maxMemory/share), "%s: %d KiB, of at most %d", name, allocated>>10,
				maxMemory/share>>10)
		}
		assert.Check(t, len(problems) <= 2*validation.MaxProblems+2, "%s: %d problems", name, len(problems))
	}
}

// A mapping beyond its bound is not read to its end, and the error names the bound (CFG-16).
func TestLoad_StopsReadingAtBounds(t *testing.T) {
	within := func(what string, n int, last string) validation.Problems {
		var b strings.Builder
		b.WriteString("partitions: [{queues: [{name: root, submitacl: '*', queues: [{name: a, " + what + ": {")
		for i := range n {
			fmt.Fprintf(&b, "n%d: 1, ", i)
		}
		b.WriteString(last + "}}]}]}]")
		_, problems := Load([]byte(b.String()))
		return problems
	}
	assert.Check(t, !within("resources: {max", 256, "}").HasErrors())
	assert.Check(t, !within("properties", 256, "").HasErrors())
	for _, c := range []struct{ what, last, rule string }{
		{"resources: {max", "wrong: x}", "bound-resources"},
		{"properties", "wrong: [], ", "bound-properties"},
		{"parent: true, childtemplate: {properties", "wrong: []}", "bound-properties"},
	} {
		errors := within(c.what, 257, c.last).Errors()
		assert.Check(t, len(errors) == 1 && errors[0].RuleID == c.rule, "%s: %s", c.what, errors)
	}
}

// Warnings beyond the listed ones are counted (CFG-17).
func TestLoad_CountsUnlistedWarnings(t *testing.T) {
	var b strings.Builder
	b.WriteString("partitions: [{queues: [{name: root, submitacl: '*', queues: [")
	for i := range 1500 {
		fmt.Fprintf(&b, "{name: q%d, properties: {unknown: 1}}, ", i)
	}
	b.WriteString("]}]}]")
	conf, problems := Load([]byte(b.String()))
	assert.Assert(t, conf != nil)
	assert.Equal(t, len(problems), validation.MaxProblems+1)
	assert.Equal(t, problems[0].Message, "there are 1500 warnings, of which 1000 are listed")
}

// BenchmarkLoadHostile measures each of the hostile texts.
func BenchmarkLoadHostile(b *testing.B) {
	texts := hostileTexts(DefaultOptions())
	for _, name := range slices.Sorted(maps.Keys(texts)) {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				Load(texts[name])
			}
		})
	}
}

// hostileTexts are texts as long as the bounds allow, each made to cost as much as possible: a
// beginning, a part that is repeated up to the bounds, and an end.
func hostileTexts(bounds Options) map[string][]byte {
	each := func(first, last string, again func(i int) string) []byte {
		var b bytes.Buffer
		b.WriteString(first)
		values := countValues([]byte(first + last))
		b.Grow(bounds.MaxBytes)
		for i := 0; ; i++ {
			s := again(i)
			values += countValues([]byte(s))
			if b.Len()+len(s)+len(last) > bounds.MaxBytes || values > bounds.MaxValues {
				break
			}
			b.WriteString(s)
		}
		b.WriteString(last)
		return b.Bytes()
	}
	fill := func(first, again, last string) []byte {
		return each(first, last, func(int) string { return again })
	}
	const head = "partitions:\n- queues:\n  - name: root\n"
	deep := func(again string, step int) []byte {
		var b bytes.Buffer
		for i := 0; b.Len() < bounds.MaxBytes-step*i-len(again)-8; i++ {
			b.WriteString(strings.Repeat(" ", step*i) + again)
		}
		return b.Bytes()
	}
	return map[string][]byte{
		"one-name":           fill(head+"    queues:\n", "    - name: a\n", ""),
		"one-name-flow":      fill("partitions: [{queues: [{name: root, queues: [", "{name: a},", "]}]}]"),
		"one-name-resources": fill(head+"    queues:\n", "    - {name: a, resources: {max: {vcore: 1}}}\n", ""),
		"many-names": each(head+"    queues:\n", "",
			func(i int) string { return fmt.Sprintf("    - name: q%d\n", i) }),
		"many-names-long": each(head+"    queues:\n", "",
			func(i int) string { return fmt.Sprintf("    - name: q%d%s\n", i, strings.Repeat("x", 40)) }),
		"nested-blocks":       deep("- name: a\n", 1),
		"nested-queues":       deep("queues:\n", 1),
		"nested-flow":         fill("", "[", ""),
		"nested-flow-closed":  []byte(strings.Repeat("[", bounds.MaxBytes/2) + strings.Repeat("]", bounds.MaxBytes/2)),
		"nested-flow-mapping": fill("", "{a: ", ""),
		"nested-dashes":       fill("", "- ", "a"),
		"alias-bomb": each("a0: &a0 [x,x,x,x,x,x,x,x,x]\n", "", func(i int) string {
			return fmt.Sprintf("a%d: &a%d [*a%d,*a%d,*a%d,*a%d,*a%d,*a%d]\n", i+1, i+1, i, i, i, i, i, i)
		}),
		"aliases":             fill("a: &a x\nb: [", "*a ,", "*a ]"),
		"anchors":             each("", "", func(i int) string { return fmt.Sprintf("- &a%d\n", i) }),
		"merge-keys":          fill("a: &a {x: 1}\nb:\n", "  <<: *a\n", ""),
		"long-scalar":         fill(head+"    submitacl: '", "x", "'\n"),
		"long-name":           fill("partitions: [{queues: [{name: ", "x", "}]}]"),
		"long-plain-lines":    fill("a: b\n", "  word\n", ""),
		"folded-text":         fill("a: >\n", "  w\n\n", ""),
		"long-quoted-escapes": fill(`a: "`, `\u00e9`, `"`),
		"long-key":            fill("? ", "x", "\n: 1\n"),
		"partitions": each("partitions:\n", "",
			func(i int) string { return fmt.Sprintf("- {name: p%d, queues: []}\n", i) }),
		"partitions-same":  fill("partitions:\n", "- queues: []\n", ""),
		"partitions-empty": fill("partitions:\n", "-\n", ""),
		"limits":           fill(head+"    limits:\n", "    - {users: [a], maxapplications: 1}\n", ""),
		"limits-users": each(head+"    limits: [{maxapplications: 1, users: [", "]}]\n",
			func(i int) string { return fmt.Sprintf("u%d,", i) }),
		"limits-many": each(head+"    limits:\n", "",
			func(i int) string { return fmt.Sprintf("    - {users: [u%d], maxapplications: 1}\n", i) }),
		"acl-commas": fill(head+"    submitacl: '", "a,", "a'\n"),
		"acl-names":  each(head+"    submitacl: '", "'\n", func(i int) string { return fmt.Sprintf("u%d,", i) }),
		"acl-wrong":  each(head+"    submitacl: '", "'\n", func(i int) string { return fmt.Sprintf("!%d,", i) }),
		"properties": each(head+"    properties:\n", "",
			func(i int) string { return fmt.Sprintf("      p%d: v\n", i) }),
		"properties-same": fill(head+"    properties:\n", "      p: v\n", ""),
		"resources": each(head+"    queues:\n    - name: a\n      resources:\n        max:\n", "",
			func(i int) string { return fmt.Sprintf("          r%d: 1\n", i) }),
		"quantities-wrong": each(head+"    queues:\n    - name: a\n      resources:\n        max:\n", "",
			func(i int) string { return fmt.Sprintf("          r%d: x\n", i) }),
		"unknown-keys":      each("", "", func(i int) string { return fmt.Sprintf("k%d: 1\n", i) }),
		"unknown-keys-near": each(head, "", func(i int) string { return fmt.Sprintf("    queue%d: 1\n", i) }),
		"classes": each(head+"priorityclasses:\n", "",
			func(i int) string { return fmt.Sprintf("- {name: c%d, value: 1}\n", i) }),
		"classes-same": fill(head+"priorityclasses:\n", "- {name: c, value: 1}\n", ""),
		"budgets": each(head+"disruptionbudgets:\n", "",
			func(i int) string { return fmt.Sprintf("- {name: b%d, minAvailable: 1}\n", i) }),
		"class-quotas": each(head+"    classquotas:\n", "",
			func(i int) string { return fmt.Sprintf("    - {name: c%d, hard: {pods: 1}}\n", i) }),
		"rules":        fill(head+"  placementrules:\n", "  - {name: fixed, value: root.a}\n", ""),
		"rules-nested": fill(head+"  placementrules: [", "{name: user, parent: ", "{}]"),
		"templates": each(head+"    queues:\n", "", func(i int) string {
			return fmt.Sprintf("    - {name: q%d, parent: true, childtemplate: {properties: {a: b}}}\n", i)
		}),
		"tabs":      fill(head, "\t\n", ""),
		"tabs-keys": fill(head, "\tname: a\n", ""),
		"unicode":   fill(head+"    submitacl: '", "é,", "'\n"),
		"unicode-names": each(head+"    queues:\n", "",
			func(i int) string { return fmt.Sprintf("    - name: \u00fc\u4e16%d\n", i) }),
		"invalid-utf8":         fill(head, "\xff", ""),
		"control-characters":   fill(head, "\x01", ""),
		"byte-order-marks":     fill(head, "\ufeff", ""),
		"newlines":             fill(head, "\n", ""),
		"carriage-returns":     fill("a: b\r", "\r", ""),
		"line-separators":      fill("a: b\n", "\u2028", ""),
		"spaces":               fill(head, " ", ""),
		"comments":             fill(head, "#\n", ""),
		"comment-long":         fill(head+"#", "x", "\n"),
		"comments-trailing":    fill(head+"    queues: [", "a, #\n", "a]\n"),
		"comments-above":       each("", "", func(i int) string { return fmt.Sprintf("#c\nk%d: 1\n", i) }),
		"comments-below":       fill(head+"    queues:\n", "    - name: a\n      #c\n", ""),
		"documents":            fill(head, "---\n", ""),
		"documents-full":       fill(head, "---\na: b\n", ""),
		"document-ends":        fill(head, "...\n", ""),
		"directives":           fill("", "%TAG ! tag:a\n", ""),
		"quotes":               fill("", "'' ", ""),
		"quotes-open":          fill(head, "'a\n", ""),
		"tags":                 fill("a: [", "!!x b,", "c]"),
		"question-marks":       fill("", "? a\n", ""),
		"question-marks-deep":  fill("", "? ", "a"),
		"colons":               fill("", ": ", "a"),
		"colons-in-line":       fill("a", ": a", ""),
		"plain-multiline-keys": fill("", "a\n", ": b"),
		"commas":               fill("a: [", "a,", "a]"),
		"configmap": fill("kind: ConfigMap\ndata:\n  queues.yaml: |\n    partitions:\n    - queues:\n      - "+
			"name: root\n        queues:\n", "        - name: a\n", ""),
		"configmap-quoted": fill("kind: ConfigMap\ndata:\n  queues.yaml: \"partitions:\\n- queues:\\n  - name: "+
			"root\\n    queues:\\n", "    - name: a\\n", "\"\n"),
		"configmap-files": each("kind: ConfigMap\ndata:\n", "",
			func(i int) string { return fmt.Sprintf("  f%d.yaml: a\n", i) }),
		"configmap-blank-lines": fill("kind: ConfigMap\ndata:\n  queues.yaml: |\n    a: b\n", "\n", ""),
	}
}
