package reservation_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"gotest.tools/v3/assert"

	"github.com/canopy-scheduler/canopy/internal/testing/testscale"
	"github.com/canopy-scheduler/canopy/pkg/configs"
	"github.com/canopy-scheduler/canopy/pkg/objects"
	"github.com/canopy-scheduler/canopy/pkg/reservation"
	"github.com/canopy-scheduler/canopy/pkg/resources"
	"github.com/canopy-scheduler/canopy/pkg/security"
)

var epoch = time.Unix(1_000_000_000, 0).UTC()

func vcores(n int) resources.Amounts {
	return resources.FromMap(map[string]resources.Quantity{"vcore": resources.Quantity(n)})
}

// world is a partition with the leaf root.a, an engine, and what the engine has reported.
type world struct {
	t      *testing.T
	p      *objects.Partition
	eng    *reservation.Engine
	now    time.Time
	events []string
}

// newWorld returns a world without nodes. The max of the leaf is in vcores; 0: none.
func newWorld(t *testing.T, s configs.Reservation, max int) *world {
	leaf := configs.Queue{Name: "a"}
	if max > 0 {
		leaf.Max = resources.LimitFromMap(map[string]resources.Quantity{"vcore": resources.Quantity(max)})
	}
	w := &world{t: t, now: epoch}
	w.p = objects.NewPartition(configs.Partition{
		Name: "default", Reservation: s, Root: configs.Queue{Name: "root", Parent: true, Children: []configs.Queue{leaf}},
	})
	w.eng = reservation.New(w.p, w)
	assert.NilError(t, w.p.AddApplication("app", security.User{Name: "ann"}, "root.a", nil, epoch))
	return w
}

func (w *world) FeasibleNode(x *objects.Allocation, _ time.Time) *objects.Node {
	return w.p.FirstFittingNode(x.Shape())
}

func (w *world) Allows(*objects.Allocation, *objects.Node, []*objects.Allocation) bool { return true }

func (w *world) Accepts(*objects.Allocation, *objects.Node) bool { return true }

func (w *world) FitOn(*objects.Node, resources.Vector, func(*objects.Allocation) bool) (at time.Time, known bool) {
	return at, false
}

func (w *world) FitAt([]objects.MemberNode) (at time.Time, known bool) { return at, false }

func (w *world) OnReserved(x *objects.Allocation, n *objects.Node) {
	w.events = append(w.events, fmt.Sprintf("%s reserves %s", x.Key(), n.ID()))
}

func (w *world) OnMoved(a *objects.Application, members []objects.MemberNode) {
	w.events = append(w.events, fmt.Sprintf("%s moves %d", a.ID(), len(members)))
}

func (w *world) OnReservationEnd(e reservation.EndedReservation) {
	w.events = append(w.events, fmt.Sprintf("%s: %s", e.Ask.Key(), e.End))
}

func (w *world) node(id string, total, used int) {
	assert.NilError(w.t, w.p.AddNode(objects.NodeID(id), vcores(total), nil, true))
	if used > 0 {
		_, err := w.p.AddReported(&objects.Ask{Key: objects.AllocationKey("run-" + id), App: "app", Amounts: vcores(used)},
			objects.NodeID(id), w.now)
		assert.NilError(w.t, err)
	}
}

func (w *world) ask(key string, n int) *objects.Allocation {
	x, err := w.p.AddAsk(&objects.Ask{Key: objects.AllocationKey(key), App: "app", Amounts: vcores(n)}, w.now)
	assert.NilError(w.t, err)
	return x
}

// take returns what was reported since the last call.
func (w *world) take() (events []string) {
	events, w.events = w.events, nil
	return events
}

// search does what a run does in which nothing can be placed.
func (w *world) search(after time.Duration) []string {
	w.now = w.now.Add(after)
	w.eng.ServeDeadlines(w.now)
	w.eng.BeginRun(w.now)
	w.p.RefreshShares()
	w.eng.Search(w.now)
	assert.NilError(w.t, w.p.Check())
	return w.take()
}

var settings = configs.Reservation{Enabled: true, Delay: 2 * time.Second, Timeout: time.Hour, NodePercent: 100}

// RES-2: an ask reserves when it is as old as the delay, and the engine wakes the scheduler at that time.
func TestEngine_ReservesAfterTheDelay(t *testing.T) {
	w := newWorld(t, settings, 0)
	w.node("n1", 4, 2)
	w.ask("k", 3)
	assert.DeepEqual(t, w.search(time.Second), []string(nil))
	at, ok := w.eng.NextDeadline()
	assert.Assert(t, ok && at.Equal(epoch.Add(2*time.Second)), "%s", at)
	assert.DeepEqual(t, w.search(time.Second), []string{"k reserves n1"})
}

