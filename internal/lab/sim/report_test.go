package sim

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/apache/yunikorn-scheduler-interface/lib/go/si"
	"google.golang.org/grpc"
	"gotest.tools/v3/assert"

	"github.com/canopy-scheduler/canopy/pkg/objects"
	"github.com/canopy-scheduler/canopy/pkg/resources"
)

func TestLatency_NearestRank(t *testing.T) {
	assert.Equal(t, LatencyOf(nil), Latency{})
	assert.Equal(t, LatencyOf([]time.Duration{2500 * time.Microsecond}), Latency{2.5, 2.5, 2.5})
	var delays []time.Duration
	for i := 200; i > 0; i-- {
		delays = append(delays, time.Duration(i)*time.Millisecond)
	}
	assert.Equal(t, LatencyOf(delays), Latency{P50: 100, P95: 190, P99: 198})
	assert.Equal(t, delays[0], 200*time.Millisecond, "the argument is not sorted")
}

// registration is a scheduler that accepts a registration and opens no stream.
type registration struct {
	si.SchedulerClient
	at time.Time // when it was accepted
}

func (r *registration) RegisterResourceManager(
	context.Context, *si.RegisterResourceManagerRequest, ...grpc.CallOption) (*si.RegisterResourceManagerResponse, error) {
	r.at = time.Now()
	return &si.RegisterResourceManagerResponse{}, nil
}

func (*registration) UpdateNode(context.Context, ...grpc.CallOption) (si.Scheduler_UpdateNodeClient, error) {
	return nil, errors.New("no stream")
}

func TestTiming_StartsAfterRegistration(t *testing.T) {
	r := &registration{}
	c := &Client{connection: &connection{api: r}}
	assert.ErrorContains(t, c.Register(t.Context(), ""), "opening the node stream: no stream")
	assert.Assert(t, !c.started.Before(r.at), "started at %v, registered at %v", c.started, r.at)
}

func TestClock_NeverGoesBack(t *testing.T) {
	c := NewClock()
	c.Set(traceTime(10))
	c.Set(traceTime(5))
	assert.Equal(t, c.Now(), traceTime(10))
	assert.Equal(t, traceTime(maxTraceSeconds).Before(time.Now()), true, "every time of a trace is in the past")
}

func TestBalance_FindsErrors(t *testing.T) {
	two := resources.FromMap(map[string]resources.Quantity{"vcore": 2})
	for _, c := range []struct {
		name  string
		spoil func(b *clientState)
		want  string
	}{
		{"a consistent log", func(*clientState) {}, ""},
		{"a missing event", func(b *clientState) { b.log = b.log[:2] },
			"node n: the log leaves {vcore=4}, {vcore=2} runs there, and {vcore=2} is counted"},
		{"a wrong sum of a node", func(b *clientState) { b.machines["n"].used = resources.Amounts{} },
			"node n: the log leaves {vcore=2}, {vcore=2} runs there, and {} is counted"},
		{"an event without resources", func(b *clientState) { b.log = append(b.log, Event{Kind: Released, Node: "n"}) },
			"of 2 allocations 1 were preempted and 1 released, which leaves 0, and 1 run"},
		{"an allocation on an unknown node", func(b *clientState) {
			b.log = append(b.log, Event{Placed, "c", "m", two}, Event{Released, "d", "n", resources.Amounts{}})
		}, "the log leaves {vcore=4}, and {vcore=2} runs"},
	} {
		t.Run(c.name, func(t *testing.T) {
			client := &Client{clientState: newClientState()}
			b := &client.clientState
			b.machines["n"] = &machine{Node: Node{ID: "n"}, used: two}
			b.askStates["a"] = &askState{Ask: Ask{Key: "a", Amounts: two}, node: "n"}
			b.log = []Event{{Placed, "a", "n", two}, {Placed, "b", "n", two}, {Preempted, "b", "n", two}}
			c.spoil(b)
			_, err := client.Balance()
			if c.want == "" {
				assert.NilError(t, err)
				return
			}
			assert.Error(t, err, c.want)
		})
	}
}

// A confirmation has the termination type of the victim, and frees its resources at the client at once.
func TestClient_ConfirmationHasTerminationType(t *testing.T) {
	two := resources.FromMap(map[string]resources.Quantity{"vcore": 2})
	c := &Client{clientState: newClientState()}
	c.machines["n"] = &machine{Node: Node{ID: "n"}, used: two}
	c.askStates["k"] = &askState{Ask: Ask{Key: "k", App: "app", Amounts: two}, node: "n"}
	c.onPreempted(c.askStates["k"], "preempted (priority) for ask urgent of application x")
	assert.Equal(t, c.UnconfirmedVictims()[0].Preemptor, objects.AllocationKey("urgent"))
	m := &si.AllocationReleasesRequest{}
	assert.NilError(t, c.recordConfirmed([]objects.AllocationKey{"k"}, m))
	r := m.AllocationsToRelease[0]
	assert.Equal(t, r.TerminationType, si.TerminationType_PREEMPTED_BY_SCHEDULER)
	assert.Equal(t, r.AllocationKey+" "+r.ApplicationID, "k app")
	assert.Assert(t, c.machines["n"].used.IsZero() && len(c.Running()) == 0)
	assert.Equal(t, len(c.UnconfirmedVictims()), 0)
}
