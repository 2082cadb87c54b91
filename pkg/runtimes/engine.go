package runtimes

import (
	"cmp"
	"container/heap"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/canopy-scheduler/canopy/pkg/objects"
)

// Engine ends the allocations of one partition that run longer than an enforced bound. It is not safe for concurrent
// use: the Core of its partition owns and calls it.
type Engine struct {
	part *objects.Partition
	now  time.Time // of the current command or run

	ends  ends
	of    map[*objects.Allocation]*end
	asked map[*objects.Allocation]time.Time // that were asked to end: when those that had an end have ended at the latest

	// Since the last refresh: allocations that were posted or unposted, and queues whose bounds have changed.
	changed []*objects.Allocation
	queues  []*objects.Queue

	stored   map[objects.AllocationKey]objects.Timestamp // starts that are known from before the RM has registered
	reported bool                                        // since it has

	overruns uint64 // see Overruns
}

// end is when an allocation is released.
type end struct {
	x            *objects.Allocation
	bound, grace time.Duration
	due          time.Time
	index        int // in Engine.ends
}

// New returns the Engine of a partition.
func New(p *objects.Partition) *Engine {
	eng := &Engine{}
	eng.Reset(p)
	return eng
}

// Reset starts again with another partition: the RM has re-registered, and reports what runs once more.
func (eng *Engine) Reset(p *objects.Partition) {
	*eng = Engine{part: p, now: eng.now, of: map[*objects.Allocation]*end{}, stored: eng.keptStarts(),
		asked: map[*objects.Allocation]time.Time{}, overruns: eng.overruns}
	objects.Attach(p, eng)
}

// Start is when an allocation has begun to run.
type Start struct {
	Key objects.AllocationKey
	At  objects.Timestamp
}

// Starts returns the starts that Reset keeps, by key.
func (eng *Engine) Starts() []Start {
	kept := eng.keptStarts()
	list := make([]Start, 0, len(kept))
	for _, key := range slices.Sorted(maps.Keys(kept)) {
		list = append(list, Start{key, kept[key]})
	}
	return list
}

// keptStarts returns when the allocations with a bound have begun to run, or, while there is none and none was
// reported, what was restored.
func (eng *Engine) keptStarts() map[objects.AllocationKey]objects.Timestamp {
	starts := map[objects.AllocationKey]objects.Timestamp{}
	if eng.part != nil {
		for n := range eng.part.EachNode {
			for _, x := range n.Allocations() {
				if Bound(x) > 0 {
					starts[x.Key()] = objects.TimestampOf(StartOf(x))
				}
			}
		}
	}
	if len(starts) == 0 && !eng.reported {
		return eng.stored
	}
	return starts
}

// Restore replaces the starts that are known from before by those that a former process has stored. Requires: nothing
// was reported yet.
func (eng *Engine) Restore(starts []Start) {
	eng.stored = make(map[objects.AllocationKey]objects.Timestamp, len(starts))
	for _, s := range starts {
		eng.stored[s.Key] = s.At
	}
}

// Reported returns the time from which the bound of an allocation counts that the RM reports: its tag says it, or it is
// known from before. Else it is now, so that a restart ends nothing early. The error is of a tag that cannot be read.
func (eng *Engine) Reported(ask *objects.Ask) (objects.Timestamp, error) {
	at, err := readStart(ask.Tags(), eng.now)
	if at.IsZero() {
		at = eng.stored[ask.Key]
	}
	if at.IsZero() {
		at = objects.TimestampOf(eng.now)
	}
	return at, err
}

// OnReported records that the partition has taken a reported allocation.
func (eng *Engine) OnReported(key objects.AllocationKey) {
	eng.reported = true
	delete(eng.stored, key)
}

// Wants implements objects.Consumer. A move of an application posts all of its allocations anew.
func (*Engine) Wants() objects.ChangeSet {
	return 1<<objects.AllocationPosted | 1<<objects.AllocationUnposted | 1<<objects.RunTimesChanged | 1<<objects.EndOrdered
}

// On implements objects.Consumer.
func (eng *Engine) On(c *objects.Change) {
	switch c.Kind {
	case objects.RunTimesChanged:
		eng.queues = append(eng.queues, c.Queue)
	case objects.AllocationPosted, objects.AllocationUnposted, objects.EndOrdered:
		if len(eng.of)+len(eng.asked) > 0 || c.Ask.Application().Queue().RunTime().Enforced {
			eng.changed = append(eng.changed, c.Ask)
		}
	}
}

// Advance precedes each command and each run at now. due: EndOverdue has work.
func (eng *Engine) Advance(now time.Time) (due bool) {
	eng.Refresh() // what has changed did so before now
	eng.now = now
	return len(eng.ends) > 0 && !now.Before(eng.ends[0].due)
}

// Overruns returns how many allocations EndOverdue has ended.
func (eng *Engine) Overruns() uint64 { return eng.overruns }

// Enforces reports whether any allocation has an enforced bound.
func (eng *Engine) Enforces() bool {
	eng.Refresh()
	return len(eng.ends) > 0
}

