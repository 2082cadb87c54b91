package ageing

import (
	"cmp"
	"container/heap"
	"fmt"
	"slices"
	"time"

	"github.com/canopy-scheduler/canopy/pkg/objects"
	"github.com/canopy-scheduler/canopy/pkg/policies"
)

// The rises of one command or run, and how long the rest waits when more are due.
const (
	risesAtOnce = 1000
	restAfter   = 100 * time.Millisecond
)

// Engine raises the waiting applications of one partition. It is not safe for concurrent use: the Core of its partition
// owns and calls it.
type Engine struct {
	part   *objects.Partition
	now    time.Time // of the current command or run
	waits  map[*objects.Application]*wait
	rises  rises
	restAt time.Time // before then nothing rises: more than risesAtOnce were due
	off    bool      // the partition ignores priorities

	// Since the last Refresh: applications whose asks or allocations have changed, and queues with other settings.
	changed []*objects.Application
	queues  []*objects.Queue
}

// wait tracks an application without an allocation from the time since which it waits.
type wait struct {
	app    *objects.Application
	since  time.Time
	ageing policies.Ageing // of its leaf
	due    time.Time       // when it rises next, if it is in Engine.rises
	index  int             // in Engine.rises; -1: it rises no more
}

// New returns the Engine of a partition.
func New(p *objects.Partition) *Engine {
	eng := &Engine{}
	eng.Reset(p)
	return eng
}

// Reset starts again with another partition: the RM has re-registered, and submits everything once more.
func (eng *Engine) Reset(p *objects.Partition) {
	*eng = Engine{part: p, now: eng.now, waits: map[*objects.Application]*wait{}, off: p.Config().PriorityDisabled}
	objects.Attach(p, eng)
}

// Wants implements objects.Consumer.
func (*Engine) Wants() objects.ChangeSet {
	return 1<<objects.AskAdded | 1<<objects.AskRemoved | 1<<objects.AllocationPosted | 1<<objects.AllocationUnposted |
		1<<objects.ApplicationMoved | 1<<objects.QueueSettingsChanged | 1<<objects.ConfigurationChanged
}

// On implements objects.Consumer.
func (eng *Engine) On(c *objects.Change) {
	switch c.Kind {
	case objects.QueueSettingsChanged:
		eng.queues = append(eng.queues, c.Queue)
	case objects.ConfigurationChanged:
		if off := eng.part.Config().PriorityDisabled; off != eng.off {
			eng.off = off
			eng.queues = slices.AppendSeq(eng.queues, objects.EachQueue(eng.part))
		}
	case objects.ApplicationMoved:
		eng.note(c.App)
	default:
		eng.note(c.Ask.Application())
	}
}

func (eng *Engine) note(a *objects.Application) {
	if len(eng.waits) > 0 || a.Queue().Ageing() != (policies.Ageing{}) {
		eng.changed = append(eng.changed, a)
	}
}

// Refresh makes the waits agree with the partition. It follows each command and each run.
func (eng *Engine) Refresh() {
	for _, q := range eng.queues {
		for _, a := range q.Applications() { // a parent has none
			eng.refresh(a)
		}
	}
	for _, a := range eng.changed {
		eng.refresh(a)
	}
	clear(eng.queues)
	clear(eng.changed)
	eng.queues, eng.changed = eng.queues[:0], eng.changed[:0]
	eng.rise() // what has waited already, or ages otherwise than before
}

// refresh begins or ends the wait of a. An application that never had an allocation has waited since its submission,
// also while no scheduler ran; one that has lost its last one waits from then on (PRI-51).
func (eng *Engine) refresh(a *objects.Application) {
	w, ageing := eng.waits[a], eng.ageingOf(a)
	ages := ageing != (policies.Ageing{})
	if !ages || a.PendingAskCount() == 0 || a.BoundCount() > 0 {
		if w != nil {
			eng.remove(w)
			w.ageing = ageing
		}
		if a.PendingAskCount() == 0 || a.BoundCount() > 0 { // else the configuration may have it age again
			delete(eng.waits, a)
		}
		eng.raise(a, 0)
		return
	}
	since := a.Submitted()
	if a.EverAllocated() {
		since = eng.now
		if w != nil {
			since = w.since
		}
	}
	if w != nil && w.ageing == ageing && w.since.Equal(since) {
		return
	}
	if w == nil {
		w = &wait{app: a, index: -1}
		eng.waits[a] = w
	}
	w.since, w.ageing = since, ageing
	eng.schedule(w)
}

