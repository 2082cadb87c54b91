package sim_test

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"gotest.tools/v3/assert"

	"github.com/canopy-scheduler/canopy/internal/cli/demo"
	"github.com/canopy-scheduler/canopy/internal/lab/sim"
	"github.com/canopy-scheduler/canopy/internal/server/loop"
	"github.com/canopy-scheduler/canopy/pkg/configs/queuesyaml"
	"github.com/canopy-scheduler/canopy/pkg/objects"
)

func TestClient_SubmitReleaseAudit(t *testing.T) {
	ctx := testContext(t)
	s, c := startPair(t, loop.Options{}, twoQueues)
	assert.NilError(t, c.AddNodes(ctx, sim.Node{ID: "n1", Capacity: amounts(4000, 10)}))
	assert.NilError(t, c.AddApplications(ctx,
		sim.Application{ID: "app-a", Queue: "root.a", User: "ann"},
		sim.Application{ID: "app-b", Queue: "root.b", User: "bob"}))

	low := ask("low", "app-a", 1000)
	low.Priority = 10
	assert.NilError(t, c.Submit(ctx,
		ask("a1", "app-a", 2000), low, ask("a2", "app-a", 1000), ask("b1", "app-b", 2000)))
	assert.NilError(t, c.WaitIdle(ctx))
	assert.DeepEqual(t, c.Running(), []objects.AllocationKey{"a1", "low"})
	assert.DeepEqual(t, c.Waiting(), []objects.AllocationKey{"a2", "b1"})
	assert.NilError(t, s.Audit(ctx, c))

	assert.NilError(t, c.Release(ctx, "a1", "a2"), "one runs, one waits")
	assert.NilError(t, c.WaitIdle(ctx))
	assert.DeepEqual(t, c.Running(), []objects.AllocationKey{"b1", "low"})
	assert.Equal(t, len(c.Waiting()), 0)
	assert.NilError(t, s.Audit(ctx, c))
	assert.Equal(t, c.Counts(), sim.Counts{Nodes: 1, Applications: 2, Asks: 4, Allocated: 3, Released: 1})

	assert.NilError(t, c.Submit(ctx, ask("lost", "missing", 1)))
	assert.NilError(t, c.WaitIdle(ctx))
	assert.Equal(t, c.Counts().Rejected, 1)

	var keys []objects.AllocationKey
	for _, e := range c.Log() {
		if e.Kind == sim.Placed {
			keys = append(keys, e.Key)
		}
	}
	assert.DeepEqual(t, keys, []objects.AllocationKey{"low", "a1", "b1"})
}

// WaitIdle returns after all placements, however small the decision batches are.
func TestClient_WaitIdleWaitsForAllPlacements(t *testing.T) {
	for _, stride := range []int{1, 7, 0} {
		t.Run(fmt.Sprintf("stride %d", stride), func(t *testing.T) {
			ctx := testContext(t)
			s, c := startPair(t, loop.Options{DecisionBatch: stride}, twoQueues)
			const n = 3000
			assert.NilError(t, c.AddNodes(ctx, sim.Node{ID: "n1", Capacity: amounts(n, n), Draining: true}))
			assert.NilError(t, c.AddApplications(ctx, sim.Application{ID: "app", Queue: "root.b", User: "u"}))
			var asks []sim.Ask
			var keys []objects.AllocationKey
			for i := range n {
				asks = append(asks, ask(fmt.Sprintf("k%04d", i), "app", 1))
				keys = append(keys, asks[i].Key)
			}
			assert.NilError(t, c.Submit(ctx, asks...))
			assert.NilError(t, c.WaitIdle(ctx))
			assert.Equal(t, len(c.Waiting()), n, "the node is drained")
			assert.NilError(t, c.OpenNodes(ctx, "n1"))
			assert.NilError(t, c.WaitIdle(ctx))
			assert.Equal(t, len(c.Running()), n)
			assert.NilError(t, c.Release(ctx, keys...))
			assert.NilError(t, c.WaitIdle(ctx))
			assert.Equal(t, c.Counts().Released, n)
			assert.NilError(t, s.Audit(ctx, c))
		})
	}
}

func TestClient_ReregistrationForgetsState(t *testing.T) {
	ctx := testContext(t)
	s, first := startPair(t, loop.Options{}, twoQueues)
	assert.NilError(t, first.AddNodes(ctx, sim.Node{ID: "n1", Capacity: amounts(1, 1)}))

	second, err := sim.Dial(ctx, s.Address(), "test")
	assert.NilError(t, err)
	t.Cleanup(func() { assert.NilError(t, second.Close()) })
	assert.NilError(t, second.Register(ctx, twoQueues))
	assert.NilError(t, second.AddNodes(ctx, sim.Node{ID: "n1", Capacity: amounts(2, 2)}),
		"the earlier registration was discarded")
	assert.NilError(t, s.Audit(ctx, second))

	err = first.WaitIdle(ctx)
	assert.ErrorContains(t, err, "stream has ended")
}

