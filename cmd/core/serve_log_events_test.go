package main

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"gotest.tools/v3/assert"

	"github.com/canopy-scheduler/canopy/internal/lab/sim"
	"github.com/canopy-scheduler/canopy/pkg/objects"
	"github.com/canopy-scheduler/canopy/pkg/resources"
)

const factsConfig = `
partitions:
  - name: default
    queues:
      - name: root
        submitacl: '*'
        queues:
          - name: shared
            properties:
              preemption.priority: leaf
`

// logLines are the lines of a log in JSON, by message.
func logLines(t *testing.T, text string) map[string][]map[string]any {
	t.Helper()
	out := map[string][]map[string]any{}
	for line := range strings.Lines(text) {
		fields := map[string]any{}
		assert.NilError(t, json.Unmarshal([]byte(line), &fields), line)
		message := fields["msg"].(string)
		out[message] = append(out[message], fields)
	}
	return out
}

// TestServe_LogsSchedulingEvents starts the program, causes events over gRPC, and finds their log
// lines, those at level debug only with --log-level debug. The process ends within the window of the
// rejections, and all are counted.
func TestServe_LogsSchedulingEvents(t *testing.T) {
	program := buildProgram(t)
	for _, level := range []string{"info", "debug"} {
		p, s := startServing(t, program, "--log-format", "json", "--log-level", level, "--log-burst", "0")
		c, err := sim.Dial(t.Context(), s.conn.Target(), "rm-facts")
		assert.NilError(t, err)
		vcore := func(n resources.Quantity) resources.Amounts {
			return resources.FromMap(map[string]resources.Quantity{"vcore": n})
		}
		assert.NilError(t, c.Register(t.Context(), factsConfig))
		assert.NilError(t,
			c.AddNodes(t.Context(), sim.Node{ID: "n1", Capacity: vcore(4000)}, sim.Node{ID: "n2", Capacity: vcore(1000)}))
		assert.NilError(t, c.DrainNodes(t.Context(), "n2"))
		assert.NilError(t, c.WaitIdle(t.Context()))
		assert.NilError(t, c.AddApplications(t.Context(), sim.Application{ID: "app", Queue: "root.shared", User: "ann"}))
		assert.NilError(t, c.Submit(t.Context(), sim.Ask{Key: "low", App: "app", Amounts: vcore(4000)}))
		assert.NilError(t, c.WaitIdle(t.Context()))
		assert.NilError(t,
			c.Submit(t.Context(), sim.Ask{Key: "high", App: "app", Amounts: vcore(3000), Priority: 10, Preempts: true}))
		assert.NilError(t, c.WaitIdle(t.Context()))
		assert.NilError(t, c.Confirm(t.Context(), "low"))
		assert.NilError(t, c.WaitIdle(t.Context()))
		const bad = 40
		var asks []sim.Ask
		for i := range bad {
			asks = append(asks, sim.Ask{Key: objects.AllocationKey(fmt.Sprint("bad-", i)), App: "app", Amounts: vcore(-1)})
		}
		assert.NilError(t, c.Submit(t.Context(), asks...))
		assert.NilError(t, c.WaitIdle(t.Context()))
		assert.NilError(t, c.Close())
		p.stop()

		found := logLines(t, p.logs.String())
		one := func(message, level string) map[string]any {
			t.Helper()
			assert.Equal(t, len(found[message]), 1, "%s\n%s", message, &p.logs)
			fields := found[message][0]
			assert.Equal(t, fields["level"], level)
			return fields
		}
		assert.Equal(t, len(found["node added"]), 2)
		assert.Equal(t, found["node added"][0]["capacity"], "vcore=4")
		assert.Equal(t, one("node made unschedulable", "info")["node"], "n2")
		made := one("preemption for an ask", "info")
		assert.Equal(t, made["partition"], "default")
		assert.Equal(t, made["key"], "high")
		assert.Equal(t, made["priority"], 10.0)
		assert.Equal(t, made["preemptionReason"], "priority")
		assert.DeepEqual(t, made["victimKeys"], []any{"low in root.shared"})
		assert.Equal(t, one("nominated ask placed", "info")["key"], "high")
		sum := 0.0
		for _, line := range found["asks rejected"] {
			if line["kind"] == "invalid-amounts" {
				assert.Equal(t, line["application"], "app")
				sum += line["count"].(float64)
			}
		}
		assert.Equal(t, sum, float64(bad), &p.logs)
		for _, message := range []string{"ask received", "ask placed", "application accepted",
			"application entered a state"} {
			assert.Equal(t, len(found[message]) > 0, level == "debug", "%s at %s", message, level)
		}
	}
}
