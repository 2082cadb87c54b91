package reservation

import (
	"slices"
	"time"

	"github.com/canopy-scheduler/canopy/pkg/configs"
	"github.com/canopy-scheduler/canopy/pkg/objects"
	"github.com/canopy-scheduler/canopy/pkg/resources"
)

const (
	// interval is the time between two searches for asks that may reserve, at least (RES-2). After a search that has
	// visited many ask groups (about 1.5 us each) or nodes (about 30 ns each, once for each shape that fits none) it is
	// longer, by intervalPerGroup and intervalPerNode each, so that searches take a few percent of a processor.
	interval         = time.Second
	intervalPerGroup = 50 * time.Microsecond
	intervalPerNode  = time.Microsecond
	// endsVisits is the number of nodes that it costs as much to visit as to find when asks fit one node.
	endsVisits = 30
	// maxReservations bounds the reservations that a search makes for asks that require no node: each looks at all nodes.
	maxReservations = 16
	// refusalRetry is the time after which an ask is considered again that the RM refused on maxRefusals nodes (RES-4).
	refusalRetry = 30 * time.Second
	// maxRefusals bounds the nodes that the RM may refuse for an ask, and the asks that it may so refuse in a search.
	maxRefusals = 8
)

// Engine manages the reservations of one partition: which asks reserve a node, and until when. It is not safe for
// concurrent use: the Core of its partition owns and calls it.
type Engine struct {
	part        *objects.Partition
	changes     *changes        // of part
	oracle      *objects.Oracle // nil: every node passes the predicates
	host        Host
	servedUntil time.Time // deadlines up to this time have been served

	nextSearch   time.Time                         // there is no search before this time
	nextEligible time.Time                         // when an ask may reserve although nothing changes; zero: none may
	refusedUntil map[*objects.Allocation]time.Time // asks that the RM has refused, and when they are considered again

	visitedNodes int             // how many nodes the last search has looked at
	descent      objects.Descent // scratch of candidateSearch
}

// Host is the scheduler that an Engine belongs to. Its calls that begin with On report what the engine has done, in the
// order in which it was done; each comes after the change of the partition.
type Host interface {
	// FeasibleNode returns the first node, in node order, that is feasible for x now; nil: there is none. An ask that the
	// RM refuses on every node that fits is unschedulable then.
	FeasibleNode(x *objects.Allocation, now time.Time) *objects.Node
	// Allows reports whether other allocations leave n to x when those of gone have ended; Accepts whether they leave n to
	// x now, and the RM accepts x there.
	Allows(x *objects.Allocation, n *objects.Node, gone []*objects.Allocation) bool
	Accepts(x *objects.Allocation, n *objects.Node) bool
	// FitAt returns when members fit their nodes together at the latest, and FitOn when what asks request of one node fits
	// there, as those of runtimes.Engine.
	FitAt(members []objects.MemberNode) (at time.Time, known bool)
	FitOn(n *objects.Node, requested resources.Vector, own func(*objects.Allocation) bool) (at time.Time, known bool)

	// OnReserved: x has reserved n.
	OnReserved(x *objects.Allocation, n *objects.Node)
	// OnReservationEnd: a reservation has ended, and the ask has not another one instead (OnMoved).
	OnReservationEnd(e EndedReservation)
	// OnMoved: members of the gang of a have reserved other nodes than before.
	OnMoved(a *objects.Application, members []objects.MemberNode)
}

// New returns the Engine of a partition, without an Oracle.
func New(p *objects.Partition, host Host) *Engine {
	return &Engine{part: p, changes: watch(p), host: host, refusedUntil: map[*objects.Allocation]time.Time{}}
}

// SetOracle sets the Oracle; nil: every node passes the predicates.
func (eng *Engine) SetOracle(oracle *objects.Oracle) { eng.oracle = oracle }

// Reset starts again with another partition: the RM has re-registered.
func (eng *Engine) Reset(p *objects.Partition) {
	eng.part, eng.changes, eng.nextSearch, eng.nextEligible = p, watch(p), time.Time{}, time.Time{}
	clear(eng.refusedUntil)
}

// ServeDeadlines records that deadlines up to now are served by the next run. It precedes each command and each run.
func (eng *Engine) ServeDeadlines(now time.Time) { eng.servedUntil = now }

// BeginRun ends, before any decision of a run, the reservations that have timed out (RES-7), or all if the
// configuration has none any more.
func (eng *Engine) BeginRun(now time.Time) {
	// the answers of the RM, and what depends on the time, may differ from those of the last run
	eng.changes.mayPlace = true
	l := eng.part.Reservations()
	if asks := l.Asks(); len(asks) > 0 && (!l.Settings().Enabled || !now.Before(eng.timeoutOf(asks[0]))) {
		eng.endTimedOut(slices.Clone(asks), now)
	}
	eng.ReportEnded()
}

// timeoutOf returns when the reservation of x times out (RES-7).
func (eng *Engine) timeoutOf(x *objects.Allocation) time.Time {
	return eng.part.Reservations().Since(x).Add(eng.part.Reservations().Settings().Timeout)
}

