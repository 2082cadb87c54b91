package main

import (
	"encoding/json"
	"regexp"
	"strings"
	"testing"

	"gotest.tools/v3/assert"

	"github.com/canopy-scheduler/canopy/pkg/objects"
)

// fieldsOf lists the fields of a JSON object in the order in which they are written. The text must
// have nothing else.
func fieldsOf(t *testing.T, text string) (fields []string) {
	t.Helper()
	d := json.NewDecoder(strings.NewReader(text))
	open, err := d.Token()
	assert.NilError(t, err)
	assert.Equal(t, open, json.Delim('{'))
	for d.More() {
		name, err := d.Token()
		assert.NilError(t, err)
		fields = append(fields, name.(string))
		var value json.RawMessage
		assert.NilError(t, d.Decode(&value))
	}
	_, err = d.Token()
	assert.NilError(t, err)
	assert.Assert(t, !d.More(), "one object and nothing else")
	return fields
}

// smallDemo is the command line of a short demo with several waves.
func smallDemo(more ...string) []string {
	return append([]string{"demo", "--nodes", "30", "--queues", "12", "--asks", "2500"}, more...)
}

// The output follows from the size and the seed alone.
func TestDemo_SameSeedIsDeterministic(t *testing.T) {
	of := func(seed, output string) string {
		code, out, errs := runCanopy("demo", "--nodes", "30", "--asks", "1000", "--seed", seed, "--output", output)
		assert.Equal(t, code, 0, errs)
		return out
	}
	for _, output := range []string{"text", "json"} {
		first := of("3", output)
		assert.Equal(t, of("3", output), first)
		assert.Assert(t, of("4", output) != first, "another seed is another demo")
	}
}

func TestDemo_InJSON(t *testing.T) {
	code, out, errs := runCanopy(smallDemo("--output", "json")...)
	assert.Equal(t, code, 0, errs)
	assert.DeepEqual(t, fieldsOf(t, out), []string{
		"seed", "nodes", "applications", "asks", "allocated", "preempted", "released", "pending", "rejected",
		"allocatedResources",
		"steps", "full", "queuesBelowRoot", "waitingAsk", "preemption",
	})
	var r struct {
		demoReport
		WaitingAsk explanation `json:"waitingAsk"` // as a command reads it
	}
	assert.NilError(t, json.Unmarshal([]byte(out), &r))
	assert.Equal(t, r.Nodes, 30)
	assert.Equal(t, r.Allocated, 2500)
	assert.Equal(t, r.Pending, 0)
	assert.Assert(t, r.Released > 0 && r.Released < 2500)
	submitted, placed := 0, 0
	for i, s := range r.Steps {
		assert.Equal(t, s.Second, int64(i)*60)
		submitted, placed = submitted+s.Submitted, placed+s.Placed
		assert.Equal(t, s.Waiting, submitted-placed)
	}
	assert.Equal(t, placed, 2500)
	last := r.Steps[len(r.Steps)-1]
	assert.Assert(t, last.Wave == 0 && last.Waiting == 0)

	full := r.Full
	assert.Assert(t, full.Wave > 1 && full.Waiting > full.Running/2, "the table is that of a full cluster: %+v",
		full.Step)
	assert.Equal(t, len(full.Queues), 13)
	root := full.Queues[0]
	assert.Equal(t, root.Path, objects.RootPath)
	assert.DeepEqual(t, root.Allocated, full.AllocatedResources)
	assert.Equal(t, int(root.Pending["pods"]), full.Waiting)
	assert.Assert(t, root.CurrentPriority > 0)
	assert.Assert(t, r.WaitingAsk.Priority == 100 && r.WaitingAsk.State == "pending")
	assert.Equal(t, r.WaitingAsk.Message, "no node has all of memory 2Gi, 1 pod, vcore 1 free; nodes: 30 too full")

	preemption := r.Preemption
	assert.Equal(t, len(preemption.Victims), 2)
	for _, v := range preemption.Victims {
		assert.Assert(t, v.Node == preemption.NominatedNode && v.Priority < preemption.Priority, "%+v", preemption)
	}
	assert.Assert(t, preemption.PlacedOn != "" && preemption.PlacedOn == preemption.NominatedNode)
	assert.Assert(t, !strings.Contains(errs, "\r"), "no cursor movements where there is no terminal")
	assert.Assert(t, regexp.MustCompile(`(?m)^took \d+\.\d s, [\d,]+ allocations a second`).MatchString(errs), errs)
}

