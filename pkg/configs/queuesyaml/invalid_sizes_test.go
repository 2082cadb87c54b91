package queuesyaml

import (
	"fmt"
	"runtime"
	"strings"
	"testing"

	"gotest.tools/v3/assert"

	"github.com/canopy-scheduler/canopy/pkg/configs/validation"
)

func badSizes() []badDocument {
	return []badDocument{
		{"root with resources, or with empty ones", `
partitions:
- queues:
  - name: root
    submitacl: '*'
    resources:
      max: «V3»{}
      guaranteed:
        «V3»memory: 1Gi
`},
		{"malformed quantities", rootHead + `
    queues:
    - name: a
      resources:
        max:
          memory: «quantity»1.5
          disk: «quantity»-1
          vcore:«quantity»
          gpu: «quantity»5K
          fpga: «quantity»99999999999999999999
        guaranteed: {memory: «quantity»500m, vcore: 500m}
`},
		{"guaranteed above max", rootHead + `
    queues:
    - name: a
      resources:
        max: {memory: 10Gi, vcore: 1, gpu: 2}
        guaranteed: {memory: «V22»11Gi, vcore: «V22»1001m, gpu: 2, disk: 5}
    - name: above
      resources: {max: {memory: 10Gi}}
      queues:
      - name: b
        resources: {max: {memory: 10Gi}, guaranteed: {memory: «V22»11Gi}}
`},
		{"max above the effective max of the queues above", rootHead + `
    queues:
    - name: a
      resources: {max: {memory: 10Gi}}
      queues:
      - name: b
        resources: {max: {vcore: 1}}
        queues:
        - name: c
          resources: {max: {memory: «V23»11Gi, vcore: «V23»1001m, gpu: 9}}
        - name: d
          resources: {max: {memory: 10Gi, vcore: 1}}
`},
		{"malformed percents", rootHead + `
    limits: [{users: [ann], maxresources: {vcore: «V16»40%}}]
    classquotas: [{name: all, match: {operator: Exists}, hard: {vcore: «quantity»40%}}]
    queues:
    - name: a
      parent: true
      resources:
        max: {vcore: «quantity»0%, memory: «quantity»140%, gpu: 40%, pods: «quantity»1.234%}
        guaranteed: {vcore: «quantity»-5%, memory: 12.5%}
      childtemplate: {resources: {max: {vcore: «L2»40 %%, memory: 100.00 %}}}
    - name: b
      resources: {max: {memory: 0, vcore: 40%}, guaranteed: {memory: 0, gpu: 50%}}
`},
		{"guarantees that are percents or beside some are not added", rootHead + `
    queues:
    - name: a
      resources: {guaranteed: {memory: 10Gi, vcore: «V24»5, gpu: 1%}, max: {memory: 1%}}
      queues:
      - name: b
        resources: {guaranteed: {memory: 90%, vcore: 5, gpu: 100}}
      - name: c
        queues:
        - name: d
          resources: {guaranteed: {memory: 10Gi, vcore: 1}}
        - name: e
          resources: {guaranteed: {gpu: 100%}}
`},
		{"guarantees of children above that of their parent", rootHead + `
    queues:
    - name: a
      resources: {guaranteed: {memory: «V24»10Gi, vcore: 5}}
      queues:
      - name: b
        resources: {guaranteed: {memory: 6Gi, gpu: 5, vcore: 5}}
      - name: c
        queues:
        - name: d
          resources: {guaranteed: {memory: 5Gi}}
`},
		{"guarantees of children below a guarantee of zero", rootHead + `
    queues:
    - name: a
      resources: {guaranteed: {memory: «V24»0, vcore: 5}}
      queues:
      - name: b
        resources: {guaranteed: {memory: 1Gi}}
`},
		{"guarantees of children above the effective max", rootHead + `
    queues:
    - name: a
      resources: {max: {memory: 5Gi}}
      queues:
      - name: «V24»b
        queues:
        - name: c
          resources: {guaranteed: {memory: 6Gi}}
`},
		{"maxapplications of children above that of their parent", `
partitions:
- queues:
  - name: root
    submitacl: '*'
    maxapplications: 10
    queues:
    - name: a
      maxapplications: «V25»11
    - name: «V25»b
    - name: c
      maxapplications: «V25»0
    - name: d
      maxapplications: 10
`},
		{"malformed values of a child template", rootHead + `
    childtemplate:
      maxapplications: «yaml-type»many
      resources:
        max: {memory: «L2»1.5, vcore: «L2»}
        guaranteed: {memory: «L2»lots}
`},
	}
}

