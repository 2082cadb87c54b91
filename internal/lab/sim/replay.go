package sim

import (
	"cmp"
	"context"
	"maps"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/canopy-scheduler/canopy/pkg/objects"
)

// epoch is second 0 of every trace, so early that no creation time of a trace is in the future.
var epoch = time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC)

// askBatch bounds the asks of a message where batching does not change decisions.
const askBatch = 500

// Replay submits the tasks of a trace.
//
// Every task is an application with one ask; the task name is the ID of both. The user of the
// application is the QoS class in lower case, and the default queue is root.<QoS class>, so that the
// configuration sets the priority of a QoS class.
type Replay struct {
	Client   *Client
	Clock    *Clock // of the scheduler; nil: the scheduler uses its own clock
	Nodes    []Node
	Tasks    []Task
	Queue    func(Task) objects.QueuePath       // leaf of a task; nil: root.<QoS class>, in lower case
	Seed     uint64                             // other than 0: the order within a batch is shuffled
	Progress func(what string, done, total int) // nil: no progress is reported
	Audit    func(ctx context.Context) error    // called while the scheduler is idle; nil: no audit

	// AskWaits is called by Durations, while the scheduler is idle, for each ask that is not placed at once; n counts them
	// from
	// 1. nil: it is not called.
	AskWaits func(ctx context.Context, key objects.AllocationKey, n int) error

	Priorities     map[string]int32 // of the QoS classes, in lower case; missing: 0
	SendPriorities bool             // asks have the priority of their class; else 0
	ByQoS          bool             // Fill: one QoS class after the other, by ascending priority
	Preempts       bool             // asks allow preemption of others
	Resubmit       bool             // a victim asks again
	VictimWait     time.Duration    // how long Fill waits for preemption that is backed off or delayed

	now      time.Time                         // virtual time
	attempts map[objects.AllocationKey]attempt // all asks so far
	asks     map[string]objects.AllocationKey  // the current ask of each task; missing: the task has ended
}

// Fill submits all asks while all nodes are drained, and then opens all nodes at once: all asks are
// known before the first decision, and no task ends. With ByQoS it does so for each class, after the
// class before is idle. The client must be registered.
func (r *Replay) Fill(ctx context.Context) error {
	tasks := r.prepare()
	for _, t := range tasks {
		r.setTime(t.Created)
	}
	if err := r.addNodes(ctx, true); err != nil {
		return err
	}
	if err := r.addApplications(ctx, tasks); err != nil {
		return err
	}
	ids := make([]objects.NodeID, len(r.Nodes))
	for i, n := range r.Nodes {
		ids[i] = n.ID
	}
	for i, wave := range r.waves(tasks) {
		if i > 0 {
			if err := r.Client.DrainNodes(ctx, ids...); err != nil {
				return err
			}
			if err := r.Client.WaitIdle(ctx); err != nil { // asks use another stream, and could arrive first
				return err
			}
		}
		if err := r.submit(ctx, wave); err != nil {
			return err
		}
		if err := r.Client.OpenNodes(ctx, ids...); err != nil {
			return err
		}
		if err := r.waitIdle(ctx, true); err != nil {
			return err
		}
		if err := r.audit(ctx); err != nil {
			return err
		}
	}
	r.reportProgress("tasks placed", r.Client.Counts().Allocated, len(tasks))
	return nil
}

// waves returns the tasks in the order in which Fill submits them.
func (r *Replay) waves(tasks []*Task) [][]*Task {
	if !r.ByQoS {
		return [][]*Task{tasks}
	}
	of := map[int32][]*Task{}
	for _, t := range tasks {
		n := r.Priorities[t.QoSClass()]
		of[n] = append(of[n], t)
	}
	var out [][]*Task
	for _, n := range slices.Sorted(maps.Keys(of)) {
		out = append(out, of[n])
	}
	return out
}

// submit sends asks and waits until they are processed. All nodes must be drained.
func (r *Replay) submit(ctx context.Context, tasks []*Task) error {
	sent := 0
	for some := range slices.Chunk(tasks, askBatch) {
		if err := r.Client.Submit(ctx, r.firstAsks(some)...); err != nil {
			return err
		}
		sent += len(some)
		r.reportProgress("asks submitted", sent, len(tasks))
	}
	return r.Client.WaitIdle(ctx)
}

func (r *Replay) addNodes(ctx context.Context, draining bool) error {
	nodes := slices.Clone(r.Nodes)
	for i := range nodes {
		nodes[i].Draining = draining
	}
	if err := r.Client.AddNodes(ctx, nodes...); err != nil {
		return err
	}
	r.reportProgress("nodes accepted", len(nodes), len(nodes))
	return nil
}

func (r *Replay) addApplications(ctx context.Context, tasks []*Task) error {
	apps := make([]Application, len(tasks))
	for i, t := range tasks {
		qos := t.QoSClass()
		apps[i] = Application{ID: objects.AppID(t.Name), Queue: objects.RootPath.Child(qos), User: qos}
		if r.Queue != nil {
			apps[i].Queue = r.Queue(*t)
		}
	}
	if err := r.Client.AddApplications(ctx, apps...); err != nil {
		return err
	}
	r.reportProgress("applications accepted", len(apps), len(apps))
	return nil
}

// prepare returns the tasks in the order of submission: by creation time, or shuffled if there is a
// seed.
func (r *Replay) prepare() []*Task {
	r.now, r.attempts, r.asks = epoch, map[objects.AllocationKey]attempt{}, map[string]objects.AllocationKey{}
	tasks := make([]*Task, len(r.Tasks))
	for i := range r.Tasks {
		t := &r.Tasks[i]
		tasks[i] = t
		r.attempts[objects.AllocationKey(t.Name)] = attempt{t, 1}
	}
	if r.Seed == 0 {
		slices.SortStableFunc(tasks, func(a, b *Task) int { return cmp.Compare(a.Created, b.Created) })
		return tasks
	}
	rng := rand.New(rand.NewPCG(r.Seed, 0))
	rng.Shuffle(len(tasks), func(i, j int) { tasks[i], tasks[j] = tasks[j], tasks[i] })
	return tasks
}

// traceTime returns the time of a second of the trace.
func traceTime(second int64) time.Time { return epoch.Add(time.Duration(second) * time.Second) }

func (r *Replay) setTime(second int64) {
	if t := traceTime(second); t.After(r.now) {
		r.now = t
	}
	if r.Clock != nil {
		r.Clock.Set(r.now)
	}
}

func (r *Replay) reportProgress(what string, done, total int) {
	if r.Progress != nil {
		r.Progress(what, done, total)
	}
}

func (r *Replay) audit(ctx context.Context) error {
	if r.Audit == nil {
		return nil
	}
	return r.Client.ExcludeFromTiming(func() error { return r.Audit(ctx) })
}
