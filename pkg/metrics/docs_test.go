package metrics

import (
	"os"
	"strings"
	"testing"

	dto "github.com/prometheus/client_model/go"
	"gotest.tools/v3/assert"
)

// The tables of docs/METRICS.md have every family with its type, its labels and their values, and no other family.
func TestDocs_EveryMetricIsDocumented(t *testing.T) {
	text, err := os.ReadFile("../../docs/METRICS.md")
	assert.NilError(t, err)
	rows := map[string]string{}
	for line := range strings.Lines(string(text)) {
		if name, rest, ok := strings.Cut(strings.TrimPrefix(line, "| `"), "` | "); ok && strings.HasPrefix(line, "| `") {
			rows[name] = rest
		}
	}
	labelValues := map[*family][]string{
		expectedStarts:    expectedStartOutcomes[:],
		queueApplications: append(stateLabels[:], endedLabels[:]...), queueEnded: endedLabels[:],
		victims: reasonLabels[:len(reasonLabels)-1], nominationsEnded: nominationEndLabels[:len(nominationEndLabels)-1],
	}
	for _, f := range families {
		row, ok := rows[f.name]
		assert.Assert(t, ok, "%s has no row", f.name)
		delete(rows, f.name)
		kind := "counter"
		if f.kind == dto.MetricType_GAUGE {
			kind = "gauge"
		}
		assert.Assert(t, strings.HasPrefix(row, kind+" |"), "%s is a %s: %s", f.name, kind, row)
		if len(f.labels) == 0 {
			assert.Assert(t, strings.HasPrefix(row, kind+" | none"), row)
			continue
		}
		for _, label := range f.labels[1:] {
			assert.Assert(t, strings.Contains(row, "`"+label+"`"), "%s has the label %s: %s", f.name, label, row)
		}
		for _, word := range labelValues[f] {
			assert.Assert(t, strings.Contains(row, word), "%s has the word %s: %s", f.name, word, row)
		}
	}
	delete(rows, "yunikorn_scheduler_<resource>_node_usage_total")
	assert.Assert(t, strings.HasPrefix(rows[decisionRunsName], "histogram | | process"))
	delete(rows, decisionRunsName)
	assert.Assert(t, strings.HasPrefix(rows[latencyName], "histogram | | process"))
	delete(rows, latencyName)
	assert.Equal(t, len(rows), 0, "%v", rows)
}