// RES-2: an ask that a max blocks, that fits a node, or that no node could hold does not reserve.
func TestEngine_OnlyNodesKeepTheAskFromBeingPlaced(t *testing.T) {
	w := newWorld(t, settings, 8)
	w.node("n1", 6, 4)
	w.node("n2", 4, 3)
	w.ask("over-max", 5)
	w.ask("fits", 2)
	w.ask("too-large", 7)
	assert.DeepEqual(t, w.search(time.Minute), []string(nil))
	_, ok := w.eng.NextDeadline()
	assert.Assert(t, !ok, "without a change no search would find more")
}

// RES-3: the node on which the smallest part of its capacity is missing, and of several the first by ID.
func TestEngine_BestCoveringNode(t *testing.T) {
	w := newWorld(t, settings, 0)
	w.node("n1", 4, 3)  // 3 of 4 are missing
	w.node("n3", 10, 9) // 3 of 10
	w.node("n2", 10, 9)
	w.node("n4", 3, 0)
	w.ask("k", 4)
	assert.DeepEqual(t, w.search(time.Minute), []string{"k reserves n2"})
}

// RES-7: a reservation ends when it has lasted for the timeout; all end when reservations are switched off.
func TestEngine_BeginRunEndsReservations(t *testing.T) {
	w := newWorld(t, settings, 0)
	w.node("n1", 4, 2)
	w.ask("k", 3)
	assert.DeepEqual(t, w.search(time.Minute), []string{"k reserves n1"})
	assert.DeepEqual(t, w.search(time.Second), []string(nil)) // the search after a change finds nothing more
	at, ok := w.eng.NextDeadline()
	assert.Assert(t, ok && at.Equal(epoch.Add(time.Minute+time.Hour)), "%s", at)
	assert.DeepEqual(t, w.search(time.Hour-time.Second-1), []string(nil))
	assert.DeepEqual(t, w.search(1), []string{"k: timed out"}) // the last search was just before
	assert.DeepEqual(t, w.search(time.Second), []string{"k reserves n1"})
	assert.NilError(t,
		w.p.Reconfigure(configs.Partition{Name: "default",
			Root: configs.Queue{Name: "root", Parent: true, Children: []configs.Queue{{Name: "a"}}}}, nil))
	assert.DeepEqual(t, w.search(time.Second), []string{"k: disabled"})
	_, ok = w.eng.NextDeadline()
	assert.Assert(t, !ok)
}

// RES-6, RES-8: an ask with a reservation is placed on its node when that has enough, and loses it when a quota blocks
// it.
func TestEngine_PlaceableAndBlocked(t *testing.T) {
	w := newWorld(t, settings, 8)
	w.node("n1", 4, 2)
	w.node("n2", 4, 2)
	x := w.ask("k", 4)
	assert.DeepEqual(t, w.search(time.Minute), []string{"k reserves n1"})
	y, _ := w.eng.Placeable(w.now)
	assert.Assert(t, y == nil)
	w.p.Release("run-n1", w.now)
	y, n := w.eng.Placeable(w.now)
	assert.Assert(t, y == x && n.ID() == "n1")
	y, _ = w.eng.Placeable(w.now)
	assert.Assert(t, y == x, "until it is placed")
	_, err := w.p.AddReported(&objects.Ask{Key: "other", App: "app", Amounts: vcores(4)}, "n2", w.now)
	assert.NilError(t, err)
	y, _ = w.eng.Placeable(w.now)
	assert.Assert(t, y == nil, "6 of the 8 of the leaf are used")
	assert.DeepEqual(t, w.search(time.Second), []string{"k: blocked"})
}

// RES-2: a search that has looked at many nodes delays the next one, whatever number of asks could never reserve. Asks
// that are too young, or have a reservation, cost no look at the nodes.
func TestEngine_SearchesTakeASmallPartOfTheTime(t *testing.T) {
	const nodes, shapes = 1000, 4000
	w := newWorld(t, configs.Reservation{Enabled: true, Delay: time.Minute, Timeout: time.Hour, NodePercent: 1}, 0)
	for i := range nodes {
		w.node(fmt.Sprintf("n%04d", i), 4, 2)
	}
	for i := range shapes {
		w.ask(fmt.Sprintf("k%04d", i), 5+i)
	}
	next := func(after time.Duration) time.Duration {
		w.search(after)
		w.ask(fmt.Sprintf("more-%s", w.now), 5) // so that the next search is due as soon as it may be
		at, ok := w.eng.NextDeadline()
		assert.Assert(t, ok)
		return at.Sub(w.now)
	}
	assert.Equal(t, next(time.Second), time.Second, "all asks are too young")
	assert.Assert(t, next(time.Minute) >= shapes*nodes*time.Microsecond, "each shape was compared with each node")
}

