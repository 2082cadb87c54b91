// Package refusals remembers which nodes have refused which asks, because a binding to the node failed, and for how
// long each ask is kept from such a node. After several different asks of a shape were refused by a node, it keeps all
// asks of the shape from the node (NOD-44 to NOD-47).
//
// It leaves to package scheduler what keeping away means: here are only names and times.
//
// Invariant: each refusal ends by time, and there are at most maxRefusals.
package refusals

import (
	"container/heap"
	"slices"
	"time"
)

// Settings say how long an ask is kept from a node that has refused it (NOD-45).
type Settings struct {
	Backoff    time.Duration // the first back-off; 0: refusals have no effect. Default 10 s
	MaxBackoff time.Duration // at least Backoff: each further back-off is twice as long, up to this. Default 5 minutes
	// above 0: after the refusal of so many asks, all of their shape are kept from the node. Default 3
	Asks int
}

// Bounds of Settings.
const (
	MaxAsks        = 1000
	LongestBackoff = 24 * time.Hour
)

// DefaultSettings returns the settings of a partition that sets none.
func DefaultSettings() Settings {
	return Settings{Backoff: 10 * time.Second, MaxBackoff: 5 * time.Minute, Asks: 3}
}

// maxRefusals bounds the memory of a Tracker. With one more, the refusal that is due first ends.
const maxRefusals = 10_000

// Ask names an ask. A new ask with the same names is the same one for a Tracker.
type Ask struct{ App, Key string }

// Refusal records that a node has refused an ask or, with OfShape, that the node is refused to all asks of the shape.
// It
// is read-only outside of this package.
type Refusal struct {
	Ask     Ask // with OfShape: the last that was refused
	Shape   string
	Node    string
	OfShape bool
	Active  bool      // the back-off has not ended
	Count   int       // the number of back-offs, each of which began soon after the one before
	Since   time.Time // when the last back-off began
	Until   time.Time // when it ends

	forgetAt time.Time // when it is forgotten, if no other back-off begins
	due      time.Time // Until; if the back-off has ended: forgetAt
	sequence uint64    // of its creation; breaks ties of due
	index    int       // in Tracker.due
}

// Tracker has the refusals of a partition. The zero value has none.
type Tracker struct {
	byAsk    map[Ask][]*Refusal    // without those of shapes
	byNode   map[string][]*Refusal // all
	due      dueHeap               // all
	sequence uint64
}

// Empty reports whether there is no refusal.
func (t *Tracker) Empty() bool { return len(t.due) == 0 }

// Refuse records that node has refused an ask of a shape. It returns the back-offs that begin, and those that end
// because there are too many. A refusal during a back-off does not prolong it: the binding was under way.
func (t *Tracker) Refuse(s Settings, ask Ask, shape, node string, now time.Time) (began, ended []*Refusal) {
	if s.Backoff <= 0 {
		return nil, nil
	}
	ofAsk := t.find(node, func(r *Refusal) bool { return !r.OfShape && r.Ask == ask })
	if ofAsk == nil {
		ofAsk = &Refusal{Ask: ask, Node: node}
		ended = t.add(ofAsk, ended)
		t.byAsk[ask] = append(t.byAsk[ask], ofAsk)
	}
	ofAsk.Shape = shape
	began = t.begin(ofAsk, s, now, began)
	if t.asksRefused(node, shape) < s.Asks {
		return began, ended
	}
	ofShape := t.find(node, func(r *Refusal) bool { return r.OfShape && r.Shape == shape })
	if ofShape == nil {
		ofShape = &Refusal{Shape: shape, Node: node, OfShape: true}
		ended = t.add(ofShape, ended)
	}
	if !ofShape.Active {
		ofShape.Ask = ask
	}
	return t.begin(ofShape, s, now, began), ended
}

// begin begins the next back-off of r, unless one is active. r is remembered for another MaxBackoff after its end, so
// that the next one is longer.
func (t *Tracker) begin(r *Refusal, s Settings, now time.Time, began []*Refusal) []*Refusal {
	if r.Active {
		return began
	}
	backoff := s.Backoff
	for n := 0; n < r.Count && backoff < s.MaxBackoff; n++ {
		backoff *= 2
	}
	r.Active, r.Since, r.Until = true, now, now.Add(min(backoff, s.MaxBackoff))
	r.Count++
	r.due, r.forgetAt = r.Until, r.Until.Add(s.MaxBackoff)
	heap.Fix(&t.due, r.index)
	return append(began, r)
}

