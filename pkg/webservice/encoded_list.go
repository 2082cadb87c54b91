package webservice

import (
	"bytes"
	"context"
	"net/http"
	"sync"
	"sync/atomic"

	"github.com/canopy-scheduler/canopy/internal/server/cpushare"
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
	// compare compares two views of snapshots by their places in the list.
	compare func(a any, pathOfA string, b any, pathOfB string) int
	// pieces is the JSON of a view. long: it has too many allocations for its text to be kept.
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
func (s *service) encodedList(r *http.Request, on *snapshotCache[*encodedList], list *listSource) (*encodedList,
	error) {
	l, err := s.partition(r)
	if err != nil {
		return nil, err
	}
	return on.get(r.Context(), &s.snapshots, l,
		func(ctx context.Context, snap *scheduler.Snapshot, last *encodedList) (*encodedList, bool, error) {
			return s.cacheBudget.encodeList(ctx, list, snap, last), true, nil
		})
}

// encodeList encodes the list of a snapshot. Elements of last, the previous list, are reused; it
// may be nil.
func (a *cacheBudget) encodeList(ctx context.Context, list *listSource, snap *scheduler.Snapshot,
	last *encodedList) *encodedList {
	next := &encodedList{source: list, snapshot: snap}
	var before previousList
	free := a.maxBytes - a.usedBytes.Load()
	if last != nil {
		before.elements = last.elements
		free += last.bytes
		next.elements = make([]*listElement, 0, len(last.elements)+len(last.elements)/8)
	}
	slot := cpushare.Readers.Acquire(ctx)
	defer slot.Release()
	e := newEncoderWithSlot(slot)
	var text []byte // scratch
	list.each(snap, func(view any, path string) bool {
		slot.Yield()
		x := before.find(list, view, path)
		if x == nil {
			x = &listElement{view: view, queuePath: path}
			if all, long := list.pieces(e, snap, view, path); !long {
				text = text[:0]
				for piece := range all {
					slot.Yield()
					text = append(text, piece...)
				}
				x.text = bytes.Clone(text)
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
	a.usedBytes.Add(next.bytes)
	if last != nil {
		a.usedBytes.Add(-last.bytes)
	}
	return next
}

// previousList finds elements of the previous list. The zero value has none.
type previousList struct {
	elements []*listElement
	next     int // the first element that is not before the views so far
}

// find returns the element of a view; nil: the view is new. Views must come in the order of the list.
func (f *previousList) find(list *listSource, view any, path string) *listElement {
	for ; f.next < len(f.elements); f.next++ {
		x := f.elements[f.next]
		if x.view == view && x.queuePath == path {
			f.next++
			return x
		}
		if list.compare(x.view, x.queuePath, view, path) >= 0 {
			return nil
		}
	}
	return nil
}

// pieces is the JSON of the list.
func (t *encodedList) pieces() pieces {
	return func(yield func([]byte) bool) {
		e, before := newEncoder(), []byte("[")
		for _, x := range t.elements {
			if !yield(before) {
				return
			}
			before = []byte(",")
			if x.text != nil {
				if !yield(x.text) {
					return
				}
				continue
			}
			all, _ := t.source.pieces(e, t.snapshot, x.view, x.queuePath) // encoded now: it is not kept
			for piece := range all {
				if !yield(piece) {
					return
				}
			}
		}
		if before[0] == '[' && !yield(before) {
			return
		}
		yield([]byte("]"))
	}
}

// textOf returns the JSON of an element: its text, or encoded now if that is not kept.
func (t *encodedList) textOf() func(*listElement) pieces {
	e := newEncoder()
	return func(x *listElement) pieces {
		if x.text != nil {
			return func(yield func([]byte) bool) { yield(x.text) }
		}
		all, _ := t.source.pieces(e, t.snapshot, x.view, x.queuePath)
		return all
	}
}

// longListLength is how many asks and allocations an object has at most for its text to be kept.
const longListLength = 1000
