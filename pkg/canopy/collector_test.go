package canopy_test

import (
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"gotest.tools/v3/assert"

	"github.com/canopy-scheduler/canopy/pkg/canopy"
)

// A registry cannot forget the collector, and goes on gathering it: after Close there is nothing to gather, and no
// error.
func TestCollector_IsEmptyAfterClose(t *testing.T) {
	s, _ := start(t, canopy.Options{})
	registry := prometheus.NewRegistry()
	registry.MustRegister(s.Collector())
	families, err := registry.Gather()
	assert.NilError(t, err)
	assert.Assert(t, len(families) > 10, "%d families", len(families))
	assert.NilError(t, s.Close())
	families, err = registry.Gather()
	assert.NilError(t, err)
	assert.Equal(t, len(families), 0)
}
