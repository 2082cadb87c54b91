package main

import (
	"encoding/json"
	"slices"
	"testing"

	"gotest.tools/v3/assert"
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
