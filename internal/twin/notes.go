package twin

import (
	"fmt"
	"maps"
	"slices"

	"github.com/canopy-scheduler/canopy/pkg/objects"
	"github.com/canopy-scheduler/canopy/pkg/scheduler"
)

// notes is what a Core has noted, added up: it must come to what the twin knows.
type notes struct {
	waits   map[objects.AllocationKey]objects.NodeID // nominated, and not ended
	told    map[objects.AllocationKey]bool
	overdue map[objects.AllocationKey]bool
	queues  []string        // of the last step: what became of queues, in order of these texts
	closed  []string        // circles that room went round
	paused  map[string]bool // by two leaves, or one twice
}

func newNotes() *notes {
	return &notes{map[objects.AllocationKey]objects.NodeID{}, map[objects.AllocationKey]bool{}, map[objects.AllocationKey]bool{}, nil, nil, map[string]bool{}}
}

// hear takes the notes, and what became of queues, out of effects. Its problem is one that cannot be.
func (n *notes) hear(effects []scheduler.Effect) (others []scheduler.Effect, problem string) {
	n.queues = nil
	defer func() { slices.Sort(n.queues) }()
	for _, e := range effects {
		switch e := e.(type) {
		case scheduler.QueueChanged:
			n.queues = append(n.queues, e.String())
			continue
		case scheduler.Noted:
			if !n.take(e) {
				problem = fmt.Sprintf("it notes what cannot be: %s", e)
			}
			continue
		case scheduler.Forgotten:
			queues := n.queues
			*n = *newNotes()
			n.queues = queues
		}
		others = append(others, e)
	}
	return others, problem
}

func (n *notes) take(e scheduler.Noted) (fine bool) {
	key := e.Who.Key
	switch e.What {
	case scheduler.NotePreempted:
		fine = !n.told[key]
		n.told[key] = true
	case scheduler.NoteOverdue:
		fine = n.told[key] && !n.overdue[key] && !e.Since.IsZero()
		n.overdue[key] = true
	case scheduler.NoteNominated:
		fine = n.waits[key] == ""
		n.waits[key] = e.Node
	case scheduler.NoteNominationEnded:
		fine = n.waits[key] == e.Node && !e.Since.IsZero() && e.End != scheduler.NominationWaits
		delete(n.waits, key)
	case scheduler.NoteChurn:
		fine = len(e.Cycle) > 0
		n.closed = append(n.closed, e.Cycle.String())
		for i, leaf := range e.Cycle {
			if !e.Until.IsZero() {
				n.paused[pair(leaf, e.Cycle[(i+1)%len(e.Cycle)])] = true
			}
		}
	case scheduler.NoteIgnored:
		fine = e.Why != ""
	case scheduler.NotePauseEnded:
		name := pair(e.Cycle[0], e.Cycle[len(e.Cycle)-1])
		fine = n.paused[name] && !e.Since.IsZero()
		delete(n.paused, name)
	}
	return fine
}

func pair(a, b objects.QueuePath) string { return fmt.Sprint(min(a, b), " ", max(a, b)) }

// differences compares what was noted with what the twin knows. Who has gone leaves no note.
func (n *notes) differences(t *Twin) (lines []string) {
	differ := func(w *work, what string, noted, is any) {
		if noted != is {
			lines = append(lines, fmt.Sprintf("%s: it was noted that %s is %v, the twin says %v", w.ask.Key, what, noted, is))
		}
	}
	for _, w := range t.work {
		differ(w, "told to leave", n.told[w.ask.Key], w.leaving)
		differ(w, "overdue", n.overdue[w.ask.Key], w.overdue)
		differ(w, "the node that it waits for", n.waits[w.ask.Key], w.nominated)
	}
	for key := range n.waits {
		if t.known(key) == nil {
			lines = append(lines, fmt.Sprintf("%s is gone, and was noted to wait", key))
		}
	}
	for key := range n.told {
		if t.known(key) == nil {
			delete(n.told, key)
			delete(n.overdue, key)
		}
	}
	paused := map[string]bool{}
	for _, p := range t.churn.pauses {
		paused[pair(p.A, p.B)] = true
	}
	if !maps.Equal(n.paused, paused) || !slices.Equal(n.closed, t.churn.closed) {
		lines = append(lines, fmt.Sprintf("circles %v and pauses %v were noted, the twin counts %v and %v", n.closed, n.paused, t.churn.closed, paused))
	}
	slices.Sort(lines)
	return lines
}
