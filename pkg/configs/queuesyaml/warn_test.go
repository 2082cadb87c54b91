package queuesyaml

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"gopkg.in/yaml.v3"
	"gotest.tools/v3/assert"

	"github.com/canopy-scheduler/canopy/pkg/configs/validation"
	"github.com/canopy-scheduler/canopy/pkg/resources"
)

// badResources are documents whose quantities are legal and probably mistakes.
func badResources() []badDocument {
	return []badDocument{
		{"names of well-known resources in other systems", rootHead + `
    queues:
    - name: a
      resources:
        max: {«resource-name»cpu: 2, «resource-name»mem: 4Gi}
        guaranteed: {«resource-name»Memory: 1Gi, vcore: 1}
    - name: b
      resources: {max: {«resource-name»vCore: 2, «resource-name»ephemeral_storage: 1Gi,
        «resource-name»memroy: 1Gi, «resource-name»pod: 3}}
    - name: c
      resources: {max: {«resource-name»"": 2}, guaranteed: {«resource-name»" ": 1}}
`},
		{"misnamed resources in all mappings with quantities", `
partitions:
- limits: [{users: [ann], maxresources: {«resource-name»cores: 2}}]
  nodesortpolicy: {resourceweights: {vcore: 1, «resource-name»cpus: 1}}
  queues:
  - name: root
    submitacl: '*'
    queues:
    - name: a
      parent: true
      childtemplate: {resources: {max: {«resource-name»ram: 8Gi}, guaranteed: {«resource-name»requests.cpu: 1}}}
      classquotas: [{name: all, match: {operator: Exists}, hard: {«resource-name»vcores: 5, pods: 10}}]
      limits: [{users: ['*'], maxresources: {«resource-name»nvidia.com/gpus: 1}}]
`},
		{"resource names similar to others of the partition", rootHead + `
    queues:
    - name: a
      resources: {max: {example.com/fpga: 2, licence-solver: 1, scratch: 1}}
    - name: b
      resources: {max: {«resource-similar»example.com/fpgas: 2, «resource-similar»licence-solvr: 1,
        «resource-similar»Scratch: 5}}
    - name: c
      resources: {max: {«resource-similar»fpga: 2}}
`},
		{"quantities without a unit", rootHead + `
    queues:
    - name: a
      resources:
        max: {memory: «quantity-small»10, vcore: «quantity-small»10m, ephemeral-storage: «quantity-small»100}
        guaranteed: {memory: 0, gpu: 1}
    - name: b
      resources: {max: {hugepages-2Mi: «quantity-small»512, hugepages-1Gi: 1Gi, gpu: 1, pods: 1}}
`},
	}
}

func TestWarnings_SuggestTheProbableValue(t *testing.T) {
	for _, c := range []struct{ max, want string }{
		{"{cpu: 2}", `max is for a resource "cpu", which is not "vcore" (hint: did you mean "vcore"?)`},
		{"{mem: 2Gi}", `max is for a resource "mem", which is not "memory" (hint: did you mean "memory"?)`},
		{"{Memory: 2Gi}", `max is for a resource "Memory", which is not "memory" (hint: did you mean "memory"?)`},
		{"{memory: 2Gi, Memory: 2Gi}",
			`max is for a resource "Memory", which is not "memory" (hint: did you mean "memory"?)`},
		{"{gpu: 1, amd.com/gpu: 1}",
			`max is for a resource "gpu", and line 6 has another one, "amd.com/gpu" (hint: did you mean "amd.com/gpu"?)`},
		{"{nvidia.com/gpu: 1, amd.com/gpu: 1}", ""},
		{"{memory: 10}", "max memory 10 is only 10 bytes (hint: did you mean 10Gi?)"},
		{"{memory: 1}", "max memory 1 is only 1 byte (hint: did you mean 1Gi?)"},
		{"{memory: 8192}", "max memory 8192 is only 8192 bytes (hint: did you mean 8192Mi?)"},
		{"{memory: 512Ki}", "max memory 512Ki is only 524288 bytes (hint: did you mean 512Mi?)"},
		{"{memory: 4M}", "max memory 4M is only 4000000 bytes (hint: did you mean 4Gi?)"},
		{"{vcore: 10m}", "max vcore 10m is only 0.01 of a core (hint: m is a thousandth; did you mean 10?)"},
		{"{vcore: 100m, memory: 6Mi, gpu: 1, ephemeral-storage: 0}", ""},
	} {
		_, problems := Load([]byte(rootHead + "    queues: [{name: a, resources: {max: " + c.max + "}}]\n"))
		var got []string
		for _, p := range problems {
			assert.Equal(t, p.Severity, validation.Warning)
			assert.Equal(t, p.Path, "root.a")
			_, text, _ := strings.Cut(p.String(), " root.a: ")
			got = append(got, text)
		}
		assert.Equal(t, strings.Join(got, "\n"), c.want, c.max)
	}
}

