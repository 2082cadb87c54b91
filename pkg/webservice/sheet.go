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

// Large lists are encoded once for all readers, and element by element: a view that is the same
// in the next snapshot has the same text, which is not made again (ADR 34).

// element is an object of a list and its text.
type element struct {
	view  any    // a pointer to an immutable view: as long as it is the same, so is text
	where string // what else the text says that the view does not, such as the path of the queue
	text  []byte // its JSON; nil: it is not kept, and each reader makes it

	once   sync.Once
	packed []byte // text as blocks of deflate that end at a byte; made for the first who wants it
}

// sheet is a list at the time of a snapshot, encoded as far as there is room for it. It is
// immutable but for what element says.
type sheet struct {
	list     *listing
	of       *scheduler.Snapshot
	elements []*element
	bytes    int64 // of the texts that are kept
}

// listing says what a list is made of.
type listing struct {
	// each yields the views of a snapshot in the order of the list.
	each func(snap *scheduler.Snapshot, yield func(view any, where string) bool)
	// pieces is the JSON of a view. long: it has so much work that it is not encoded in one go.
	pieces func(e *encoder, snap *scheduler.Snapshot, view any, where string) (all pieces, long bool)
}

// shelves say how much encoded text a service keeps.
type shelves struct {
	most int64        // bytes in all
	kept atomic.Int64 // bytes
}

// keep replaces text that was kept by other text, if there is room for it; else nothing is kept.
func (a *shelves) keep(bytes, was int64) bool {
	if a.kept.Add(bytes-was) <= a.most {
		return true
	}
	a.kept.Add(-bytes)
	return false
}

// sheet is a list of the partition that the path names, as it is now or later.
func (s *service) sheet(r *http.Request, on *derived[*sheet], list *listing) (any, error) {
	l, err := s.partition(r)
	if err != nil {
		return nil, err
	}
	return on.get(r.Context(), &s.snapshots, l, func(ctx context.Context, snap *scheduler.Snapshot, last *sheet) (*sheet, bool, error) {
		next, err := s.shelves.encode(ctx, list, snap, last)
		return next, true, err
	})
}

// encode makes the sheet of a snapshot. What it shares with the last sheet is not made again; nil:
// there is none.
func (a *shelves) encode(ctx context.Context, list *listing, snap *scheduler.Snapshot, last *sheet) (*sheet, error) {
	next := &sheet{list: list, of: snap}
	var before former
	room := a.most - a.kept.Load()
	if last != nil {
		before.elements = last.elements
		room += last.bytes
		next.elements = make([]*element, 0, len(last.elements)+len(last.elements)/8)
	}
	turn := cpushare.Readers.Enter()
	defer turn.Leave()
	e := newEncoderIn(turn)
	list.each(snap, func(view any, where string) bool {
		if ctx.Err() != nil {
			return false
		}
		turn.Yield()
		x := before.find(view, where)
		if x == nil {
			x = &element{view: view, where: where}
			if all, long := list.pieces(e, snap, view, where); !long {
				for piece := range all {
					x.text = append(x.text, piece...)
				}
			}
		}
		if n := int64(len(x.text)); next.bytes+n > room {
			x = &element{view: view, where: where}
		} else {
			next.bytes += n
		}
		next.elements = append(next.elements, x)
		return true
	})
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	a.kept.Add(next.bytes)
	if last != nil {
		a.kept.Add(-last.bytes)
	}
	return next, nil
}

// former finds what was encoded for the last sheet. The zero value has nothing.
type former struct {
	elements []*element
	at       int         // behind the last that was found: most views are in the same order
	places   map[any]int // of all views; nil: no view was in another place yet
}

// find is the element of a view; nil: the view is new.
func (f *former) find(view any, where string) *element {
	i := f.at
	if i >= len(f.elements) || f.elements[i].view != view {
		if f.places == nil {
			f.places = make(map[any]int, len(f.elements))
			for i, x := range f.elements {
				f.places[x.view] = i
			}
		}
		var known bool
		if i, known = f.places[view]; !known {
			return nil
		}
	}
	f.at = i + 1
	if x := f.elements[i]; x.where == where {
		return x
	}
	return nil
}

// all is the JSON of the list.
func (t *sheet) all() pieces {
	return func(yield func([]byte) bool) {
		before := []byte("[")
		for _, x := range t.elements {
			if !yield(before) {
				return
			}
			for piece := range t.textOf(x) {
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

// textOf is the JSON of an element, made now if it is not kept.
func (t *sheet) textOf(x *element) pieces {
	if x.text != nil {
		return func(yield func([]byte) bool) { yield(x.text) }
	}
	all, _ := t.list.pieces(newEncoder(), t.of, x.view, x.where)
	return all
}

// longWork is how many asks and allocations an object has that is not encoded in one go.
const longWork = 1000

// inPieces is the JSON of body, in which each field of lists is a list of one zero element that
// stands for what fill yields for that field. Fields are in the order of the JSON.
func inPieces(e *encoder, body any, zero []byte, fields []string, fill func(field string) iter.Seq[any]) pieces {
	return func(yield func([]byte) bool) {
		rest := bytes.Clone(e.piece(body))
		for _, field := range fields {
			before, after, found := around(rest, field, zero)
			if !found {
				continue // it has none of these
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
