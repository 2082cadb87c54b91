package main

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"time"

	"gotest.tools/v3/assert"

	"github.com/canopy-scheduler/canopy/internal/lab/sim"
)

// reportFields are the fields of a report in the order in which they are printed.
var reportFields = []string{
	"nodes", "applications", "asks", "allocated", "preempted", "released", "pending", "rejected", "allocatedResources",
	"wallSeconds", "allocationsPerSecond", "latencyMillis", "queues",
}

type queueReport struct {
	Path                                string
	CurrentPriority                     int64
	Allocated, Pending, Guaranteed, Max map[string]int64
}

type parsedReport struct {
	Nodes, Applications, Asks, Allocated, Released, Pending, Rejected int
	AllocatedResources                                                map[string]int64
	WallSeconds, AllocationsPerSecond                                 float64
	LatencyMillis                                                     struct{ P50, P95, P99 float64 }
	Queues                                                            []queueReport
}

// readReport reads a report, which has more fields at its end.
func readReport(t *testing.T, text string, more ...string) (r parsedReport) {
	t.Helper()
	assert.DeepEqual(t, fieldsOf(t, text), append(slices.Clone(reportFields), more...))
	assert.NilError(t, json.Unmarshal([]byte(text), &r))
	return r
}

func TestReport_FormatsNumbersAndAmounts(t *testing.T) {
	for n, want := range map[int]string{
		0: "0", 999: "999", 1000: "1,000", 1234567: "1,234,567", -1234: "-1,234", -123: "-123",
	} {
		assert.Equal(t, withThousands(n), want)
	}
	got := amountText(map[string]quantity{"pods": 3, "vcore": 1500, "memory": 5 << 29, sim.GPU: 2000})
	assert.Equal(t, got, "1.5 vcore, 2.5 GiB, 2 GPU, 3 pods")
	assert.Equal(t, amountText(map[string]quantity{"pods": 1, sim.GPU: 1000}), "1 GPU, 1 pod")
	assert.Equal(t, amountText(nil), "-")
	for _, want := range []string{"0 nodes accepted", "1 node accepted", "1,000 nodes accepted"} {
		number, _, _ := strings.Cut(want, " ")
		assert.Equal(t, counted(number, "nodes accepted"), want)
	}
	assert.Equal(t, counted("1", "GPUs"), "1 GPU")
	assert.Equal(t, counted("0.1", "GPUs"), "0.1 GPUs")
}

func TestProgress_TerminalLine(t *testing.T) {
	var out strings.Builder
	p := progress{out: &out, terminal: true}
	p.count("asks submitted", 1, 3)
	p.last = p.last.Add(time.Hour)
	p.count("asks submitted", 2, 3) // too soon to be drawn
	p.count("asks submitted", 3, 3)
	p.end()
	p.end()
	assert.Equal(t, out.String(), "\r1 of 3 asks submitted\x1b[K\r3 asks submitted\x1b[K\n")
	out.Reset()
	p.count("tasks placed", 1, 1)
	assert.Equal(t, out.String(), "\r1 task placed\x1b[K")
}