// A misnamed resource in a hundred queues has one warning (CFG-83).
func TestWarnings_OnePerResourceName(t *testing.T) {
	var b strings.Builder
	b.WriteString(rootHead + "    queues:\n")
	for i := range 100 {
		fmt.Fprintf(&b, "    - {name: q%d, resources: {max: {cpu: 2, memory: %d}}}\n", i, i+1)
	}
	_, problems := Load([]byte(b.String()))
	assert.Equal(t, problems.Error(),
		`7:36: warning [resource-name] root.q0: max is for a resource "cpu", which is not "vcore"`+
			` (also in lines 8, 9, 10, 11, 12 and 94 more) (hint: did you mean "vcore"?)`+"\n"+
			"7:52: warning [quantity-small] root.q0: max memory 1 is only 1 byte (also in lines 8, 9, 10, 11, 12 and 94 more) "+
			"(hint: did you mean 1Gi?)")
}

// With Options.NodeCapacity, names that nodes have are right and others are warned of (CFG-81).
func TestWarnings_CompareWithNodeCapacity(t *testing.T) {
	load := func(max string, nodes ...string) string {
		capacity := map[string]resources.Quantity{"without": 0}
		for _, name := range nodes {
			capacity[name] = 1 << 40
		}
		_, problems := LoadWith([]byte(rootHead+"    queues: [{name: a, resources: {max: "+max+"}}]\n"),
			Options{NodeCapacity: map[string]map[string]resources.Quantity{"default": capacity, "other": {"vcore": 1000}}})
		return problems.Error()
	}
	const place = "6:42: warning [resource-absent] root.a: "
	nodes := []string{"memory", "nvidia.com/gpu", "vcore"}
	for _, c := range []struct{ max, want string }{
		{"{vcore: 1, nvidia.com/gpu: 1}", ""},
		{"{nvidia.com/gpus: 1}",
			place + `max is for a resource "nvidia.com/gpus", which no node has (hint: did you mean "nvidia.com/gpu"?)`},
		{"{gpu: 1}", place + `max is for a resource "gpu", which no node has (hint: did you mean "nvidia.com/gpu"?)`},
		{"{cpu: 1}", place + `max is for a resource "cpu", which no node has (hint: did you mean "vcore"?)`},
		{"{amd.com/gpu: 1}",
			place + `max is for a resource "amd.com/gpu", which no node has (hint: the nodes have "memory", "nvidia.com/gpu", ` +
				`"vcore")`},
		{"{amd.com/gpu: 0, vcore: 1}", ""}, // zero forbids a future resource
		{"{nvidia.com/gpus: 0, vcore: 1}",
			place + `max is for a resource "nvidia.com/gpus", which no node has (hint: did you mean "nvidia.com/gpu"?)`},
	} {
		assert.Equal(t, load(c.max, nodes...), c.want, c.max)
	}
	assert.Equal(t, load("{cpu: 1}", "cpu", "memory"), "", "a name that nodes have is right")
	assert.Equal(t, load("{amd.com/gpu: 1}"), "", "without nodes no name is absent")
}

