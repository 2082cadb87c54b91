package metrics_test

import (
	"bytes"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/common/expfmt"
	"gotest.tools/v3/assert"
)

// A registry of an embedding program, which has the families of Go itself, gathers the lines that a scrape has of the
// scheduler.
func TestCollector_HasWhatAScrapeHas(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := busyFixture(t)
		registry := prometheus.NewRegistry()
		registry.MustRegister(collectors.NewGoCollector(), w.metrics.Collector(w.Cluster))
		families, err := registry.Gather()
		assert.NilError(t, err)
		var gathered bytes.Buffer
		for _, f := range families {
			_, err := expfmt.MetricFamilyToText(&gathered, f)
			assert.NilError(t, err)
		}
		scraped := ours(w.scrape().Body.String())
		assert.Assert(t, len(scraped) > 100, "%d lines", len(scraped))
		assert.DeepEqual(t, ours(gathered.String()), scraped)
		assert.Equal(t, strings.Count(gathered.String(), "# TYPE go_goroutines "), 1)
	})
}

// ours returns the lines of the scheduler in an exposition, sorted: a registry sorts by labels.
func ours(text string) (lines []string) {
	for line := range strings.Lines(text) {
		name := strings.TrimPrefix(strings.TrimPrefix(line, "# HELP "), "# TYPE ")
		if strings.HasPrefix(name, "canopy_") || strings.HasPrefix(name, "yunikorn_") {
			lines = append(lines, line)
		}
	}
	slices.Sort(lines)
	return lines
}
