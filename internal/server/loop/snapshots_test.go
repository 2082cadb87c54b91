package loop

import (
	"context"
	"fmt"
	"testing"
	"time"

	"gotest.tools/v3/assert"

	"github.com/canopy-scheduler/canopy/pkg/configs"
	"github.com/canopy-scheduler/canopy/pkg/objects"
	"github.com/canopy-scheduler/canopy/pkg/policies"
	"github.com/canopy-scheduler/canopy/pkg/resources"
	"github.com/canopy-scheduler/canopy/pkg/scheduler"
	"github.com/canopy-scheduler/canopy/pkg/security"
)

// discardSink is a Sink that drops its effects.
type discardSink struct{}

func (discardSink) Deliver([]scheduler.Effect) {}

// manualLoop is a loop whose steps and clock a test controls.
type manualLoop struct {
	*Loop
	clock time.Time
}

func newManualLoop(t *testing.T, nodes, asks int) *manualLoop {
	x := newManualLoopOf(configs.Queue{Name: "root", Parent: true, SubmitACL: security.Everyone(),
		Children: []configs.Queue{{Name: "a"}}})
	x.Send(scheduler.AddApplication{App: "app", Queue: "root.a"})
	for i := range nodes {
		x.Send(scheduler.AddNode{Node: objects.NodeID(fmt.Sprint("n", i)), Total: vcores(1000), Schedulable: true})
	}
	for i := range asks {
		x.Send(scheduler.SubmitAsk{Ask: &objects.Ask{Key: objects.AllocationKey(fmt.Sprint("k", i)), App: "app",
			Amounts: vcores(1)}})
	}
	x.drainMailbox()
	return x
}

func newManualLoopOf(root configs.Queue) *manualLoop {
	core := scheduler.New(configs.Partition{Name: "default", Root: root, NodeSortPolicy: policies.DefaultNodeSortPolicy()},
		nil)
	x := &manualLoop{clock: time.Unix(1_000_000, 0).UTC()}
	x.Loop = New(core, discardSink{}, Options{Now: func() time.Time { return x.clock }, MaxUndelivered: 1 << 30})
	return x
}

func vcores(n resources.Quantity) resources.Amounts {
	return resources.FromMap(map[string]resources.Quantity{"vcore": n})
}

// addReader adds a reader that waits.
func (x *manualLoop) addReader(ctx context.Context) <-chan *scheduler.Snapshot {
	reply := make(chan *scheduler.Snapshot, 1)
	x.readers = append(x.readers, reader{ctx: ctx, reply: reply})
	return reply
}

func TestSnapshot_IsMadeInSlicesBetweenDecisions(t *testing.T) {
	x := newManualLoop(t, 100, 10_000)
	reply := x.addReader(t.Context())
	slices := 0
	for ; len(reply) == 0; slices++ {
		assert.Assert(t, slices < 1000)
		before := x.core.Partition()
		_, _, was := before.Counts()
		for x.needsScheduling && !x.readersDue() {
			x.decide(x.decisionBatch())
		}
		_, _, is := before.Counts()
		if x.needsScheduling {
			assert.Assert(t, is-was <= 2*decisionsPerSlice, "%d decisions between two slices", is-was)
		}
		x.serveReaders()
	}
	assert.Assert(t, slices >= 10_000/refreshSlice, "in %d slices", slices)
	s := <-reply
	assert.Equal(t, s.Allocations+s.Asks, 10_000)
	assert.Assert(t, s.Allocations > 0, "nothing was decided meanwhile")
}

// The first snapshot of many applications and queues has no large slice: while one is viewed, decisions wait.
func TestSnapshot_FirstOneHasNoLargeSlice(t *testing.T) {
	const queues, applications = 2000, 4000
	root := configs.Queue{Name: "root", Parent: true, SubmitACL: security.Everyone()}
	for i := range queues {
		root.Children = append(root.Children, configs.Queue{Name: fmt.Sprint("q", i)})
	}
	x := newManualLoopOf(root)
	for i := range applications {
		x.Send(scheduler.AddApplication{App: appID(i), Queue: fmt.Sprint("root.q", i%queues)})
		for k := range 3 {
			x.Send(scheduler.SubmitAsk{Ask: &objects.Ask{Key: objects.AllocationKey(fmt.Sprint("k", i, "-", k)), App: appID(i),
				Amounts: vcores(1)}})
		}
	}
	for x.drainMailbox(); x.needsScheduling; x.decide(100) {
	}
	reply := x.addReader(t.Context())
	slices := 0
	for ; len(reply) == 0; slices++ {
		before := x.refresh.viewed
		x.serveReaders()
		assert.Assert(t, x.refresh.viewed-before <= refreshSlice/idleDivisor, "slice %d is of %d objects", slices+1,
			x.refresh.viewed-before)
	}
	assert.Equal(t, (<-reply).Asks, 3*applications)
	assert.Assert(t, slices >= 3*applications/(refreshSlice/idleDivisor), "in %d slices", slices)
}

// What was decided goes to the Sink before the next slice of a snapshot is viewed, and before the next step of an
// audit.
func TestSnapshot_DecisionsAreHandedOnBeforeASlice(t *testing.T) {
	x := newManualLoop(t, 10*refreshSlice, 0)
	x.decideAndServe(func() { t.Fatal("nothing else is due, so the loop waits for the Sink") })
	for name, wait := range map[string]func(){"snapshot": func() { x.addReader(t.Context()) },
		"audit": func() { x.addAuditWaiter(t.Context()) }} {
		wait()
		x.Send(scheduler.SubmitAsk{Ask: &objects.Ask{Key: objects.AllocationKey(name), App: "app", Amounts: vcores(1)}})
		x.drainMailbox()
		progress := func() (objects int) {
			if x.auditState.audit != nil {
				objects = x.auditState.audit.Checked()
			}
			return objects + x.refresh.viewed
		}
		before, offers := progress(), 0
		x.decideAndServe(func() {
			_, placed := x.undelivered[len(x.undelivered)-1].(scheduler.Allocated)
			assert.Assert(t, placed, "%s: the decision is offered", name)
			assert.Equal(t, progress(), before, name)
			offers++
		})
		assert.Equal(t, offers, 1)
		assert.Assert(t, progress() > before, name)
	}
}