// Guarantees of more than all nodes have are warned of once, at the deepest queues that have them (CFG-135).
func TestWarnings_CompareGuaranteesWithNodeCapacity(t *testing.T) {
	capacity := map[string]map[string]resources.Quantity{"default": {"memory": 64 << 30, "vcore": 16_000}}
	load := func(queues string) string {
		_, problems := LoadWith([]byte(rootHead+"    queues: ["+queues+"]\n"), Options{NodeCapacity: capacity})
		return problems.Error()
	}
	const hint = " (hint: right only if nodes are still to come; otherwise look at the unit)"
	for queues, want := range map[string]string{
		"{name: a, resources: {guaranteed: {memory: 64Gi, vcore: 16}}}": "",
		"{name: a, resources: {guaranteed: {memory: 5700Gi}}}": "6:57: warning [guarantee-beyond-nodes] root.a: " +
			"the queue is guaranteed memory 5700Gi, and all nodes together have 64Gi" + hint,
		"{name: a, queues: [{name: b, resources: {guaranteed: {vcore: 17}}}]}, " +
			"{name: c, resources: {guaranteed: {vcore: 1}}}": "" +
			"6:75: warning [guarantee-beyond-nodes] root.a.b: the queue is guaranteed vcore 17, and all nodes together have 16" +
			hint,
		"{name: a, resources: {guaranteed: {vcore: 9}}}, {name: b, resources: {guaranteed: {vcore: 8}}}": "" +
			"4:11: warning [guarantee-beyond-nodes] root: the children are guaranteed vcore 17, and all nodes together have 16" +
			hint,
	} {
		assert.Equal(t, load(queues), want, queues)
	}
	capacity = nil
	assert.Equal(t, load("{name: a, resources: {guaranteed: {memory: 5700Gi}}}"), "", "nothing is known of nodes")
}

// Percents that contradict other quotas with the nodes of a server are warned of, with what they are then (QUO-70).
func TestWarnings_PercentsWithNodeCapacity(t *testing.T) {
	capacity := map[string]map[string]resources.Quantity{"default": {"memory": 64 << 30, "vcore": 16_000}}
	load := func(queues string) string {
		_, problems := LoadWith([]byte(rootHead+"    queues: ["+queues+"]\n"), Options{NodeCapacity: capacity})
		return problems.Error()
	}
	for queues, want := range map[string]string{
		"{name: a, resources: {max: {vcore: 40%}, guaranteed: {vcore: 40%}}}": "",
		"{name: a, resources: {guaranteed: {vcore: 75%}}}, {name: b, resources: {guaranteed: {vcore: 8}}}": "" +
			"6:56: warning [quota-percent] root.a: guaranteed vcore is scaled down from 12 to 9600m: it is more than there is " +
			"together with those beside it\n" +
			"6:106: warning [quota-percent] root.b: guaranteed vcore is scaled down from 8 to 6400m: it is more than there is " +
			"together with those beside it",
		"{name: a, resources: {max: {vcore: 25%}, guaranteed: {vcore: 5}}}": "" +
			"6:75: warning [quota-percent] root.a: guaranteed vcore is 5 with these nodes, more than the queue's max 4",
		"{name: a, resources: {max: {vcore: 25%}}, queues: [{name: b, resources: {max: {vcore: 5}}}]}": "" +
			"6:100: warning [quota-percent] root.a.b: max vcore is 5, more than the 4 that queues above allow with these nodes",
		"{name: a, resources: {max: {gpu: 25%}}}": "6:42: warning [resource-absent] root.a: " +
			`max is for a resource "gpu", which no node has (hint: the nodes have "memory", "vcore")`,
	} {
		assert.Equal(t, load(queues), want, queues)
	}
	capacity = nil
	assert.Equal(t, load("{name: a, resources: {guaranteed: {vcore: 75%}}}, "+
		"{name: b, resources: {guaranteed: {vcore: 8}}}"), "", "nothing is known of nodes")
}

