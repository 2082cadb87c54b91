package sim_test

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/apache/yunikorn-scheduler-interface/lib/go/si"
	"gotest.tools/v3/assert"

	"github.com/canopy-scheduler/canopy/internal/lab/sim"
)

// recordingScheduler accepts everything, records what it gets, and is restarted by forgetting that. It places the ask
// "k" on node "n", and confirms a reported allocation.
type recordingScheduler struct {
	si.UnimplementedSchedulerServer
	address string

	mu       sync.Mutex
	messages []string
	recovery *si.AllocationResponse // the answer to a reported allocation; nil: that it runs there
	preempts bool                   // "k" is preempted as soon as it is placed
}

func (r *recordingScheduler) Kill() error { return nil }

func (r *recordingScheduler) Restart(context.Context) (string, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.messages = nil
	return r.address, nil
}

func (r *recordingScheduler) record(format string, args ...any) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.messages = append(r.messages, fmt.Sprintf(format, args...))
}

func (r *recordingScheduler) RegisterResourceManager(_ context.Context, m *si.RegisterResourceManagerRequest) (
	*si.RegisterResourceManagerResponse, error) {
	r.record("register %s: %s", m.RmID, m.Config)
	return &si.RegisterResourceManagerResponse{}, nil
}

func (r *recordingScheduler) UpdateNode(s si.Scheduler_UpdateNodeServer) error {
	known := map[string]bool{}
	return answerEach(s, func(m *si.NodeRequest) *si.NodeResponse {
		answer := &si.NodeResponse{}
		for _, n := range m.Nodes {
			created := n.Action == si.NodeInfo_CREATE || n.Action == si.NodeInfo_CREATE_DRAIN
			switch {
			case created && known[n.NodeID]: // a barrier
				answer.Rejected = append(answer.Rejected, &si.RejectedNode{NodeID: n.NodeID})
				continue
			case created:
				answer.Accepted = append(answer.Accepted, &si.AcceptedNode{NodeID: n.NodeID})
			}
			known[n.NodeID] = true
			r.record("node %s %s", n.NodeID, n.Action)
		}
		return answer
	})
}

func (r *recordingScheduler) UpdateApplication(s si.Scheduler_UpdateApplicationServer) error {
	return answerEach(s, func(m *si.ApplicationRequest) *si.ApplicationResponse {
		for _, a := range m.New {
			r.record("application %s in %s of %s %v", a.ApplicationID, a.QueueName, a.Ugi.User, a.Tags)
		}
		return acceptApplications(m)
	})
}

func (r *recordingScheduler) UpdateAllocation(s si.Scheduler_UpdateAllocationServer) error {
	return answerEach(s, func(m *si.AllocationRequest) *si.AllocationResponse {
		answer := &si.AllocationResponse{}
		for _, x := range m.Allocations {
			if strings.HasPrefix(x.AllocationKey, "canopy-sim-barrier") {
				answer.RejectedAllocations = append(answer.RejectedAllocations,
					&si.RejectedAllocation{AllocationKey: x.AllocationKey})
				continue
			}
			r.record("%s of %s on %q", x.AllocationKey, x.ApplicationID, x.NodeID)
			switch {
			case x.NodeID == "" && x.AllocationKey == "k":
				answer.New = append(answer.New, &si.Allocation{AllocationKey: "k", NodeID: "n"})
				if r.preempts {
					answer.Released = append(answer.Released, &si.AllocationRelease{
						AllocationKey: "k", TerminationType: si.TerminationType_PREEMPTED_BY_SCHEDULER,
					})
				}
			case x.NodeID != "" && r.recovery != nil:
				answer = r.recovery
			case x.NodeID != "":
				answer.New = append(answer.New, &si.Allocation{AllocationKey: x.AllocationKey, NodeID: x.NodeID})
			}
		}
		return answer
	})
}

// placedAnswer is the number of the answer that places "k": two nodes and two applications are before it.
const placedAnswer = 5