func TestClient_RejectionsAreErrors(t *testing.T) {
	ctx := testContext(t)
	_, c := startPair(t, loop.Options{}, twoQueues)
	err := c.AddApplications(ctx, sim.Application{ID: "x", Queue: "root.none", User: "u"})
	assert.ErrorContains(t, err, "application x for queue root.none was rejected: ")

	_, c = startPair(t, loop.Options{}, twoQueues)
	err = c.AddNodes(ctx, sim.Node{ID: "n", Capacity: amounts(-1, 1)})
	assert.ErrorContains(t, err, "node n was rejected: ")

	assert.Error(t, c.Release(ctx, "k"), "k is neither pending nor placed and cannot be released")

	err = c.Register(ctx, "partitions: 1")
	assert.ErrorContains(t, err, "registering resource manager test: ")
}

func TestClient_DialFailsWithoutServer(t *testing.T) {
	l, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	assert.NilError(t, err)
	address := l.Addr().String()
	assert.NilError(t, l.Close())
	_, err = sim.Dial(testContext(t), address, "test")
	assert.ErrorContains(t, err, "connecting to "+address+": connection error: ")
	assert.ErrorContains(t, err, "connection refused")

	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err = sim.Dial(ctx, "127.0.0.1:1", "test")
	assert.ErrorContains(t, err, "connecting to 127.0.0.1:1: ")
}

func TestClient_DialPassesOnTheReason(t *testing.T) {
	web := httptest.NewServer(http.NotFoundHandler())
	defer web.Close()
	for _, c := range []struct{ name, address, want string }{
		{"no port", "127.0.0.1", "address 127.0.0.1: missing port in address: HOST:PORT is needed"},
		{"an empty port", "localhost:", "address localhost:: missing port in address: HOST:PORT is needed"},
		{"no host and no port", "", "missing port in address"},
		{"a port out of range", "127.0.0.1:99999", "connecting to 127.0.0.1:99999: connection error: desc = " +
			`"transport: Error while dialing: dial tcp: address 99999: invalid port"`},
		{"a host that does not resolve", "canopy.invalid:1", "lookup canopy.invalid"},
		{"an HTTP port", web.Listener.Addr().String(), "error reading server preface: "},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := sim.Dial(testContext(t), c.address, "test")
			assert.ErrorContains(t, err, c.want)
		})
	}
}

// replaceMax is twoQueues with another max of root.a.
func replaceMax(with string) string { return strings.Replace(twoQueues, "vcore: 3", with, 1) }

func TestClient_AuditFindsErrors(t *testing.T) {
	ctx := testContext(t)
	_, c := startPair(t, loop.Options{}, twoQueues)
	assert.NilError(t, c.AddNodes(ctx, sim.Node{ID: "n1", Capacity: amounts(8000, 10)}))
	assert.NilError(t, c.AddApplications(ctx, sim.Application{ID: "app", Queue: "root.a", User: "u"}))
	assert.NilError(t, c.Submit(ctx, ask("k1", "app", 2000), ask("k2", "app", 2000)))
	assert.NilError(t, c.WaitIdle(ctx))

	conf, _ := queuesyaml.Load([]byte(twoQueues))
	assert.NilError(t, c.Audit(conf.Partitions[0]))

	wider, _ := queuesyaml.Load([]byte(replaceMax("vcore: 4")))
	const found = "ask k2 of queue root.a is pending, and node n1 has space for it"
	assert.Error(t, c.Audit(wider.Partitions[0]), found+
		" (nodes may be reserved, which is not known here; check with reservation: {enabled: false})")
	wider.Partitions[0].Reservation.Enabled = false
	assert.Error(t, c.Audit(wider.Partitions[0]), found)

	narrower, _ := queuesyaml.Load([]byte(replaceMax("vcore: 1")))
	narrower.Partitions[0].Reservation.Enabled = false
	assert.Error(t, c.Audit(narrower.Partitions[0]), "queue root.a may hold ≤{vcore=1000}, and "+
		"{memory=1 vcore=2000} is allocated")

	lines := c.QueueLines(conf.Partitions[0])
	assert.Equal(t, len(lines), 3)
	assert.Equal(t, lines[0].CurrentPriority, int32(5), "with the offset of root.a")
	assert.Equal(t, lines[1].Path, objects.QueuePath("root.a"))
	assert.DeepEqual(t, lines[1].Pending, demo.Quantities{"vcore": 2000, "memory": 1})
	assert.DeepEqual(t, lines[0].Max, demo.Quantities{"vcore": 8000, "memory": 10})
}
