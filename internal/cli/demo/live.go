package demo

import (
	"container/heap"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/apache/yunikorn-scheduler-interface/lib/go/api"
	"github.com/apache/yunikorn-scheduler-interface/lib/go/si"
)

// Bounds of LiveOptions.Load.
const (
	MinLiveLoad = 0.1
	MaxLiveLoad = 10
)

const (
	liveRM        = "demo"    // ID of the resource manager of a LiveDemo
	partitionName = "default" // of all its messages
)

// LiveOptions configure a LiveDemo.
type LiveOptions struct {
	Load float64 // what the tenants ask for, in multiples of an almost full cluster; from MinLiveLoad to MaxLiveLoad
	Seed uint64
}

// LiveDemo is a resource manager that keeps a cluster of tenants busy in real time: jobs arrive and end, tasks are
// preempted and submitted again, nodes are drained and come back. It is for a look at a running scheduler.
//
// Callbacks only put what they get into the inbox; the goroutine of Run uses all other fields.
type LiveDemo struct {
	api   api.SchedulerAPI
	opt   LiveOptions
	rng   *rand.Rand
	inbox liveInbox

	began      time.Time
	now        time.Time
	timers     liveTimers
	millicores int64 // of all nodes
	jobNumber  int
	tasks      map[string]*liveTask
	demand     []int64 // unfinished millicores by kind
	running    []int   // jobs by kind
	preempted  bool    // something was
}

// liveJob is an application.
type liveJob struct {
	id       string
	kind     int // index of liveKinds; -1: a liveFixture
	user     string
	left     int // tasks that have not ended
	sequence int // of its tasks
}

// liveTask is an ask or an allocation.
type liveTask struct {
	key        string
	job        *liveJob
	millicores int64
	memory     int64
	gpus       int64
	tags       map[string]string
	placed     bool
	ending     bool // preempted, and not confirmed yet
}

const (
	liveTick         = 250 * time.Millisecond
	liveRise         = 30 * time.Second // in which the load of the beginning doubles
	liveConfigAfter  = 15 * time.Second // then the second configuration comes
	liveDrainEvery   = 70 * time.Second
	liveDrainFor     = 50 * time.Second
	liveFirstDrained = 6 // index of the node that is drained at first
)

func newLiveDemo(scheduler api.SchedulerAPI, opt LiveOptions) *LiveDemo {
	now := time.Now()
	return &LiveDemo{
		api: scheduler, opt: opt, rng: rand.New(rand.NewPCG(opt.Seed, 3)), inbox: newLiveInbox(),
		tasks:  map[string]*liveTask{},
		demand: make([]int64, len(liveKinds)), running: make([]int, len(liveKinds)), began: now, now: now,
	}
}

// RunLiveDemo runs a demo until ctx ends, which is a success, or the scheduler fails.
func RunLiveDemo(ctx context.Context, scheduler api.SchedulerAPI, opt LiveOptions) error {
	d := newLiveDemo(scheduler, opt)
	if _, err := scheduler.RegisterResourceManager(&si.RegisterResourceManagerRequest{
		RmID: liveRM, Version: "1.9.0", PolicyGroup: "queues", Config: liveConfig,
		BuildInfo: map[string]string{"buildVersion": "demo"},
	}, &d.inbox); err != nil {
		return fmt.Errorf("registering the demo: %w", err)
	}
	if err := d.setUp(ctx); err != nil {
		return err
	}
	tick := time.NewTicker(liveTick)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-d.inbox.wake:
		case <-tick.C:
		}
		d.now = time.Now()
		if err := d.step(); err != nil {
			if ctx.Err() != nil {
				return nil
			}
			return fmt.Errorf("the demo: %w", err)
		}
	}
}