// Whatever nodes and asks there are, a search reserves for the first asks that may, each the best node that is left,
// and no more than the part of the nodes that may be reserved (RES-2 to RES-4).
func TestEngine_SearchEqualsTheNaiveOne(t *testing.T) {
	for seed := range uint64(testscale.Runs(200)) {
		rng := rand.New(rand.NewPCG(seed, 61))
		s := settings
		s.NodePercent = 1 + rng.IntN(100)
		w := newWorld(t, s, rng.IntN(2)*(20+rng.IntN(40)))
		for i := range 1 + rng.IntN(12) {
			total := 2 + rng.IntN(9)
			w.node(fmt.Sprintf("n%02d", i), total, rng.IntN(total+1))
		}
		var asks []*objects.Allocation
		for i := range rng.IntN(20) {
			ask := &objects.Ask{Key: objects.AllocationKey(fmt.Sprintf("k%02d", i)), App: "app",
				Amounts: vcores(1 + rng.IntN(10)), Priority: int32(rng.IntN(2))}
			if rng.IntN(5) == 0 {
				ask.Details = &objects.AskDetails{RequiredNode: objects.NodeID(fmt.Sprintf("n%02d", rng.IntN(12)))}
			}
			ask.Created = objects.TimestampOf(epoch.Add(-time.Duration(rng.IntN(5)) * time.Second))
			x, err := w.p.AddAsk(ask, w.now)
			assert.NilError(t, err)
			asks = append(asks, x)
		}
		want := naiveSearch(w.p, asks, s, epoch.Add(time.Millisecond))
		assert.DeepEqual(t, reservedOnly(w.search(time.Millisecond)), want)
	}
}

// reservedOnly leaves out the reservations that have ended for asks that require their nodes.
func reservedOnly(events []string) []string {
	return slices.DeleteFunc(events, func(e string) bool { return !strings.Contains(e, "reserves") })
}

// naiveSearch is what a search reserves, computed from the rules.
func naiveSearch(p *objects.Partition, asks []*objects.Allocation, s configs.Reservation,
	now time.Time) (events []string) {
	nodes, taken := p.Nodes(), map[objects.NodeID]bool{}
	leaf, _ := p.Queue("root.a")
	free := min(16, max(1, len(nodes)*s.NodePercent/100))
	most := free + 8 // candidates
	boundOn := map[objects.NodeID]bool{}
	asks = slices.Clone(asks)
	slices.SortFunc(asks, objects.CompareSelection)
	vcore := func(v resources.Amounts) int64 { return int64(v.Get("vcore")) }
	candidates := 0
	for _, x := range asks {
		requested, bound := vcore(x.Ask().Amounts), x.Ask().RequiredNode()
		headroom, limited := leaf.Max().All(), false
		for _, most := range headroom {
			limited = int64(most)-vcore(p.Amounts(leaf.Allocated())) < requested
		}
		admitted := func(n *objects.Node) bool { return bound == "" || bound == n.ID() }
		fits, holds := false, false
		for _, n := range nodes {
			fits = fits || admitted(n) && vcore(p.Amounts(n.Available())) >= requested
			holds = holds || admitted(n) && vcore(p.Amounts(n.Total())) >= requested
		}
		if limited || fits || !holds || bound == "" && now.Before(x.Created().Add(s.Delay)) {
			continue
		}
		if bound == "" {
			candidates++
			if free <= 0 || candidates > most {
				continue
			}
		}
		best, least := -1, 0.0
		for i, n := range nodes {
			if !admitted(n) || vcore(p.Amounts(n.Total())) < requested || bound == "" && (taken[n.ID()] || boundOn[n.ID()]) {
				continue
			}
			share := float64(requested-vcore(p.Amounts(n.Available()))) / float64(vcore(p.Amounts(n.Total())))
			if best < 0 || share < least {
				best, least = i, share
			}
		}
		if best < 0 {
			continue
		}
		id := nodes[best].ID()
		if bound != "" {
			boundOn[id] = true
			delete(taken, id)
		} else {
			taken[id] = true
			free--
		}
		events = append(events, fmt.Sprintf("%s reserves %s", x.Key(), id))
	}
	return events
}
