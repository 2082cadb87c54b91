package backfill

import (
	"slices"
	"strconv"
	"time"

	"github.com/canopy-scheduler/canopy/pkg/configs"
	"github.com/canopy-scheduler/canopy/pkg/feasibility"
	"github.com/canopy-scheduler/canopy/pkg/objects"
	"github.com/canopy-scheduler/canopy/pkg/runtimes"
)

// Tag has whether an ask may be backfilled: "false" declines (RES-14). A label of that name has the same effect.
const Tag = "canopy.scheduler/backfill"

// Engine backfills the reservations of one partition. It is not safe for concurrent use: the Core of its partition owns
// and calls it.
type Engine struct {
	part     *objects.Partition
	runTimes *runtimes.Engine
	host     Host
	descent  objects.Descent // scratch of candidates

	counts Counts
}

// Counts says how often something has happened.
type Counts struct {
	Placed   uint64 // allocations that were backfilled
	Released uint64 // those that were released for a reserved ask
}

// Host is the scheduler that an Engine belongs to.
type Host interface {
	// Allows reports whether other allocations leave n to x when those of gone have ended; Accepts whether they leave n to
	// x now, and the RM accepts x there.
	Allows(x *objects.Allocation, n *objects.Node, gone []*objects.Allocation) bool
	Accepts(x *objects.Allocation, n *objects.Node) bool
	// OnBackfillEnd: the release of y is ordered, so that the reserved ask x fits.
	OnBackfillEnd(y, x *objects.Allocation)
}

// New returns the Engine of a partition.
func New(p *objects.Partition, runTimes *runtimes.Engine, host Host) *Engine {
	return &Engine{part: p, runTimes: runTimes, host: host}
}

// Reset goes on with another partition: the RM has re-registered. It has no reservations, so nothing is backfilled.
func (eng *Engine) Reset(p *objects.Partition) { eng.part = p }

// Counts returns how often something has happened.
func (eng *Engine) Counts() Counts { return eng.counts }

// active reports whether the configuration has backfill, and there are reservations.
func (eng *Engine) active() bool {
	l := eng.part.Reservations()
	return l.Settings().Backfill == configs.BackfillBounded && len(l.Asks()) > 0
}

// Declines reports whether an ask with these tags may not be backfilled because it says so. The error is a
// *runtimes.TagError.
func Declines(tags map[string]string) (declines bool, err error) {
	tag, text, sent := runtimes.TagOrLabel(tags, Tag)
	if !sent {
		return false, nil
	}
	may, err := strconv.ParseBool(text)
	if err != nil {
		return false, &runtimes.TagError{Tag: tag, Value: text, Want: "true or false"}
	}
	return !may, nil
}

// Place backfills the first ask, in selection order, that may use what reservations hold, and returns it with its node;
// nil: there is none. The caller must have nothing else to place.
func (eng *Engine) Place(now time.Time) (*objects.Allocation, *objects.Node) {
	if !eng.active() {
		return nil, nil
	}
	o := eng.outlook()
	if o.constrained != nil {
		return nil, nil
	}
	objects.RequeueUnfitting(eng.part)
	for _, x := range eng.candidates(&o) {
		n := eng.nodeFor(x, &o, now)
		if n == nil {
			continue
		}
		if err := objects.PlaceBackfilled(eng.part, x, n, now); err != nil {
			panic("backfill: " + err.Error()) // candidates and PlaceBackfilled read the same accounting
		}
		eng.counts.Placed++
		return x, n
	}
	return nil, nil
}

// nodeFor returns the first reserved node on which x may be backfilled; nil: there is none, or the RM refuses it.
func (eng *Engine) nodeFor(x *objects.Allocation, o *outlook, now time.Time) *objects.Node {
	if eng.unfit(x) != 0 {
		return nil
	}
	gone, _ := runtimes.GoneAt(x, now)
	for i := range o.nodes {
		if held := &o.nodes[i]; held.fits(x) && held.blocks(x, gone) == nil {
			if !eng.host.Accepts(x, held.node) || !o.takeRoom(x) {
				return nil
			}
			return held.node
		}
	}
	return nil
}

