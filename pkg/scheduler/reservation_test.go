package scheduler_test

import (
	"fmt"
	"testing"
	"time"

	"gotest.tools/v3/assert"

	"github.com/canopy-scheduler/canopy/pkg/configs"
	"github.com/canopy-scheduler/canopy/pkg/objects"
	"github.com/canopy-scheduler/canopy/pkg/scheduler"
	"github.com/canopy-scheduler/canopy/pkg/security"
)

// fullCore is a Core with so many nodes of 2 vcores, each with an allocation of 1, and so many asks of 2, which reserve
// at once. Preemption is off.
func fullCore(t *testing.T, rm *objects.Oracle, nodes, asks, nodePercent int) *evaluationCore {
	conf := (&scenarioCore{queues: []scenarioQueue{{Path: "root.a"}}}).config(t)
	conf.PreemptionEnabled = false
	conf.Reservation = configs.Reservation{Enabled: true, Timeout: time.Hour, NodePercent: nodePercent}
	w := &evaluationCore{t, scheduler.New(conf, rm), epoch}
	w.core.Step(w.now, scheduler.AddApplication{App: "app", Queue: "root.a", User: security.User{Name: "ann"}})
	for i := range nodes {
		id := objects.NodeID(fmt.Sprintf("n%03d", i))
		w.core.Step(w.now, scheduler.AddNode{Node: id, Total: vcores(2), Schedulable: true})
		w.core.Step(w.now,
			scheduler.ReportAllocation{Ask: &objects.Ask{Key: objects.AllocationKey("run-" + id), App: "app",
				Amounts: vcores(1)}, Node: id})
	}
	for i := range asks {
		w.core.Step(w.now,
			scheduler.SubmitAsk{Ask: &objects.Ask{Key: objects.AllocationKey(fmt.Sprintf("k%03d", i)), App: "app",
				Amounts: vcores(2)}})
	}
	return w
}

func (w *evaluationCore) reserved() int { return len(w.core.Partition().Reservations().Asks()) }

// RES-4: so many percent of the nodes, rounded down, but always one, for the first asks.
func TestReservation_AtMostNodePercent(t *testing.T) {
	for _, c := range []struct{ nodes, percent, want int }{{1, 5, 1}, {19, 5, 1}, {20, 10, 2}, {39, 5, 1}, {40, 5, 2},
		{30, 100, 20}} {
		w := fullCore(t, nil, c.nodes, 20, c.percent)
		for range 4 {
			w.now = w.now.Add(time.Second)
			w.apply(scheduler.Wake{})
		}
		assert.Equal(t, w.reserved(), c.want, "%+v", c)
		for i, x := range w.core.Partition().Reservations().Asks() {
			assert.Equal(t, x.Key(), objects.AllocationKey(fmt.Sprintf("k%03d", i)), "%+v", c)
		}
	}
}

// refusingRM refuses some asks every node, and counts how often it was asked about each. It knows what is free.
type refusingRM struct {
	refuses func(objects.AllocationKey) bool
	asked   map[objects.AllocationKey]int
	full    bool // refuse what was accepted before
}

func (r *refusingRM) Fits(ask objects.AllocationKey, _ objects.NodeID) bool { return !r.full }

func (r *refusingRM) FitsWhenFree(ask objects.AllocationKey, _ objects.NodeID) bool {
	r.asked[ask]++
	return !r.refuses(ask)
}

// RES-4: the resource manager is asked about eight nodes for an ask, and of eight such asks in a search; the others are
// considered by the next. An ask that it has refused is asked about again after 30 s.
func TestReservation_RefusalsAreBounded(t *testing.T) {
	rm := &refusingRM{refuses: func(key objects.AllocationKey) bool { return key < "k020" },
		asked: map[objects.AllocationKey]int{}}
	w := fullCore(t, &objects.Oracle{Fits: rm.Fits, FitsWhenFree: rm.FitsWhenFree}, 40, 25, 5)
	for search, want := range []struct{ asked, reserved int }{{8, 0}, {16, 0}, {22, 2}} {
		w.apply(scheduler.Wake{})
		assert.Equal(t, len(rm.asked), want.asked, "search %d", search)
		assert.Equal(t, w.reserved(), want.reserved, "search %d", search)
		at, ok := w.core.NextDeadline()
		assert.Assert(t, ok && at.Equal(w.now.Add(time.Second)), "the next search is at %s", at)
		w.now = at
	}
	for key, n := range rm.asked {
		assert.Equal(t, n, map[bool]int{true: 8, false: 1}[rm.refuses(key)], string(key))
	}
	assert.Equal(t, rm.asked["k000"], 8)
	w.apply(scheduler.Release{App: "app", Key: "k020"}) // an ask with a reservation
	w.now = epoch.Add(30*time.Second - 1)
	w.apply(scheduler.Wake{})
	assert.Equal(t, rm.asked["k000"], 8)
	w.apply(scheduler.Release{App: "app", Key: "k021"})
	w.now = epoch.Add(31 * time.Second)
	w.apply(scheduler.Wake{})
	assert.Equal(t, rm.asked["k000"], 16)
}

// RES-6: a reservation ends when the node has enough free and the resource manager refuses it.
func TestReservation_EndsWhenTheNodeIsRefused(t *testing.T) {
	rm := &refusingRM{refuses: func(objects.AllocationKey) bool { return false }, asked: map[objects.AllocationKey]int{}}
	w := fullCore(t, &objects.Oracle{Fits: rm.Fits, FitsWhenFree: rm.FitsWhenFree}, 1, 1, 5)
	w.apply(scheduler.Wake{})
	assert.Equal(t, w.reserved(), 1)
	rm.full = true
	w.now = w.now.Add(time.Second)
	effects := append([]scheduler.Effect{}, w.core.Step(w.now, scheduler.Release{App: "app", Key: "run-n000"})...)
	more, _ := w.core.Schedule(w.now, 10)
	var ended []objects.ReservationEnd
	for _, e := range append(effects, more...) {
		if e, ok := e.(scheduler.Event); ok && e.Kind == scheduler.EventReservationEnded {
			ended = append(ended, e.ReservationEnd)
		}
	}
	assert.DeepEqual(t, ended, []objects.ReservationEnd{objects.ReservationRefused})
	assert.Equal(t, w.reserved(), 0, "the ask fits the node, which the resource manager refuses")
	assert.NilError(t, w.core.Check())
}

// showReservations are the reserved nodes of a transcript with the asks for which they are.
func showReservations(s *scheduler.Snapshot) (lines string) {
	for n := range s.Nodes.All() {
		for _, key := range n.ReservedFor {
			lines += fmt.Sprintf("%s is reserved for %s\n", n.ID, key)
		}
	}
	return lines
}