// setUp registers the nodes and waits until all are accepted, and submits what waits for ever.
func (d *LiveDemo) setUp(ctx context.Context) error {
	m := &si.NodeRequest{RmID: liveRM}
	nodes := liveNodes()
	for _, n := range nodes {
		d.millicores += n.cores * millicoresPerCore
		m.Nodes = append(m.Nodes, &si.NodeInfo{
			NodeID: n.id, Action: si.NodeInfo_CREATE,
			SchedulableResource: liveResource(n.cores*millicoresPerCore, n.cores*memoryPerCore/gibibyte, n.gpus, podsPerNode),
			Attributes: map[string]string{
				"si/hostname": n.id, "si/rackname": n.rack, "kubernetes.io/hostname": n.id, "topology.kubernetes.io/zone": n.zone,
			},
		})
	}
	if err := d.api.UpdateNode(m); err != nil {
		return err
	}
	for d.inbox.nodesAccepted() < len(nodes) {
		select {
		case <-ctx.Done():
			return nil
		case <-d.inbox.wake:
		}
	}
	if err := d.reportForeign(nodes); err != nil {
		return err
	}
	d.after(liveConfigAfter, func() error {
		return d.api.UpdateConfiguration(&si.UpdateConfigurationRequest{RmID: liveRM, PolicyGroup: "queues",
			Config: liveConfigLater})
	})
	d.drainInTurn(nodes, liveFirstDrained)
	return d.submitFixtures()
}

// reportForeign reports what other schedulers run on each node.
func (d *LiveDemo) reportForeign(nodes []liveNode) error {
	m := &si.AllocationRequest{RmID: liveRM}
	for _, n := range nodes {
		m.Allocations = append(m.Allocations, &si.Allocation{
			AllocationKey: "kubelet-" + n.id, NodeID: n.id, ResourcePerAlloc: liveResource(500, 1, 0, 1),
			AllocationTags: map[string]string{"foreign": "static"},
		})
	}
	return d.api.UpdateAllocation(m)
}

// drainInTurn drains a node for a while, and later another one.
func (d *LiveDemo) drainInTurn(nodes []liveNode, i int) {
	set := func(action si.NodeInfo_ActionFromRM) error {
		return d.api.UpdateNode(&si.NodeRequest{RmID: liveRM,
			Nodes: []*si.NodeInfo{{NodeID: nodes[i%len(nodes)].id, Action: action}}})
	}
	d.after(time.Second, func() error { return set(si.NodeInfo_DRAIN_NODE) })
	d.after(liveDrainFor, func() error { return set(si.NodeInfo_DRAIN_TO_SCHEDULABLE) })
	d.after(liveDrainEvery, func() error { d.drainInTurn(nodes, i+11); return nil })
}

// step processes what has arrived and what is due, and submits jobs.
func (d *LiveDemo) step() error {
	if err := d.receive(); err != nil {
		return err
	}
	for len(d.timers) > 0 && !d.timers[0].at.After(d.now) {
		t, _ := heap.Pop(&d.timers).(liveTimer)
		if err := t.do(); err != nil {
			return err
		}
	}
	var errs []error
	at := d.now.Sub(d.began)
	rise := d.rise(at)
	load := min(d.opt.Load*rise, MaxLiveLoad)
	for i := range liveKinds {
		k := &liveKinds[i]
		if d.running[i] < int(float64(k.maxJobs)*rise) && d.demand[i] < k.demand(at, d.millicores, load) {
			errs = append(errs, d.submitJob(i))
		}
	}
	return errors.Join(errs...)
}

// rise multiplies what the tenants ask for and the jobs they may run. Where the cluster is to be almost full or more,
// it rises from 1 to 4 until something is preempted: the waves of the tenants may leave room for minutes, and a demo is
// opened for its preemption.
func (d *LiveDemo) rise(at time.Duration) float64 {
	if d.preempted || d.opt.Load < 1 {
		return 1
	}
	return min(1+at.Seconds()/liveRise.Seconds(), 4)
}

// after calls do after a time.
func (d *LiveDemo) after(wait time.Duration, do func() error) {
	heap.Push(&d.timers, liveTimer{d.now.Add(wait), do})
}

// between returns a random duration.
func (d *LiveDemo) between(r [2]time.Duration) time.Duration {
	return r[0] + time.Duration(d.rng.Int64N(int64(r[1]-r[0])+1))
}

// liveTimer is something that is to be done at a time.
type liveTimer struct {
	at time.Time
	do func() error
}

// liveTimers is a heap, the earliest first.
type liveTimers []liveTimer

func (t liveTimers) Len() int           { return len(t) }
func (t liveTimers) Less(i, j int) bool { return t[i].at.Before(t[j].at) }
func (t liveTimers) Swap(i, j int)      { t[i], t[j] = t[j], t[i] }
func (t *liveTimers) Push(x any)        { *t = append(*t, x.(liveTimer)) }
func (t *liveTimers) Pop() any {
	last := len(*t) - 1
	x := (*t)[last]
	*t = (*t)[:last]
	return x
}
