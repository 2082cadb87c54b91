package bench

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/canopy-scheduler/canopy/internal/lab/measure"

	"github.com/apache/yunikorn-scheduler-interface/lib/go/si"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
)

// hostileSpec describes an attack.
type hostileSpec struct {
	Attack         string `json:"attack"`
	Method         string `json:"method,omitempty"`         // of attackMessages
	Entry          int    `json:"entry,omitempty"`          // the field of the message that is sent empty, repeatedly
	Bytes          int    `json:"bytes,omitempty"`          // of a message
	UnregisteredRM bool   `json:"unregisteredRM,omitempty"` // the messages name an RM that is not registered
	Streams        int    `json:"streams,omitempty"`        // of attackIdle and attackStale
	Seconds        int    `json:"seconds"`                  // minimum duration of each phase
}

// The attacks.
const (
	attackMessages = "messages" // several large messages at once, repeatedly
	attackUnread   = "unread"   // messages whose answers are not read
	attackIdle     = "idle"     // streams without messages
	attackStale    = "stale"    // streams that send after a later registration of their resource manager
)

// The families of times: from an ask to its allocation.
const (
	beforeAttackTimes = "askBeforeAttack"
	duringAttackTimes = "askDuringAttack"
)

// measureHostile measures what an attack costs a server and its regular client. Server, attacker and
// client are separate processes; the attacker has the lowest priority, as if it ran on another machine.
func measureHostile(ctx context.Context, r *result, j Job) (err error) {
	spec := j.Hostile
	j.raisePriority()
	server, err := startServer(ctx, j.Server)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, server.stop()) }()
	j.raisePriorityAboveServer()
	c, err := dialRegular(ctx, server.grpc)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, c.conn.Close()) }()
	attack := func(ctx context.Context) (Answer, error) {
		return j.spawner()(ctx, Job{Measure: Attack, Attack: &attackJob{Spec: spec, Address: server.grpc}})
	}
	if spec.Attack == attackStale { // its streams are opened before the last registration
		if err := c.register(ctx); err != nil {
			return err
		}
		a := &attacker{spec: spec, address: server.grpc}
		if err := a.prepare(ctx); err != nil {
			return err
		}
		defer a.close()
		attack = func(ctx context.Context) (Answer, error) {
			err := a.run(ctx)
			return a.answer(), err
		}
	}
	if err := c.begin(ctx); err != nil {
		return err
	}
	minDuration := time.Duration(spec.Seconds) * time.Second
	if err := c.submitFor(ctx, r.family(beforeAttackTimes), minDuration, nil); err != nil {
		return err
	}
	before, err := server.memory("VmRSS")
	if err != nil {
		return err
	}
	over := make(chan struct{})
	var found Answer
	var failed error
	go func() { defer close(over); found, failed = attack(ctx) }()
	err = c.submitFor(ctx, r.family(duringAttackTimes), 0, over)
	<-over
	if err := errors.Join(err, failed); err != nil {
		return err
	}
	peak, err := server.memory("VmHWM")
	if err != nil {
		return err
	}
	r.sample["serverPeakMemory"] = peak
	r.sample["attackMemory"] = max(0, peak-before)
	for _, name := range []string{"attackMessages", "attackRefused", "attackStreamsKept"} {
		r.sample[name] = found.Sample[name]
	}
	return nil
}

// regularClient is the client that is not attacking.
type regularClient struct {
	conn *grpc.ClientConn
	si.SchedulerClient
	allocations si.Scheduler_UpdateAllocationClient
	asked       int
}

func dialRegular(_ context.Context, address string) (*regularClient, error) {
	conn, err := grpc.NewClient(address, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		return nil, err
	}
	return &regularClient{conn: conn, SchedulerClient: si.NewSchedulerClient(conn)}, nil
}

const hostileConfig = `partitions: [{name: default, queues: [{name: root, submitacl: "*", queues: [{name: a}]}]}]`

func (c *regularClient) register(ctx context.Context) error {
	_, err := c.RegisterResourceManager(ctx, &si.RegisterResourceManagerRequest{RmID: rmID, Config: hostileConfig})
	return err
}

// begin registers, adds a node, and submits an application.
func (c *regularClient) begin(ctx context.Context) error {
	if err := c.register(ctx); err != nil {
		return err
	}
	nodes, err := c.UpdateNode(ctx)
	if err != nil {
		return err
	}
	much := map[string]*si.Quantity{"vcore": {Value: 1 << 40}}
	node := &si.NodeInfo{NodeID: "node", Action: si.NodeInfo_CREATE, SchedulableResource: &si.Resource{Resources: much}}
	if err := nodes.Send(&si.NodeRequest{RmID: rmID, Nodes: []*si.NodeInfo{node}}); err != nil {
		return err
	}
	if _, err := nodes.Recv(); err != nil {
		return err
	}
	apps, err := c.UpdateApplication(ctx)
	if err != nil {
		return err
	}
	app := &si.AddApplicationRequest{ApplicationID: "app", QueueName: "root.a",
		Ugi: &si.UserGroupInformation{User: "u", Groups: []string{"g"}}}
	if err := apps.Send(&si.ApplicationRequest{RmID: rmID, New: []*si.AddApplicationRequest{app}}); err != nil {
		return err
	}
	if _, err := apps.Recv(); err != nil {
		return err
	}
	c.allocations, err = c.UpdateAllocation(ctx)
	return err
}

// minAsks is the minimum number of measured asks, enough for a median.
const minAsks = 10

// submitFor sends asks one after the other, 50 a second, for at least minDuration, and until over is
// closed; nil: it is closed.
func (c *regularClient) submitFor(ctx context.Context, took measure.Histogram, minDuration time.Duration,
	over <-chan struct{}) error {
	began := time.Now()
	for n := 0; n < minAsks || time.Since(began) < minDuration || over != nil && !isClosed(over); n++ {
		measure.PreciseSleep(20 * time.Millisecond)
		c.asked++
		key := fmt.Sprint("ask-", c.asked)
		m := &si.AllocationRequest{RmID: rmID, Allocations: []*si.Allocation{{
			AllocationKey: key, ApplicationID: "app",
			ResourcePerAlloc: &si.Resource{Resources: map[string]*si.Quantity{"vcore": {Value: 1}}},
		}}}
		asked := time.Now()
		if err := c.allocations.Send(m); err != nil {
			return fmt.Errorf("the regular client: %w", err)
		}
		for made := 0; made == 0; {
			answer, err := c.allocations.Recv()
			if err != nil {
				return fmt.Errorf("the regular client: %w", err)
			}
			made = len(answer.New)
		}
		took.Add(time.Since(asked))
		if ctx.Err() != nil {
			return ctx.Err()
		}
	}
	return nil
}

func isClosed(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}
