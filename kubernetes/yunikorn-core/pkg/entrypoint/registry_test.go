package entrypoint

import (
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"gotest.tools/v3/assert"
)

// The default registry has the metrics on request, while the scheduler runs.
func TestStart_MetricsInTheDefaultRegistry(t *testing.T) {
	ours := func() (n int) {
		families, err := prometheus.DefaultGatherer.Gather()
		assert.NilError(t, err)
		for _, f := range families {
			if strings.HasPrefix(f.GetName(), "canopy_") {
				n++
			}
		}
		return n
	}
	without, _ := running(t, environment{envHTTPAddress: none})
	assert.Equal(t, ours(), 0)
	without.StopAll()
	with, _ := running(t, environment{envHTTPAddress: none, envDefaultRegistry: "true"})
	assert.Assert(t, ours() > 10)
	with.StopAll()
	assert.Equal(t, ours(), 0)
}