// NextDeadline returns when EndOverdue has work although no command has come; ok is false if never. Work that is due
// already is left to the next run.
func (eng *Engine) NextDeadline() (at time.Time, ok bool) {
	eng.Refresh()
	for len(eng.ends) > 0 {
		e := eng.ends[0]
		if e.due.After(eng.now) {
			return e.due, true
		}
		if !eng.part.Preempting(e.x) {
			break
		}
		eng.remove(e)
	}
	return at, false
}

// EndOverdue orders the end of the allocations that have run for longer than their bounds and graces, in the order of
// their ends and then of their keys (RUN-5). One that is being preempted was asked to end already.
// The RM must release those that ended gets.
func (eng *Engine) EndOverdue(ended func(x *objects.Allocation, bound time.Duration)) {
	eng.Refresh()
	for len(eng.ends) > 0 && !eng.now.Before(eng.ends[0].due) {
		e := eng.ends[0]
		eng.remove(e)
		if !eng.part.Preempting(e.x) {
			eng.overruns++
			eng.asked[e.x] = e.goneIfAsked(eng.now)
			objects.OrderEnd(eng.part, e.x)
			ended(e.x, e.bound)
		}
	}
}

// Refresh makes the ends, and what is shown of allocations, agree with the partition. It follows each command.
func (eng *Engine) Refresh() {
	for _, q := range eng.queues {
		for _, a := range q.Applications() {
			for _, x := range a.Allocations() {
				objects.NoteChanged(eng.part, x)
				eng.refreshEnd(x)
			}
		}
	}
	eng.queues = eng.queues[:0]
	for _, x := range eng.changed {
		eng.refreshEnd(x)
	}
	clear(eng.changed)
	eng.changed = eng.changed[:0]
}

// refreshEnd sets when x is released. The grace begins now at the earliest: neither a reload nor a move ends an
// allocation at once (RUN-6).
func (eng *Engine) refreshEnd(x *objects.Allocation) {
	e := eng.of[x]
	if y, known := eng.part.Allocation(x.Key()); !known || y != x || x.Pending() {
		if e != nil {
			eng.remove(e)
		}
		delete(eng.asked, x)
		return
	}
	s, bound := x.Application().Queue().RunTime(), time.Duration(0)
	if s.Enforced && !objects.Ending(eng.part, x) {
		bound = Bound(x)
	}
	switch {
	case e != nil && bound == 0:
		eng.remove(e)
		if objects.Ending(eng.part, x) {
			eng.asked[x] = e.goneIfAsked(eng.now)
		}
	case bound == 0 || e != nil && e.bound == bound && e.grace == s.Grace:
	default:
		if e != nil {
			eng.remove(e)
		}
		over := StartOf(x).Add(bound)
		if over.Before(eng.now) {
			over = eng.now
		}
		e = &end{x: x, bound: bound, grace: s.Grace, due: over.Add(s.Grace)}
		eng.of[x] = e
		heap.Push(&eng.ends, e)
	}
}

func (eng *Engine) remove(e *end) {
	heap.Remove(&eng.ends, e.index)
	delete(eng.of, e.x)
}

// Check verifies that each running allocation with an enforced bound has an end, unless it is being preempted, and no
// other one.
func (eng *Engine) Check() error {
	eng.Refresh()
	ends := 0
	for n := range eng.part.EachNode {
		for _, x := range n.Allocations() {
			s, e := x.Application().Queue().RunTime(), eng.of[x]
			bounded := s.Enforced && Bound(x) > 0 && !objects.Ending(eng.part, x)
			switch {
			case e == nil && bounded && !eng.part.Preempting(x):
				return fmt.Errorf("the end of %s, which may run for %v, is not known", x.Key(), Bound(x))
			case e == nil:
			case !bounded || e.bound != Bound(x) || eng.ends[e.index] != e:
				return fmt.Errorf("%s may run for %v, and has an end for %v", x.Key(), Bound(x), e.bound)
			default:
				ends++
			}
		}
	}
	if ends != len(eng.of) || ends != len(eng.ends) {
		return fmt.Errorf("%d allocations have an end, %d and %d are known", ends, len(eng.of), len(eng.ends))
	}
	return nil
}

// ends is a heap of ends, by time and then by key.
type ends []*end

func (h ends) Len() int { return len(h) }
func (h ends) Less(i, j int) bool {
	return cmp.Or(h[i].due.Compare(h[j].due), cmp.Compare(h[i].x.Key(), h[j].x.Key())) < 0
}
func (h ends) Swap(i, j int) {
	h[i], h[j] = h[j], h[i]
	h[i].index, h[j].index = i, j
}
func (h *ends) Push(e any) {
	x := e.(*end)
	x.index = len(*h)
	*h = append(*h, x)
}
func (h *ends) Pop() any {
	last := len(*h) - 1
	e := (*h)[last]
	(*h)[last] = nil
	*h = (*h)[:last]
	return e
}
