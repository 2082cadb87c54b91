package webservice

import (
	"bytes"
	"context"
	"iter"
	"net/http"
	"sync"
	"sync/atomic"

	"github.com/canopy-scheduler/canopy/internal/cpushare"
	"github.com/canopy-scheduler/canopy/pkg/scheduler"
)

// Large lists are encoded once for all readers, element by element: a view that is also in the
// next snapshot keeps its text (ADR 34, OBS-19).

// listElement is an object of a list and its encoded text.
type listElement struct {
	view      any    // a pointer to an immutable view: the same view has the same text
	queuePath string // the path of the queue of an application, which is in text and not in view; may be empty
	text      []byte // its JSON; nil: it is not kept, but encoded for each reader

	once     sync.Once
	deflated []byte // text as deflate blocks that end at a byte; made on the first use
}

// encodedList is a list of a snapshot, encoded as far as the cache budget allows. It is immutable,
// except for listElement.deflated.
type encodedList struct {
	source   *listSource
	snapshot *scheduler.Snapshot
	elements []*listElement
	bytes    int64 // the size of the texts that are kept
}

// listSource defines a list.
type listSource struct {
	// each yields the views of a snapshot in the order of the list.
	each func(snap *scheduler.Snapshot, yield func(view any, where string) bool)
	// pieces is the JSON of a view. long: it has too many allocations to be encoded in one go.
	pieces func(e *encoder, snap *scheduler.Snapshot, view any, where string) (all pieces, long bool)
}

// cacheBudget bounds the encoded text that a service keeps.
type cacheBudget struct {
	maxBytes  int64        // in total
	usedBytes atomic.Int64 // of all texts that are kept
}

// replace accounts for the replacement of a kept text by another one; false: there is no space for
// it, and nothing is accounted.
func (a *cacheBudget) replace(size, previous int64) bool {
	if a.usedBytes.Add(size-previous) <= a.maxBytes {
		return true
	}
	a.usedBytes.Add(-size)
	return false
}

// encodedList is a list of the partition in the path of the request, not older than the request.
func (s *service) encodedList(r *http.Request, on *snapshotCache[*encodedList], list *listSource) (any, error) {
	l, err := s.partition(r)
	if err != nil {
		return nil, err
	}
	return on.get(r.Context(), &s.snapshots, l, func(ctx context.Context, snap *scheduler.Snapshot, last *encodedList) (*encodedList, bool, error) {
		next, err := s.cacheBudget.encodeList(ctx, list, snap, last)
		return next, true, err
	})
}

// encodeList encodes the list of a snapshot. Elements of last, the previous list, are reused; it
// may be nil.
func (a *cacheBudget) encodeList(ctx context.Context, list *listSource, snap *scheduler.Snapshot, last *encodedList) (*encodedList, error) {
	next := &encodedList{source: list, snapshot: snap}
	var before previousList
	free := a.maxBytes - a.usedBytes.Load()
	if last != nil {
		before.elements = last.elements
		free += last.bytes
		next.elements = make([]*listElement, 0, len(last.elements)+len(last.elements)/8)
	}
	slot := cpushare.Readers.Acquire()
	defer slot.Release()
	e := newEncoderWithSlot(slot)
	list.each(snap, func(view any, path string) bool {
		if ctx.Err() != nil {
			return false
		}
		slot.Yield()
		x := before.find(view, path)
		if x == nil {
			x = &listElement{view: view, queuePath: path}
			if all, long := list.pieces(e, snap, view, path); !long {
				for piece := range all {
					x.text = append(x.text, piece...)
				}
			}
		}
		if n := int64(len(x.text)); next.bytes+n > free {
			x = &listElement{view: view, queuePath: path}
		} else {
			next.bytes += n
		}
		next.elements = append(next.elements, x)
		return true
	})
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	a.usedBytes.Add(next.bytes)
	if last != nil {
		a.usedBytes.Add(-last.bytes)
	}
	return next, nil
}

// previousList finds elements of the previous list. The zero value has none.
type previousList struct {
	elements []*listElement
	next     int         // after the last element found: most views are in the same order
	index    map[any]int // positions of all views; nil: the order has not differed yet
}

// find returns the element of a view; nil: the view is new.
func (f *previousList) find(view any, path string) *listElement {
	i := f.next
	if i >= len(f.elements) || f.elements[i].view != view {
		if f.index == nil {
			f.index = make(map[any]int, len(f.elements))
			for i, x := range f.elements {
				f.index[x.view] = i
			}
		}
		var known bool
		if i, known = f.index[view]; !known {
			return nil
		}
	}
	f.next = i + 1
	if x := f.elements[i]; x.queuePath == path {
		return x
	}
	return nil
}

// pieces is the JSON of the list.
func (t *encodedList) pieces() pieces {
	return func(yield func([]byte) bool) {
		before := []byte("[")
		for _, x := range t.elements {
			if !yield(before) {
				return
			}
			for piece := range t.elementPieces(x) {
				if !yield(piece) {
					return
				}
			}
			before = []byte(",")
		}
		if before[0] == '[' && !yield(before) {
			return
		}
		yield([]byte("]"))
	}
}

// elementPieces is the JSON of an element, encoded now if it is not kept.
func (t *encodedList) elementPieces(x *listElement) pieces {
	if x.text != nil {
		return func(yield func([]byte) bool) { yield(x.text) }
	}
	all, _ := t.source.pieces(newEncoder(), t.snapshot, x.view, x.queuePath)
	return all
}

// longListLength is how many asks and allocations an object has at most to be encoded in one go.
const longListLength = 1000

// spliceLists is the JSON of body with the elements of fill in its lists. In body, each list of fields
// that is to be filled has one zero element, whose JSON is zero. fields are in the order of the JSON.
func spliceLists(e *encoder, body any, zero []byte, fields []string, fill func(field string) iter.Seq[any]) pieces {
	return func(yield func([]byte) bool) {
		rest := bytes.Clone(e.piece(body))
		for _, field := range fields {
			before, after, found := cutAroundList(rest, field, zero)
			if !found {
				continue // the list is empty
			}
			if !yield(before) {
				return
			}
			for piece := range listWith(e, fill(field)) {
				if !yield(piece) {
					return
				}
			}
			rest = after
		}
		yield(rest)
	}
}
