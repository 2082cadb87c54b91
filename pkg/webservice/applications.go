package webservice

import (
	"cmp"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/canopy-scheduler/canopy/pkg/objects"
	"github.com/canopy-scheduler/canopy/pkg/scheduler"
	"github.com/canopy-scheduler/canopy/pkg/webservice/dao"
)

// applications lists the applications of one queue. A parent queue has none.
func (s *service) applications(r *http.Request) (any, error) {
	part, err := readApplicationPage(r)
	if err != nil {
		return nil, err
	}
	status, err := statusOf(part.query)
	if err != nil {
		return nil, err
	}
	snap, q, err := s.queue(r)
	switch {
	case err != nil:
		return nil, err
	case part.isWhole():
		return listApplications(snap, q, status, false), nil
	}
	return part.active(snap.Partition, applicationsIn(q, false), status)
}

// statusOf is the state of active applications in a query, in lower case; empty: it has none.
func statusOf(query url.Values) (string, error) {
	status := strings.ToLower(query.Get("status"))
	if status != "" && !slices.Contains(activeStatuses, status) {
		return "",
			badRequest(fmt.Sprintf("status %q: it is one of %s", truncated(status), strings.Join(activeStatuses, ", ")))
	}
	return status, nil
}

// queue returns the queue in the path of the request; root if the path has none.
func (s *service) queue(r *http.Request) (*scheduler.Snapshot, *scheduler.QueueView, error) {
	path := string(objects.RootPath)
	if r.PathValue("queue") != "" {
		var err error
		if path, err = queuePath(r); err != nil {
			return nil, nil, err
		}
	}
	snap, err := s.snapshot(r)
	if err != nil {
		return nil, nil, err
	}
	q, err := findQueue(snap.Root, path)
	return snap, q, err
}

// listApplications is the JSON list of the applications of q in one state, in any if state is
// empty. recursive: and of the queues below q.
func listApplications(snap *scheduler.Snapshot, q *scheduler.QueueView, state string, recursive bool) pieces {
	return func(yield func([]byte) bool) {
		e, before := newEncoder(), []byte("[")
		more := eachApplication(q, recursive, func(a *scheduler.ApplicationView, path string) bool {
			if state != "" && !strings.EqualFold(a.State.String(), state) {
				return true
			}
			if !yield(before) {
				return false
			}
			before = []byte(",")
			all, _ := applicationPieces(e, snap.Partition, path, a)
			for piece := range all {
				if !yield(piece) {
					return false
				}
			}
			return true
		})
		if !more || before[0] == '[' && !yield(before) {
			return
		}
		yield([]byte("]"))
	}
}

// eachApplication calls do for the applications of q and, if recursive, of the queues below it,
// with the paths of their queues, until do returns false. It reports whether do never did.
func eachApplication(q *scheduler.QueueView, recursive bool,
	do func(a *scheduler.ApplicationView, path string) bool) bool {
	for a := range q.Applications.All() {
		if !do(a, string(q.Path)) {
			return false
		}
	}
	if recursive {
		for child := range q.Children.All() {
			if !eachApplication(child, true, do) {
				return false
			}
		}
	}
	return true
}

// comparePaths compares paths of queues level by level: the order of eachApplication, in which a queue is before those
// below it, and these are before its next sibling.
func comparePaths(a, b string) int {
	for i := range min(len(a), len(b)) {
		switch x, y := a[i], b[i]; {
		case x == y:
		case x == '.':
			return -1
		case y == '.':
			return 1
		default:
			return cmp.Compare(x, y)
		}
	}
	return cmp.Compare(len(a), len(b))
}

// activeApplicationList is the list of all active applications.
var activeApplicationList = &listSource{
	each: func(snap *scheduler.Snapshot, yield func(view any, where string) bool) {
		eachApplication(snap.Root, true, func(a *scheduler.ApplicationView, path string) bool { return yield(a, path) })
	},
	compare: func(a any, pathOfA string, b any, pathOfB string) int {
		x, _ := a.(*scheduler.ApplicationView)
		y, _ := b.(*scheduler.ApplicationView)
		return cmp.Or(comparePaths(pathOfA, pathOfB), cmp.Compare(x.ID, y.ID))
	},
	pieces: func(e *encoder, snap *scheduler.Snapshot, view any, where string) (pieces, bool) {
		a, _ := view.(*scheduler.ApplicationView)
		return applicationPieces(e, snap.Partition, where, a)
	},
}

// applicationPieces is the JSON of an application. long: it has too many asks and allocations for its text to be
// kept.
func applicationPieces(e *encoder, partition, queue string, a *scheduler.ApplicationView) (all pieces, long bool) {
	v := dao.NewApplication(a)
	v.Partition, v.QueueName = partition, queue
	return spliceAllocations(e, v, a.Allocations), a.Allocations.Len() > longListLength
}