// startRecording starts a recordingScheduler, which the client kills after every n answers.
func startRecording(t *testing.T, r *recordingScheduler, n int) *sim.Client {
	t.Helper()
	ctx := testContext(t)
	r.address = serveFake(t, ctx, r)
	c, err := sim.Dial(ctx, r.address, "test")
	assert.NilError(t, err)
	t.Cleanup(func() { assert.NilError(t, c.Close()) })
	c.KillEvery(n, r, nil)
	assert.NilError(t, c.Register(ctx, "the configuration"))
	assert.NilError(t, c.AddNodes(ctx,
		sim.Node{ID: "n", Capacity: amounts(3, 9)}, sim.Node{ID: "d", Capacity: amounts(3, 9), Draining: true}))
	assert.NilError(t,
		c.AddApplications(ctx, sim.Application{ID: "runs", Queue: "root.a", User: "u"},
			sim.Application{ID: "app", Queue: "root.b", User: "v"}))
	return c
}

// The order of a recovery (RMI-58): unschedulable nodes, applications, allocations with their nodes, asks, and at last
// the nodes that are schedulable, each in the order of submission. What was released is gone.
func TestClient_RecoveryIsInOrder(t *testing.T) {
	ctx := testContext(t)
	r := &recordingScheduler{}
	c := startRecording(t, r, placedAnswer)
	assert.NilError(t, c.Submit(ctx, ask("z", "app", 1), ask("gone", "app", 1), ask("b", "app", 1)))
	assert.NilError(t, c.WaitIdle(ctx))
	assert.NilError(t, c.Release(ctx, "gone"))
	assert.NilError(t, c.Submit(ctx, ask("k", "runs", 2)))
	assert.NilError(t, c.WaitIdle(ctx))
	r.mu.Lock()
	defer r.mu.Unlock()
	assert.DeepEqual(t, r.messages, []string{
		"register test: the configuration",
		"node n CREATE_DRAIN", "node d CREATE_DRAIN",
		"application runs in root.a of u map[application.create.force:true]", "application app in root.b of v map[]",
		`k of runs on "n"`,
		`z of app on ""`, `b of app on ""`,
		"node n DRAIN_TO_SCHEDULABLE",
	})
}

// A scheduler that does not recover what is reported is found out.
func TestClient_RecoveryDetectsInvalidAnswers(t *testing.T) {
	placed := func(key, node string) *si.Allocation { return &si.Allocation{AllocationKey: key, NodeID: node} }
	for _, x := range []struct {
		name string
		says *si.AllocationResponse
		want string
	}{
		{"another node", &si.AllocationResponse{New: []*si.Allocation{placed("k", "d")}},
			"k was placed on node n and again on node d"},
		{"a confirmation too many", &si.AllocationResponse{New: []*si.Allocation{placed("k", "n"), placed("k", "n")}},
			"k was placed on node n and again on node n"},
		{"a rejection",
			&si.AllocationResponse{RejectedAllocations: []*si.RejectedAllocation{{AllocationKey: "k", Reason: "no"}}},
			"ask k was rejected, and it is not pending: no"},
		{"a placement before a node is schedulable", &si.AllocationResponse{New: []*si.Allocation{placed("z", "n")}},
			"z was placed on node n during the recovery, before a node is schedulable"},
	} {
		t.Run(x.name, func(t *testing.T) {
			ctx := testContext(t)
			c := startRecording(t, &recordingScheduler{recovery: x.says}, placedAnswer)
			assert.NilError(t, c.Submit(ctx, ask("z", "app", 1), ask("k", "runs", 2)))
			assert.Error(t, c.WaitIdle(ctx), "waiting for the scheduler to be idle: recovery 1: "+x.want)
		})
	}
}

// The victims of a killed scheduler are not known to the next one, and would be lost or preempted again.
func TestClient_RecoveryRefusesUnconfirmedVictims(t *testing.T) {
	ctx := testContext(t)
	c := startRecording(t, &recordingScheduler{preempts: true}, placedAnswer+1)
	assert.NilError(t, c.Submit(ctx, ask("k", "runs", 2)))
	assert.Error(t, c.WaitIdle(ctx),
		"waiting for the scheduler to be idle: recovery 1: the release of victim k is not confirmed")
}
