package sim_test

import (
	"context"
	"testing"
	"time"

	"go.uber.org/goleak"
	"gotest.tools/v3/assert"

	"github.com/canopy-scheduler/canopy/internal/lab/sim"
	"github.com/canopy-scheduler/canopy/internal/server/loop"
	"github.com/canopy-scheduler/canopy/pkg/objects"
	"github.com/canopy-scheduler/canopy/pkg/resources"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// twoQueues is the configuration of small tests.
const twoQueues = `
partitions:
  - name: default
    queues:
      - name: root
        submitacl: '*'
        queues:
          - name: a
            properties: {priority.offset: "5"}
            resources: {max: {vcore: 3}}
          - name: b
`

// testContext returns a context that fails a test before the test runs into its own deadline.
func testContext(t *testing.T) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	t.Cleanup(cancel)
	return ctx
}

// startPair starts a scheduler and registers a client with it.
func startPair(t *testing.T, opt loop.Options, config string) (*sim.Server, *sim.Client) {
	t.Helper()
	ctx := testContext(t)
	s, err := sim.Serve(ctx, sim.ServerOptions{Loop: opt})
	assert.NilError(t, err)
	t.Cleanup(func() { assert.NilError(t, s.Close()) })
	c, err := sim.Dial(ctx, s.Address(), "test")
	assert.NilError(t, err)
	t.Cleanup(func() { assert.NilError(t, c.Close()) })
	assert.NilError(t, c.Register(ctx, config))
	return s, c
}

func amounts(vcore, memory resources.Quantity) resources.Amounts {
	return resources.FromMap(map[string]resources.Quantity{"vcore": vcore, "memory": memory})
}

func ask(key, app string, vcore resources.Quantity) sim.Ask {
	return sim.Ask{Key: objects.AllocationKey(key), App: objects.AppID(app), Amounts: amounts(vcore, 1)}
}