func TestDemo_InText(t *testing.T) {
	code, out, errs := runCanopy("demo", "--nodes", "2", "--queues", "6", "--asks", "50")
	assert.Equal(t, code, 0, errs)
	for _, want := range []string{
		`^Seed 1: 2 nodes with [\d.]+ vcore, [\d.]+ GiB, 6 queues below root, 50 asks in 1 wave\.\n`,
		`\nAfter wave 1 the cluster is full: \d+ asks run and \d+ wait\.\n`,
		`\nQUEUE +PRIORITY +RUNNING +VCORE +WAITING +VCORE +GUARANTEED +MAX\nroot `,
		`\n  production .*\n    team-01 `,
		`\nThe pending ask with the highest priority: 'canopy explain ask-\d+' prints\n\nask-\d+ of application app-\d+, ` +
			`user user-\d\d, queue root\.`,
		`\nRESOURCE .*\n(.*\n)*vcore `,
		`\nAt the end: 50 placed, 0 rejected, 0 waiting\. `,
		`\n +0 s  ask urgent is submitted: 2 vcore, priority 1000; it fits on no node\n`,
		`\n +0 s  (batch-\d\d) on (node-\d) is preempted for it`,
		`\n +12 s  batch-\d\d has ended, and the resource manager confirms the release\n +12 s  urgent is pending: `,
		`\n +30 s  urgent is placed on node-\d\n`,
		`\nTry next:\n`,
	} {
		assert.Assert(t, regexp.MustCompile(want).MatchString(out), "%s\n%s", want, out)
	}
}

// The table has few leaves of each tenant and says how many queues it leaves out.
func TestDemo_TableOmitsLeaves(t *testing.T) {
	code, out, errs := runCanopy("demo", "--nodes", "20", "--queues", "40", "--asks", "1000")
	assert.Equal(t, code, 0, errs)
	table := out[strings.Index(out, "\nQUEUE "):strings.Index(out, "\nThe pending ask with ")]
	assert.Equal(t, strings.Count(table, "\n    team-"), 3*leavesShown, table)
	assert.Assert(t, strings.Contains(table, "\n28 more queues are in --output json."), table)
}

func TestDemo_InvalidFlagsAreRejected(t *testing.T) {
	cases := []struct {
		name string
		args []string
		want string
	}{
		{"no nodes", []string{"--nodes", "0"}, "--nodes is 0, and must be from 1 to 20000"},
		{"too few queues", []string{"--queues", "5"}, "--queues is 5, and must be from 6 to 10000"},
		{"a negative number of asks", []string{"--asks", "-1"}, "--asks is -1, and must be from 1 to 1000000"},
		{"a seed that is not a number", []string{"--seed", "x"}, `invalid argument "x" for "--seed" flag`},
		{"an unknown output format", []string{"--output", "xml"},
			`invalid argument "xml" for "--output" flag: it must be text or json`},
		{"an argument", []string{"now"}, `"now"`},
		{"an unknown flag", []string{"--fast"}, "unknown flag: --fast"},
	}
	for _, x := range cases {
		t.Run(x.name, func(t *testing.T) {
			code, out, errs := runCanopy(append([]string{"demo"}, x.args...)...)
			assert.Equal(t, code, 2)
			assert.Equal(t, out, "")
			assert.Assert(t, strings.Contains(errs, x.want), errs)
		})
	}
}
