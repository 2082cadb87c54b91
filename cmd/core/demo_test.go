package main

import (
	"encoding/json"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"
	"gotest.tools/v3/assert"

	"github.com/canopy-scheduler/canopy/internal/sim"
)

// reportFields are the fields of a report in the order in which they are printed.
var reportFields = []string{
	"nodes", "applications", "asks", "allocated", "preempted", "released", "pending", "rejected", "allocatedResources",
	"wallSeconds", "allocationsPerSecond", "latencyMillis", "queues",
}

// fieldsOf lists the fields of a JSON object in the order in which they are written, and
// wants nothing else to be in the text.
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

type queueReport struct {
	Path                                string
	CurrentPriority                     int64
	Allocated, Pending, Guaranteed, Max map[string]int64
}

type report struct {
	Nodes, Applications, Asks, Allocated, Released, Pending, Rejected int
	AllocatedResources                                                map[string]int64
	WallSeconds, AllocationsPerSecond                                 float64
	LatencyMillis                                                     struct{ P50, P95, P99 float64 }
	Queues                                                            []queueReport
}

// readReport reads a report, which has more fields at its end.
func readReport(t *testing.T, text string, more ...string) (r report) {
	t.Helper()
	assert.DeepEqual(t, fieldsOf(t, text), append(slices.Clone(reportFields), more...))
	assert.NilError(t, json.Unmarshal([]byte(text), &r))
	return r
}

func TestDemoInJSON(t *testing.T) {
	defer goleak.VerifyNone(t)
	code, out, errs := canopy("demo", "--nodes", "5", "--queues", "8", "--asks", "300", "--seed", "2",
		"--output", "json")
	assert.Equal(t, code, 0, errs)
	r := readReport(t, out, "preemption")
	assert.Equal(t, r.Nodes, 5)
	assert.Equal(t, r.Asks, 300)
	assert.Equal(t, r.Allocated, 300)
	assert.Equal(t, r.Pending, 0)
	assert.Assert(t, r.Released > 0 && r.Released < 300)
	assert.Assert(t, r.WallSeconds > 0 && r.AllocationsPerSecond > 0 && r.LatencyMillis.P50 > 0)
	assert.Equal(t, len(r.Queues), 9)
	assert.Equal(t, r.Queues[0].Path, "root")
	assert.Equal(t, r.Queues[0].CurrentPriority, int64(-2147483648))
	assert.DeepEqual(t, r.Queues[0].Allocated, r.AllocatedResources)
	assert.Assert(t, strings.Contains(errs, "wave 1 of "), errs)

	var got demoReport
	assert.NilError(t, json.Unmarshal([]byte(out), &got))
	scene := got.Preemption
	assert.Equal(t, len(scene.Victims), 2)
	for _, v := range scene.Victims {
		assert.Assert(t, v.Node == scene.Node && v.Priority < scene.Priority, "%+v", scene)
	}
	assert.Assert(t, scene.PlacedOn != "" && scene.PlacedOn == scene.Node)
	assert.Assert(t, !strings.Contains(errs, "\r"), "no cursor movements where there is no terminal")
}

func TestDemoInText(t *testing.T) {
	code, out, errs := canopy("demo", "--nodes", "2", "--queues", "6", "--asks", "50")
	assert.Equal(t, code, 0, errs)
	lines := strings.Split(out, "\n")
	assert.DeepEqual(t, strings.Fields(lines[0]),
		[]string{"QUEUE", "PRIORITY", "ALLOCATED", "PENDING", "GUARANTEED", "MAX"})
	assert.Assert(t, strings.HasPrefix(lines[1], "root "))
	assert.Assert(t, strings.Contains(out, "\nasks          50: 50 placed, "), out)
	assert.Assert(t, strings.Contains(out, "\nevery invariant held, and every ask that could be placed was\n"), out)
	end := regexp.MustCompile(`\npreemption: 3 nodes are full of 12 allocations, with priorities from 0 to 20\n` +
		`  urgent asks for 2 cores with priority 1000, and no node has room\n` +
		`  told to leave \(PREEMPTED_BY_SCHEDULER\): batch-\d\d \(priority 0\), batch-\d\d \(priority 0\); urgent is nominated for their node, (node-\d)\n` +
		`  the resource manager says that they have left\n  urgent is placed on (node-\d)\n$`)
	m := end.FindStringSubmatch(out)
	assert.Assert(t, m != nil && m[1] == m[2], out)
}

func TestDemoRefusesNonsense(t *testing.T) {
	cases := []struct {
		name string
		args []string
		want string
	}{
		{"no nodes", []string{"--nodes", "0"}, "--nodes is 0, and must be from 1 to 20000"},
		{"too few queues", []string{"--queues", "5"}, "--queues is 5, and must be from 6 to 10000"},
		{"fewer than no asks", []string{"--asks", "-1"}, "--asks is -1, and must be from 1 to 1000000"},
		{"no number", []string{"--seed", "x"}, `invalid argument "x" for "--seed" flag`},
		{"an unknown form", []string{"--output", "xml"}, `--output is text or json, not "xml"`},
		{"an argument", []string{"now"}, `"now"`},
		{"an unknown flag", []string{"--fast"}, "unknown flag: --fast"},
	}
	for _, x := range cases {
		t.Run(x.name, func(t *testing.T) {
			code, out, errs := canopy(append([]string{"demo"}, x.args...)...)
			assert.Equal(t, code, 2)
			assert.Equal(t, out, "")
			assert.Assert(t, strings.Contains(errs, x.want), errs)
		})
	}
}

func TestNumbersForPeople(t *testing.T) {
	for n, want := range map[int]string{
		0: "0", 999: "999", 1000: "1,000", 1234567: "1,234,567", -1234: "-1,234", -123: "-123",
	} {
		assert.Equal(t, grouped(n), want)
	}
	got := amountText(map[string]quantity{"pods": 3, "vcore": 1500, "memory": 5 << 29, sim.GPU: 2000})
	assert.Equal(t, got, "1.5 vcore, 2.5 GiB, 2 GPU, 3 pods")
	assert.Equal(t, amountText(nil), "-")
}

func TestProgressOnATerminalIsOneLine(t *testing.T) {
	var out strings.Builder
	p := progress{out: &out, terminal: true}
	p.count("asks submitted", 1, 3)
	p.last = p.last.Add(time.Hour)
	p.count("asks submitted", 2, 3) // too soon to be drawn
	p.count("asks submitted", 3, 3)
	p.end()
	p.end()
	assert.Equal(t, out.String(), "\r1 of 3 asks submitted\x1b[K\r3 asks submitted\x1b[K\n")
}