// endTimedOut ends the reservations of asks, the oldest first, that have timed out, or all if there shall be none.
// With backfill one whose latest time is known stays: later the ask might find no node as early (RES-18).
func (eng *Engine) endTimedOut(asks []*objects.Allocation, now time.Time) {
	l := eng.part.Reservations()
	for _, x := range asks {
		switch {
		case l.Of(x) == nil: // it has ended with its gang
		case !l.Settings().Enabled:
			l.Clear(x, objects.ReservationDisabled)
		case now.Before(eng.timeoutOf(x)):
			return
		case !eng.keeps(x):
			l.Clear(x, objects.ReservationTimedOut)
		}
	}
}

// keeps reports whether backfill keeps the reservation of x, and with it that of its gang, from timing out.
func (eng *Engine) keeps(x *objects.Allocation) bool {
	l := eng.part.Reservations()
	if !eng.backfills() {
		return false
	}
	members := []objects.MemberNode{{Ask: x, Node: l.Of(x)}}
	if l.Together(x) {
		members = l.MembersTogether()
	}
	_, known := eng.host.FitAt(members)
	return known
}

// Placeable returns the first ask with a reservation, in selection order, that can be placed now, and the node: the
// reserved one or, if that has not enough, the first feasible one (RES-8); nil: none. A reservation of a node that the
// RM refuses although it has enough ends. A member of a gang is the first of those that can be placed together on their
// reserved nodes (RES-11).
func (eng *Engine) Placeable(now time.Time) (*objects.Allocation, *objects.Node) {
	for eng.changes.mayPlace && len(eng.part.Reservations().Asks()) > 0 { // again after an end, for another ask
		eng.changes.mayPlace = false
		if x, n := eng.firstPlaceable(now); x != nil {
			eng.changes.mayPlace = true // there may be more of them
			return x, n
		}
	}
	return nil, nil
}

// firstPlaceable does what Placeable does, but it ends without a result when a reservation ends.
func (eng *Engine) firstPlaceable(now time.Time) (*objects.Allocation, *objects.Node) {
	for _, x := range eng.fitting() {
		n := eng.part.Reservations().Of(x)
		switch {
		case eng.part.Reservations().Together(x):
			if !eng.acceptsTogether(now) {
				eng.part.Reservations().ClearTogether(objects.ReservationRefused)
				eng.ReportEnded()
				return nil, nil
			}
		case !eng.part.Reservations().Fits(x):
			n = eng.host.FeasibleNode(x, now)
			if n == nil {
				continue
			}
		case !eng.host.Accepts(x, n):
			eng.part.Reservations().Clear(x, objects.ReservationRefused)
			eng.ReportEnded()
			return nil, nil
		}
		return x, n
	}
	return nil, nil
}

// fitting returns the asks with a reservation that fit a node, that one or another, and that nothing blocks, in
// selection order.
func (eng *Engine) fitting() (asks []*objects.Allocation) {
	p := eng.part
	if x := eng.fittingGang(); x != nil {
		asks = append(asks, x)
	}
	for _, x := range p.Reservations().Asks() {
		if p.Reservations().Together(x) {
			continue
		}
		if !p.Reservations().Fits(x) &&
			(p.Unschedulable(x) || objects.Refused(p, x) || p.FirstFittingNode(x.Shape()) == nil) ||
			!x.Application().MayBeAllocated() {
			continue
		}
		if _, blocked := x.Application().Constraints().FirstBlocking(x.Shape()); !blocked {
			asks = append(asks, x)
		}
	}
	slices.SortFunc(asks, objects.CompareSelection)
	return asks
}

// Idle reports whether every reservation that has ended was reported.
func (eng *Engine) Idle() bool { return len(eng.changes.ended) == 0 }

// ReportEnded reports the reservations that have ended since the last call. It must be called after each command and
// after each placement.
func (eng *Engine) ReportEnded() {
	for _, e := range eng.changes.ended {
		if e.End != objects.ReservationMoved {
			eng.host.OnReservationEnd(e)
		}
	}
	eng.changes.ended = eng.changes.ended[:0]
}

// NextDeadline returns the next time at which BeginRun or Search has work although no command has come; ok is false if
// never. Work that is due already is left to the next run.
func (eng *Engine) NextDeadline() (t time.Time, ok bool) {
	s := eng.part.Reservations().Settings()
	if !s.Enabled {
		return t, false
	}
	if _, asks, _ := eng.part.Counts(); asks > 0 {
		switch {
		case eng.changes.mayChange:
			t = eng.nextSearch
		case !eng.nextEligible.IsZero() && eng.nextEligible.Before(eng.nextSearch):
			t = eng.nextSearch
		default:
			t = eng.nextEligible
		}
	}
	ok = t.After(eng.servedUntil)
	for _, x := range eng.part.Reservations().Asks() {
		at := eng.timeoutOf(x)
		if !at.After(eng.servedUntil) && s.Backfill == configs.BackfillBounded {
			continue // backfill keeps it, or the next run ends it
		}
		if at.After(eng.servedUntil) && (!ok || at.Before(t)) {
			return at, true
		}
		break
	}
	return t, ok
}