// asksRefused returns how many different asks of a shape a node has refused, as far as they are remembered.
func (t *Tracker) asksRefused(node, shape string) (n int) {
	for _, r := range t.byNode[node] {
		if !r.OfShape && r.Shape == shape {
			n++
		}
	}
	return n
}

func (t *Tracker) find(node string, wanted func(*Refusal) bool) *Refusal {
	if i := slices.IndexFunc(t.byNode[node], wanted); i >= 0 {
		return t.byNode[node][i]
	}
	return nil
}

// OfAsk yields the refusals of an ask whose back-off is active.
func (t *Tracker) OfAsk(ask Ask) func(yield func(*Refusal) bool) { return active(t.byAsk[ask]) }

// OfNode yields the refusals by a node whose back-off is active, of asks and of shapes.
func (t *Tracker) OfNode(node string) func(yield func(*Refusal) bool) { return active(t.byNode[node]) }

func active(all []*Refusal) func(yield func(*Refusal) bool) {
	return func(yield func(*Refusal) bool) {
		for _, r := range all {
			if r.Active && !yield(r) {
				return
			}
		}
	}
}

// NodeChanged forgets all refusals by a node, and returns those whose back-off was active.
func (t *Tracker) NodeChanged(node string) (ended []*Refusal) {
	for _, r := range slices.Clone(t.byNode[node]) {
		ended = t.remove(r, ended)
	}
	return ended
}

// Next returns the next time at which Expire has something to do. ok is false if there is no refusal.
func (t *Tracker) Next() (at time.Time, ok bool) {
	if len(t.due) == 0 {
		return at, false
	}
	return t.due[0].due, true
}

// Expire returns the refusals whose back-off has ended at now, in the order of their ends, and forgets those that ended
// long ago.
func (t *Tracker) Expire(now time.Time) (ended []*Refusal) {
	for len(t.due) > 0 && !t.due[0].due.After(now) {
		r := t.due[0]
		if !r.Active {
			t.remove(r, nil)
			continue
		}
		r.Active, r.due = false, r.forgetAt
		heap.Fix(&t.due, 0)
		ended = append(ended, r)
	}
	return ended
}

func (t *Tracker) add(r *Refusal, ended []*Refusal) []*Refusal {
	if len(t.due) >= maxRefusals {
		ended = t.remove(t.due[0], ended)
	}
	if t.byAsk == nil {
		t.byAsk, t.byNode = map[Ask][]*Refusal{}, map[string][]*Refusal{}
	}
	t.sequence++
	r.sequence = t.sequence
	t.byNode[r.Node] = append(t.byNode[r.Node], r)
	heap.Push(&t.due, r)
	return ended
}

// remove forgets r. ended has it then, if its back-off was active.
func (t *Tracker) remove(r *Refusal, ended []*Refusal) []*Refusal {
	heap.Remove(&t.due, r.index)
	drop(t.byNode, r.Node, r)
	if !r.OfShape {
		drop(t.byAsk, r.Ask, r)
	}
	if r.Active {
		r.Active = false
		ended = append(ended, r)
	}
	return ended
}

func drop[K comparable](from map[K][]*Refusal, key K, r *Refusal) {
	left := slices.DeleteFunc(from[key], func(other *Refusal) bool { return other == r })
	from[key] = left
	if len(left) == 0 {
		delete(from, key)
	}
}

// dueHeap is a container/heap by due.
type dueHeap []*Refusal

func (h dueHeap) Len() int { return len(h) }

func (h dueHeap) Less(i, j int) bool {
	if c := h[i].due.Compare(h[j].due); c != 0 {
		return c < 0
	}
	return h[i].sequence < h[j].sequence
}

func (h dueHeap) Swap(i, j int) {
	h[i], h[j] = h[j], h[i]
	h[i].index, h[j].index = i, j
}

// Push implements heap.Interface.
func (h *dueHeap) Push(x any) {
	r := x.(*Refusal)
	r.index = len(*h)
	*h = append(*h, r)
}

// Pop implements heap.Interface.
func (h *dueHeap) Pop() any {
	last := len(*h) - 1
	r := (*h)[last]
	(*h)[last] = nil
	*h = (*h)[:last]
	return r
}