// A snapshot is finished although more changes between two slices than one has objects.
func TestSnapshot_EndsHoweverMuchChanges(t *testing.T) {
	const nodes = 4 * refreshSlice
	x := newManualLoop(t, nodes, 0)
	reply := x.addReader(t.Context())
	for slices := 0; len(reply) == 0; slices++ {
		assert.Assert(t, slices < 200)
		for i := range nodes {
			x.Send(scheduler.SetCapacity{Node: objects.NodeID(fmt.Sprint("n", i)),
				Total: vcores(resources.Quantity(1001 + slices))})
		}
		x.drainMailbox()
		for x.needsScheduling {
			x.decide(100)
		}
		x.serveReaders()
	}
	assert.Equal(t, (<-reply).Nodes.Len(), nodes)
}

func TestSnapshot_WaitingReadersShareOne(t *testing.T) {
	x := newManualLoop(t, 1, 0)
	first, second := x.addReader(t.Context()), x.addReader(t.Context())
	for x.needsScheduling {
		x.decide(1)
	}
	x.serveReaders()
	third := x.addReader(t.Context())
	x.serveReaders()
	s := <-first
	assert.Assert(t, s != nil && s == <-second)
	assert.Assert(t, s == <-third, "the state is unchanged")
}

func TestSnapshot_IsNotMadeForCancelledReaders(t *testing.T) {
	x := newManualLoop(t, 1, 100)
	for x.needsScheduling {
		x.decide(100)
	}
	ctx, cancel := context.WithCancel(t.Context())
	x.addReader(ctx)
	cancel()
	x.serveReaders()
	assert.Equal(t, len(x.readers), 0)
	assert.Assert(t, x.cachedSnapshot == nil && x.refresh.lastRead.IsZero(), "a snapshot was made without a reader")
}

// While there are decisions to make, snapshots take a share of the time; otherwise a reader need
// not wait.
func TestSnapshot_TakesAShareOfTheTimeWhileDeciding(t *testing.T) {
	x := newManualLoop(t, 1, 500)
	x.decide(1)
	// every measurement takes time
	x.opt.Now = func() time.Time { x.clock = x.clock.Add(time.Millisecond); return x.clock }
	first := x.addReader(t.Context())
	x.decisionsSinceRead = decisionsPerSlice
	for x.serveReaders(); len(first) == 0; x.serveReaders() {
		x.decisionsSinceRead = decisionsPerSlice
	}
	x.opt.Now = func() time.Time { return x.clock }
	spent := x.refresh.spent
	assert.Assert(t, spent > 0)
	x.decide(1)
	second := x.addReader(t.Context())
	waited := time.Duration(0)
	for ; len(second) == 0 && waited < time.Minute; waited += time.Millisecond {
		x.decisionsSinceRead, x.clock = decisionsPerSlice, x.clock.Add(time.Millisecond)
		x.serveReaders()
	}
	assert.Assert(t, waited >= (refreshShare-2)*spent && waited <= refreshShare*spent,
		"after %v of reading, %v of deciding", spent, waited)

	for x.decide(1); x.needsScheduling; x.decide(1000) {
	}
	third := x.addReader(t.Context())
	for slices := 0; len(third) == 0; slices++ { // in small slices, without time that passes
		assert.Assert(t, slices < 500/(refreshSlice/idleDivisor)+1)
		x.serveReaders()
	}
}

func TestSnapshot_ViewsAreDroppedWithoutReaders(t *testing.T) {
	x := newManualLoop(t, 1, 10)
	for x.needsScheduling {
		x.decide(100)
	}
	x.addReader(t.Context())
	x.serveReaders()
	x.clock = x.clock.Add(snapshotRetention)
	x.now()
	x.noteProgress()
	assert.Assert(t, x.cachedSnapshot != nil)
	x.clock = x.clock.Add(time.Second)
	x.now()
	x.noteProgress()
	assert.Assert(t, x.cachedSnapshot == nil && x.refresh.lastRead.IsZero())
}

func appID(i int) objects.AppID { return objects.AppID(fmt.Sprint("app", i)) }

// A caller that comes back after a long time only leaves nothing that decisions would have to keep up to date.
func TestSnapshotOnce_ViewsAreNotKept(t *testing.T) {
	x := newManualLoop(t, 10, 10)
	once := make(chan *scheduler.Snapshot, 1)
	read := func(r ...reader) {
		x.readers = append(x.readers, r...)
		for range 1000 {
			x.serveReaders()
			if len(x.readers) == 0 {
				return
			}
			x.clock = x.clock.Add(10 * time.Second)
		}
		t.Fatal("the readers have no snapshot")
	}
	read(reader{t.Context(), once, true})
	assert.Equal(t, (<-once).Asks, 10)
	assert.Assert(t, x.cachedSnapshot == nil && x.refresh.lastRead.IsZero())
	assert.Assert(t, x.core.RefreshSnapshot(0) > 0, "the views are made anew")
	x.core.ForgetSnapshots()

	other := make(chan *scheduler.Snapshot, 1)
	read(reader{t.Context(), once, true}, reader{t.Context(), other, false})
	assert.Assert(t, <-once == <-other)
	assert.Assert(t, !x.refresh.lastRead.IsZero(), "another reader keeps them")
}