// beyondBounds are documents beyond the fixed bounds, and beyond the default bound on depth.
func beyondBounds() []badDocument {
	var properties, resources strings.Builder
	for i := range validation.MaxProperties {
		fmt.Fprintf(&properties, "          «property-unknown»p%03d: x\n", i)
		fmt.Fprintf(&resources, "          r%03d: 1\n", i)
	}
	deep := rootHead + "    queues:\n"
	for level := 2; level <= 65; level++ {
		indent := strings.Repeat("  ", level)
		bound := ""
		if level == 65 {
			bound = "«bound-depth»"
		}
		deep += indent + "- " + bound + "name: a\n" + indent + "  queues:\n"
	}
	return []badDocument{
		{"properties beyond the bound, inherited ones included", rootHead + `
    queues:
    - name: full
      parent: true
      childtemplate:
        properties:
` + properties.String() + `
    - name: a
      properties:
` + properties.String() + `
      queues:
      - name: b
        properties:
          «property-unknown»p001: again
      - name: «bound-properties»c
        properties:
          «property-unknown»more: x
        queues:
        - name: d
          properties:
            «property-unknown»evenmore: x
`},
		{"a child template with properties beyond the bound", rootHead + `
    childtemplate:
      «bound-properties»properties:
          «property-unknown»more: x
` + properties.String()},
		{"resources beyond the bound", rootHead + `
    queues:
    - name: a
      resources:
        max:
` + resources.String() + `
          rmore: «bound-resources»1
          rmost: 1
`},
		{"queues beyond the bound on depth", deep},
		{"placement rules beyond the bound on depth", rootHead + "  placementrules:\n  - " +
			strings.Repeat("{name: user, parent: ", 64) + "«bound-depth»{name: user}" + strings.Repeat("}", 64)},
		{"placement rules beyond the bound, parents included", rootHead + "  placementrules:\n" +
			strings.Repeat("  - {name: user, parent: {name: user}}\n", maxRules/2) +
			"  - «bound-rules»{name: user}\n  - {name: user}\n"},
		{"expressions of filters beyond the bound, those of parents included", rootHead + "  placementrules:\n" +
			strings.Repeat("  - {name: user, filter: {users: ['(a?){400}b']}}\n", 5) +
			"  - {name: user, parent: {name: «bound-filters»user, filter: {groups: ['(a|b){500}']}}}\n"},
	}
}

func TestLoad_BoundsListedProblems(t *testing.T) {
	config, problems := Load([]byte("partitions: [" + strings.Repeat("a,", validation.MaxProblems+5) + "]"))
	assert.Assert(t, config == nil)
	assert.Equal(t, len(problems), validation.MaxProblems+1)
	assert.Equal(t, problems[0].String(),
		"1:1: warning [bound-problems] there are more than 1000 errors: the document was not checked further")

	flood := rootHead + "    queues:\n"
	for i := range validation.MaxProblems + 5 {
		flood += fmt.Sprintf("    - {name: q%d, properties: {x: y}}\n", i)
	}
	config, problems = Load([]byte(flood))
	assert.Assert(t, config != nil, "no number of warnings refuses a document")
	assert.Equal(t, len(problems), validation.MaxProblems+1)
}

func TestLoad_RefusesBeyondBounds(t *testing.T) {
	text := rootHead + `    queues:
    - name: a
    - name: b
      queues:
      - name: c
    - name: d
- name: gpu
  queues: [{name: a, submitacl: '*'}]
`
	for _, c := range []struct {
		name    string
		options Options
		want    string
	}{
		{"a text of too many bytes", Options{MaxBytes: len(text) - 1},
			fmt.Sprintf("1:1: error [bound-bytes] the text is longer than max-config-bytes (%d)", len(text)-1)},
		{"too many queues", Options{MaxQueues: 3},
			"10:9: error [bound-queues] root.b.c: there are more than max-queues (3) queues"},
		{"too many levels", Options{MaxDepth: 2},
			"10:9: error [bound-depth] root.b: queues are nested deeper than max-depth (2 levels)"},
		{"too many queues, because each partition has a root", Options{MaxQueues: 5},
			"12:9: error [bound-queues] [gpu]root: there are more than max-queues (5) queues"},
		{"exactly at the bounds", Options{MaxBytes: len(text), MaxQueues: 7, MaxDepth: 3}, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			config, problems := LoadWith([]byte(text), c.options)
			assert.Equal(t, problems.Error(), c.want)
			assert.Equal(t, config == nil, c.want != "")
		})
	}
}

func TestLoad_PartitionsBeyondBoundAreNotRead(t *testing.T) {
	_, problems := LoadWith([]byte("partitions: ["+strings.Repeat("{queues: []}, ", 5)+"]"), Options{MaxQueues: 2})
	count := 0
	for _, p := range problems {
		if p.RuleID == "bound-queues" {
			count++
		}
		assert.Assert(t, p.Col < 14+4*14, "partitions from the fourth on are not read: %s", p)
	}
	assert.Equal(t, count, 1)
}

// The parser allocates a hundred times the bytes of a text: 8 MiB of commas are refused before they
// are parsed, and a text with an error in every line is not checked to its end (CFG-15, CFG-17).
func TestLoad_AllocationsAreBounded(t *testing.T) {
	whole := func(head, row, tail string) []byte {
		rows := (DefaultOptions().MaxBytes - len(head) - len(tail)) / len(row)
		return []byte(head + strings.Repeat(row, rows) + tail)
	}
	for _, c := range []struct {
		name string
		text []byte
		rule string
		most uint64 // bytes that may be allocated
	}{
		{"values of a list", whole("partitions: [", "a,", "]"), "bound-values", 1 << 20},
		{"elements without a value", whole(rootHead+"    queues:\n", "    -\n", ""), "bound-values", 1 << 20},
		{"keys without a value", whole(rootHead, "    a:\n", ""), "bound-values", 1 << 20},
		{"unclosed mappings", whole("", "{", ""), "bound-values", 1 << 20},
		{"queues with several errors each",
			whole(rootHead+"    queues:\n", "    - {name: a.b, submitacl: 'three words are one too many', wrong: 1}\n", ""),
			"bound-problems", 400 << 20},
	} {
		t.Run(c.name, func(t *testing.T) {
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			config, problems := Load(c.text)
			runtime.ReadMemStats(&after)
			assert.Assert(t, config == nil)
			assert.Equal(t, problems[0].RuleID, c.rule)
			assert.Assert(t, len(problems) <= validation.MaxProblems+1)
			got := after.TotalAlloc - before.TotalAlloc
			assert.Assert(t, got <= c.most, "%d MiB were allocated", got>>20)
		})
	}
}