// Equal warnings about several queues are one for a reader; errors stay apart (CFG-83).
func TestWarnings_EqualOnesAreMergedForReaders(t *testing.T) {
	_, problems := Load([]byte(rootHead + "    queues:\n" +
		"    - {name: a, properties: {application.sort.polcy: fifo}}\n" +
		"    - {name: b, properties: {application.sort.polcy: fair, other: x}}\n" +
		"    - {name: c, properties: {application.sort.polcy: fifo}, x: 1}\n" +
		"    - {name: d, x: 1}\n"))
	assert.Equal(t, len(problems), 6)
	const hint = ` (hint: did you mean "application.sort.policy"?)`
	assert.Equal(t, problems.Merged().Error(), ""+
		`7:30: warning [property-unknown] root.a: unknown property "application.sort.polcy" has no effect (also in lines `+
		`8, 9)`+hint+"\n"+
		`8:60: warning [property-unknown] root.b: unknown property "other" has no effect`+"\n"+
		`9:61: error [yaml-unknown-key] root.c: unknown key "x" in a queue`+"\n"+
		`10:17: error [yaml-unknown-key] root.d: unknown key "x" in a queue`)
}

// The shipped examples have no warnings (CFG-72).
func TestWarnings_NoneForExamples(t *testing.T) {
	files, err := filepath.Glob("../../../examples/*.yaml")
	assert.NilError(t, err)
	shims, err := filepath.Glob("../../../examples/shim-*/queues.yaml")
	assert.NilError(t, err)
	files = append(files, shims...)
	checked := 0
	for _, name := range append(files, "../../../internal/lab/sim/openb.yaml", "default.yaml",
		"testdata/production.yaml") {
		text, err := os.ReadFile(name)
		assert.NilError(t, err)
		if strings.HasSuffix(name, "_test.yaml") {
			continue // assertions
		}
		_, problems := Load(text)
		assert.Equal(t, problems.Error(), "", name)
		checked++
	}
	assert.Assert(t, checked >= 10, "%d", checked)
}

func TestWarnings_NoneForScenarios(t *testing.T) {
	files, err := filepath.Glob("../../scheduler/testdata/scenarios/*.json")
	assert.NilError(t, err)
	checked := 0
	for _, name := range files {
		text, err := os.ReadFile(name)
		assert.NilError(t, err)
		var file struct {
			Scenarios []struct {
				ID    string
				Given struct {
					Queues []struct {
						Path            string
						Guaranteed, Max map[string]int64
					}
					Quotas []struct{ Hard map[string]int64 }
				}
			}
		}
		assert.NilError(t, json.Unmarshal(text, &file))
		for _, s := range file.Scenarios {
			queues := []any{}
			for _, q := range s.Given.Queues {
				queues = append(queues, map[string]any{"name": strings.ReplaceAll(q.Path, ".", "-"),
					"resources": map[string]any{"max": q.Max, "guaranteed": q.Guaranteed}})
			}
			for i, q := range s.Given.Quotas {
				queues = append(queues, map[string]any{"name": fmt.Sprint("quota-", i), "classquotas": []any{
					map[string]any{"name": "q", "match": map[string]any{"operator": "Exists"}, "hard": q.Hard}}})
			}
			text, err := yaml.Marshal(map[string]any{"partitions": []any{map[string]any{"queues": []any{
				map[string]any{"name": "root", "submitacl": "*", "queues": queues}}}}})
			assert.NilError(t, err)
			_, problems := Load(text)
			assert.Equal(t, problems.Error(), "", "%s %s", name, s.ID)
			checked += len(queues)
		}
	}
	assert.Assert(t, checked > 50, "%d", checked)
}