// fits reports whether x fits the node beside all but reservations.
func (held *reservedNode) fits(x *objects.Allocation) bool {
	return held.node.Accepts(x.Shape()) && held.free.Covers(x.Shape().Vector())
}

// blocks returns the reservation that could be used later if x, which has ended at gone, were on the node; nil: none.
func (held *reservedNode) blocks(x *objects.Allocation, gone time.Time) *reservation {
	for _, u := range held.uses {
		if !u.of.known || gone.After(u.of.fitsAt) && !u.spare.Covers(x.Shape().Vector()) {
			return u.of
		}
	}
	return nil
}

// takeRoom reports whether every quota and limit has room for x beside all reserved asks. Then x takes it.
func (o *outlook) takeRoom(x *objects.Allocation) bool {
	placed, _ := o.room.Place(x.Application().Quota(), x.Shape().Vector(), 1)
	return placed == 1
}

// unfit returns why x is never backfilled, whatever is reserved; 0: it may be.
func (eng *Engine) unfit(x *objects.Allocation) Reason {
	declines, _ := Declines(x.Ask().Tags()) // one that cannot be read is rejected with its ask
	switch {
	case declines:
		return Declined
	case x.Ask().RequiredNode() != "":
		return RequiresNode
	case !x.Ask().Policy.AllowPreemptSelf():
		return MayNotEnd
	case objects.SelectedByBudget(eng.part, x):
		return HasBudget
	case x.Constrained():
		return HasAffinity
	}
	if _, bounded := runtimes.GoneAt(x, time.Time{}); !bounded {
		return NotBounded
	}
	return 0
}

// candidates returns the first asks, in selection order, that fit a reserved node but for reservations, and no other.
func (eng *Engine) candidates(o *outlook) (found []*objects.Allocation) {
	l := eng.part.Reservations()
	fitting, left := map[*feasibility.Shape]bool{}, l.Settings().BackfillAsks
	for a, shapes := range eng.descent.Applications(eng.part.Root()) {
		var own []*objects.Allocation
		for group := range a.FeasibleAskGroups(shapes) {
			asks := group.SchedulableAsks()
			if len(asks) == 0 {
				continue
			}
			if !eng.fitsReserved(asks[0], o, fitting) {
				eng.descent.Narrow(group.DropShape) // nor do asks of its shape in other applications
				continue
			}
			if !mayBePlaced(asks[0]) {
				continue // nor may the other asks of the group
			}
			taken := 0
			for i := 0; i < len(asks) && taken < left; i++ {
				if x := asks[i]; eng.part.Nomination(x) == nil && l.Of(x) == nil {
					own = append(own, x)
					taken++
				}
			}
		}
		slices.SortFunc(own, objects.CompareSelection)
		taken := min(len(own), left)
		found = append(found, own[:taken]...)
		left -= taken
		if left == 0 {
			break
		}
	}
	return found
}

// fitsReserved reports whether x fits a reserved node but for reservations, and no other. fitting has the answers for
// shapes.
func (eng *Engine) fitsReserved(x *objects.Allocation, o *outlook, fitting map[*feasibility.Shape]bool) bool {
	fits, known := fitting[x.Shape()]
	if !known {
		fits = eng.part.FirstFittingNode(x.Shape()) == nil &&
			slices.ContainsFunc(o.nodes, func(held reservedNode) bool { return held.fits(x) })
		fitting[x.Shape()] = fits
	}
	return fits
}

// mayBePlaced reports whether nothing but nodes keeps asks like x, of its group, from being placed.
func mayBePlaced(x *objects.Allocation) bool {
	if x.AskGroup().Held() || !x.Application().MayBeAllocated() {
		return false
	}
	_, blocked := x.Application().Constraints().FirstBlocking(x.Shape())
	return !blocked
}