// ageingOf returns the ageing of the leaf of a; none if the partition ignores priorities.
func (eng *Engine) ageingOf(a *objects.Application) policies.Ageing {
	if eng.off {
		return policies.Ageing{}
	}
	return a.Queue().Ageing()
}

// schedule plans the next rise of w, or its fall if its wait or its ageing is another than before. What it has already
// waited for raises it at once, in its turn.
func (eng *Engine) schedule(w *wait) {
	raised, next := w.ageing.After(eng.now.Sub(w.since))
	switch {
	case w.app.Raised() != raised:
		eng.put(w, eng.now)
	case next > 0:
		eng.put(w, w.since.Add(next))
	default:
		eng.remove(w)
	}
}

func (eng *Engine) put(w *wait, due time.Time) {
	w.due = due
	if w.index < 0 {
		heap.Push(&eng.rises, w)
		return
	}
	heap.Fix(&eng.rises, w.index)
}

func (eng *Engine) remove(w *wait) {
	if w.index >= 0 {
		heap.Remove(&eng.rises, w.index)
	}
}

func (eng *Engine) raise(a *objects.Application, by int32) {
	if a.Raised() == by {
		return
	}
	if known, _ := eng.part.Application(a.ID()); known == a { // else it has been removed
		objects.RaisePriority(eng.part, a, by)
	}
}

// Advance precedes each command and each run at now.
func (eng *Engine) Advance(now time.Time) {
	eng.Refresh() // what has changed did so before now
	eng.now = now
	eng.rise()
}

// rise raises the applications that are due, in the order of their deadlines and then of their IDs, a thousand at most;
// the rest follows a tenth of a second later (PRI-52).
func (eng *Engine) rise() {
	if eng.now.Before(eng.restAt) {
		return
	}
	for n := 0; len(eng.rises) > 0 && !eng.rises[0].due.After(eng.now); n++ {
		if n == risesAtOnce {
			eng.restAt = eng.now.Add(restAfter)
			return
		}
		w := eng.rises[0]
		raised, _ := w.ageing.After(eng.now.Sub(w.since))
		eng.raise(w.app, raised)
		eng.schedule(w)
	}
}

// NextDeadline returns when Advance has work; ok is false if never.
func (eng *Engine) NextDeadline() (at time.Time, ok bool) {
	if len(eng.rises) == 0 {
		return at, false
	}
	at = eng.rises[0].due
	if at.Before(eng.restAt) {
		at = eng.restAt
	}
	return at, true
}

// Check verifies that the waits are those of the partition, unless changes are left to Refresh, as after a routine
// decision.
func (eng *Engine) Check() error {
	if len(eng.changed)+len(eng.queues) > 0 {
		return nil
	}
	n := 0
	for a := range objects.EachApplication(eng.part) {
		w := eng.waits[a]
		waiting := a.PendingAskCount() > 0 && a.BoundCount() == 0
		ages := waiting && eng.ageingOf(a) != (policies.Ageing{})
		switch {
		case ages && w == nil || w != nil && !waiting:
			return fmt.Errorf("ageing: application %s waits: %v, and is listed: %v", a.ID(), waiting, w != nil)
		case !ages && a.Raised() != 0:
			return fmt.Errorf("ageing: application %s is raised by %d and does not age", a.ID(), a.Raised())
		case w == nil:
			continue
		case w.ageing != eng.ageingOf(a):
			return fmt.Errorf("ageing: application %s ages by %s instead of %s", a.ID(), w.ageing, eng.ageingOf(a))
		}
		n++
	}
	if n != len(eng.waits) {
		return fmt.Errorf("ageing: %d waits of applications that are gone", len(eng.waits)-n)
	}
	return nil
}

// rises is a heap of waits, by due and then by ID.
type rises []*wait

func (h rises) Len() int { return len(h) }
func (h rises) Less(i, j int) bool {
	return cmp.Or(h[i].due.Compare(h[j].due), cmp.Compare(h[i].app.ID(), h[j].app.ID())) < 0
}
func (h rises) Swap(i, j int) { h[i], h[j] = h[j], h[i]; h[i].index, h[j].index = i, j }
func (h *rises) Push(x any) {
	w := x.(*wait)
	w.index = len(*h)
	*h = append(*h, w)
}
func (h *rises) Pop() any {
	last := len(*h) - 1
	w := (*h)[last]
	(*h)[last], w.index = nil, -1
	*h = (*h)[:last]
	return w
}
