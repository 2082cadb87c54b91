package sim

import (
	"cmp"
	"context"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"github.com/canopy-scheduler/canopy/pkg/objects"
)

// epoch is the second 0 of every trace: long enough ago that no trace reaches the
// present, because an ask from the future is nobody's oldest.
var epoch = time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC)

// asksAtOnce bounds a message of asks where it makes no difference who comes together.
const asksAtOnce = 500

// Replay lets a client live through a trace.
//
// Every task is an application of one ask; both have its name. The application goes to
// the queue root.<QoS class>, in lower case, and belongs to a user of that name. So the
// configuration says what a QoS class is worth.
type Replay struct {
	Client   *Client
	Clock    *Clock // of the scheduler; nil: it has its own
	Nodes    []Node
	Tasks    []Task
	Seed     uint64                             // other than 0: what is submitted together is shuffled
	Progress func(what string, done, total int) // nil: nobody wants to know
	Audit    func(ctx context.Context) error    // called with the books at rest; nil: nobody checks
}

// Fill submits everything while no node takes work, and then opens all nodes at once:
// every decision is made with everything known, and nothing ends. Requires: the client
// has registered.
func (r *Replay) Fill(ctx context.Context) error {
	tasks := r.inOrder()
	for _, t := range tasks {
		r.moveTo(t.Created)
	}
	if err := r.addNodes(ctx, true); err != nil {
		return err
	}
	if err := r.addApplications(ctx, tasks); err != nil {
		return err
	}
	sent := 0
	for some := range slices.Chunk(tasks, asksAtOnce) {
		if err := r.Client.Submit(ctx, asks(some)...); err != nil {
			return err
		}
		sent += len(some)
		r.tell("asks submitted", sent, len(tasks))
	}
	if err := r.Client.Settle(ctx); err != nil {
		return err
	}
	ids := make([]objects.NodeID, len(r.Nodes))
	for i, n := range r.Nodes {
		ids[i] = n.ID
	}
	if err := r.Client.OpenNodes(ctx, ids...); err != nil {
		return err
	}
	if err := r.Client.Settle(ctx); err != nil {
		return err
	}
	r.tell("tasks placed", r.Client.Counts().Allocated, len(tasks))
	return r.audit(ctx)
}

func (r *Replay) addNodes(ctx context.Context, draining bool) error {
	nodes := slices.Clone(r.Nodes)
	for i := range nodes {
		nodes[i].Draining = draining
	}
	if err := r.Client.AddNodes(ctx, nodes...); err != nil {
		return err
	}
	r.tell("nodes accepted", len(nodes), len(nodes))
	return nil
}

func (r *Replay) addApplications(ctx context.Context, tasks []Task) error {
	apps := make([]Application, len(tasks))
	for i, t := range tasks {
		class := strings.ToLower(t.QoS)
		apps[i] = Application{ID: objects.AppID(t.Name), Queue: objects.RootPath.Child(class), User: class}
	}
	if err := r.Client.AddApplications(ctx, apps...); err != nil {
		return err
	}
	r.tell("applications accepted", len(apps), len(apps))
	return nil
}

// inOrder are the tasks in the order in which they are submitted, as far as they are
// not apart in time anyway: the order of their creation, or any.
func (r *Replay) inOrder() []Task {
	tasks := slices.Clone(r.Tasks)
	if r.Seed == 0 {
		slices.SortStableFunc(tasks, func(a, b Task) int { return cmp.Compare(a.Created, b.Created) })
		return tasks
	}
	dice := rand.New(rand.NewPCG(r.Seed, 0))
	dice.Shuffle(len(tasks), func(i, j int) { tasks[i], tasks[j] = tasks[j], tasks[i] })
	return tasks
}

func asks(tasks []Task) []Ask {
	out := make([]Ask, len(tasks))
	for i, t := range tasks {
		out[i] = Ask{
			Key: objects.AllocationKey(t.Name), App: objects.AppID(t.Name), Amounts: t.Takes, Created: at(t.Created),
		}
	}
	return out
}

// at is a second of the trace as a time.
func at(second int64) time.Time { return epoch.Add(time.Duration(second) * time.Second) }

func (r *Replay) moveTo(second int64) {
	if r.Clock != nil {
		r.Clock.Set(at(second))
	}
}

func (r *Replay) tell(what string, done, total int) {
	if r.Progress != nil {
		r.Progress(what, done, total)
	}
}

func (r *Replay) audit(ctx context.Context) error {
	if r.Audit == nil {
		return nil
	}
	return r.Client.Aside(func() error { return r.Audit(ctx) })
}
