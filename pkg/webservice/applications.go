package webservice

import (
	"cmp"
	"context"
	"fmt"
	"iter"
	"math"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/canopy-scheduler/canopy/pkg/lifecycle"
	"github.com/canopy-scheduler/canopy/pkg/objects"
	"github.com/canopy-scheduler/canopy/pkg/persistent"
	"github.com/canopy-scheduler/canopy/pkg/scheduler"
	"github.com/canopy-scheduler/canopy/pkg/webservice/dao"
)

// The states that the path of a request may have, and the states of active applications that ?status= may have
// (APP-46). All in lower case.
var (
	listedStates   = []string{"active", "rejected", "completed"}
	activeStatuses = []string{"new", "accepted", "running", "completing", "failing", "resuming"}
)

// applications lists the applications of one queue. A parent queue has none.
func (s *service) applications(r *http.Request, snap *scheduler.Snapshot) (any, error) {
	p, err := readApplicationPage(r)
	if err != nil {
		return nil, err
	}
	q, err := queueIn(r, snap)
	if err != nil {
		return nil, err
	}
	return p.active(snap.Partition, snap.At, applicationsIn(q, false))
}

// applicationsByState lists the active, rejected or completed applications of a partition, or the active ones of a
// queue.
func (s *service) applicationsByState(r *http.Request, snap *scheduler.Snapshot) (any, error) {
	_, invalid := statusOf(r.URL.Query())
	state, inQueue := strings.ToLower(r.PathValue("state")), r.PathValue("queue") != ""
	switch {
	case inQueue && state != "active":
		return nil, badRequest("state %q: a queue lists its active applications only", state)
	case !slices.Contains(listedStates, state):
		return nil, badRequest("state %q: it is one of %s", state, strings.Join(listedStates, ", "))
	case r.URL.Query().Get("status") != "" && state != "active":
		return nil, badRequest("a status can be asked for with the state active only")
	case invalid != nil:
		return nil, invalid
	}
	p, err := readApplicationPage(r)
	if err != nil {
		return nil, err
	}
	if state == "active" {
		q, err := queueIn(r, snap)
		if err != nil {
			return nil, err
		}
		return p.active(snap.Partition, snap.At, applicationsIn(q, !inQueue))
	}
	current := snap.Completed
	if state == "rejected" {
		current = snap.Rejected
	}
	all, err := s.endedApplications(r.Context(), snap, state == "rejected", current)
	if err != nil {
		return nil, err
	}
	return p.ended(snap.Partition, all)
}

// application shows one active application: of the whole partition, or of the queue in the path.
func (s *service) application(r *http.Request) (any, error) {
	id, err := parameter(r, "application")
	if err != nil {
		return nil, err
	}
	snap, err := s.snapshot(r)
	if err != nil {
		return nil, err
	}
	q, err := queueIn(r, snap)
	if err != nil {
		return nil, err
	}
	a, in := findApplication(q, objects.AppID(id), r.PathValue("queue") == "")
	if a == nil {
		return nil, notFound("Application")
	}
	return dao.NewApplication(snap.Partition, snap.At, in.Path, a, s.refusalsIn(snap.Partition)), nil
}

// refusalsIn returns the function that returns the refusals of nodes for an ask of a partition; nil: there are none. It
// is not for lists.
func (s *service) refusalsIn(partition string) func(objects.AllocationKey) []dao.AskLog {
	if s.opt.Refusals == nil {
		return nil
	}
	return func(ask objects.AllocationKey) []dao.AskLog { return s.opt.Refusals(partition, ask) }
}

// findApplication returns an application of q or, if recursive, of the queues below, and its queue; nil: there is none.
func findApplication(q *scheduler.QueueView, id objects.AppID, recursive bool) (*scheduler.ApplicationView,
	*scheduler.QueueView) {
	if a := q.Application(id); a != nil {
		return a, q
	}
	if !recursive {
		return nil, nil
	}
	for child := range q.Children.All() {
		if a, in := findApplication(child, id, true); a != nil {
			return a, in
		}
	}
	return nil, nil
}

// queueIn returns the queue in the path of a request; root if the path has none.
func queueIn(r *http.Request, snap *scheduler.Snapshot) (*scheduler.QueueView, error) {
	if r.PathValue("queue") == "" {
		return snap.Root, nil
	}
	path, err := queuePath(r)
	if err != nil {
		return nil, err
	}
	if q := snap.Queue(objects.QueuePath(path)); q != nil {
		return q, nil
	}
	return nil, notFound("Queue")
}

// eachApplication calls do for the applications of q and, if recursive, of the queues below it, with the paths of their
// queues, until do returns false. It reports whether do never did.
func eachApplication(q *scheduler.QueueView, recursive bool,
	do func(a *scheduler.ApplicationView, path objects.QueuePath) bool) bool {
	for a := range q.Applications.All() {
		if !do(a, q.Path) {
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

// Parts of the lists of applications. The place of an active application is its queue and its ID, that of one that has
// ended its number in the history or, if it ended before the last restart, when it did and its ID: all are right also
// when the application is no longer in the list.

// applicationPage is the part of a list of applications that a request asks for.
type applicationPage struct {
	page
	user   string // empty: any
	status string // a state of active applications, in lower case; empty: any
}

func readApplicationPage(r *http.Request) (p applicationPage, err error) {
	if p.page, err = readPage(r, dao.Application{}); err != nil {
		return p, err
	}
	if p.status, err = statusOf(p.query); err != nil {
		return p, err
	}
	p.user, err = filterOf(p.query, "user")
	return p, err
}

// statusOf returns the state of active applications in a query, in lower case; empty: it has none.
func statusOf(query url.Values) (string, error) {
	status := strings.ToLower(query.Get("status"))
	if status != "" && !slices.Contains(activeStatuses, status) {
		return "",
			badRequest("status %q: it is one of %s", truncated(status), strings.Join(activeStatuses, ", "))
	}
	return status, nil
}

// listedApplication is an active application and the path of its queue.
type listedApplication struct {
	view *scheduler.ApplicationView
	path objects.QueuePath
}

// place returns the place of an application in a list of active ones.
func (a listedApplication) place() string { return string(a.path) + " " + string(a.view.ID) }

// applicationsIn yields the active applications of q in order and, if recursive, of the queues below.
func applicationsIn(q *scheduler.QueueView, recursive bool) iter.Seq[listedApplication] {
	return func(yield func(listedApplication) bool) {
		eachApplication(q, recursive,
			func(a *scheduler.ApplicationView, path objects.QueuePath) bool {
				return yield(listedApplication{a, path})
			})
	}
}

// active returns a part of the list of active applications.
func (p applicationPage) active(partition string, at time.Time, all iter.Seq[listedApplication]) (any, error) {
	queue, id, found := strings.Cut(p.after, " ")
	if p.after != "" && !found {
		return nil, badPlace(p.after, "the queue and the ID of an application, with a space between them")
	}
	selected, more := selectPage(p.page, all,
		func(a listedApplication) bool {
			return cmp.Or(comparePaths(string(a.path), queue), cmp.Compare(string(a.view.ID), id)) > 0
		},
		func(a listedApplication) bool {
			return (p.user == "" || a.view.User.Name == p.user) &&
				(p.status == "" || strings.EqualFold(a.view.State.String(), p.status))
		})
	return pageOf(p.page, selected, more, listedApplication.place, func(a listedApplication) dao.Application {
		return dao.NewApplication(partition, at, a.path, a.view, nil)
	}), nil
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

// listedEnded is an application that has ended. former: before the last restart.
type listedEnded struct {
	*lifecycle.Ended
	former bool
}

// endedApplications yields the applications that have ended in the order of their list, those of before the last
// restart first. current are the others.
func (s *service) endedApplications(ctx context.Context, snap *scheduler.Snapshot, rejected bool,
	current persistent.List[lifecycle.Ended]) (iter.Seq[listedEnded], error) {
	former, err := s.formerlyEnded(ctx, snap, rejected, current)
	if err != nil {
		return nil, err
	}
	if rejected && len(former) > 0 {
		again := map[string]bool{} // of a rejected ID only the newest is listed (APP-39)
		for e := range current.All() {
			again[e.ID] = true
		}
		former = slices.DeleteFunc(former, func(e *lifecycle.Ended) bool { return again[e.ID] })
	}
	return func(yield func(listedEnded) bool) {
		for _, e := range former {
			if !yield(listedEnded{e, true}) {
				return
			}
		}
		for e := range current.All() {
			if !yield(listedEnded{e, false}) {
				return
			}
		}
	}, nil
}

// formerPrefix begins the places of applications that ended before the last restart.
const formerPrefix = "former "

// place returns the place of an application in a list of ended ones.
func (e listedEnded) place() string {
	if e.former {
		return fmt.Sprint(formerPrefix, e.Finished.UnixMilli(), " ", e.ID)
	}
	return strconv.FormatUint(uint64(e.Number()), 10)
}

// endedPlace is a place in a list of ended applications.
type endedPlace struct {
	former   bool // before the applications of this process
	finished int64
	id       string
	number   uint32
}

func parseEndedPlace(after string) (p endedPlace, err error) {
	text, former := strings.CutPrefix(after, formerPrefix)
	if !former && after != "" {
		n, err := strconv.ParseUint(after, 10, 32)
		p.number = uint32(n)
		return p, err
	}
	p.former = true
	if after == "" {
		p.finished = math.MinInt64
		return p, nil
	}
	finished, id, _ := strings.Cut(text, " ")
	p.id = id
	p.finished, err = strconv.ParseInt(finished, 10, 64)
	return p, err
}

// before reports whether p is before e.
func (p endedPlace) before(e listedEnded) bool {
	switch {
	case e.former:
		return p.former && cmp.Or(cmp.Compare(e.Finished.UnixMilli(), p.finished), cmp.Compare(e.ID, p.id)) > 0
	case p.former:
		return true
	}
	return int32(e.Number()-p.number) > 0
}

// ended returns a part of the list of applications that have ended.
func (p applicationPage) ended(partition string, all iter.Seq[listedEnded]) (any, error) {
	after, err := parseEndedPlace(p.after)
	if err != nil {
		return nil, badPlace(p.after, "the one that the link to the next page has")
	}
	selected, more := selectPage(p.page, all, after.before,
		func(e listedEnded) bool { return p.user == "" || e.User.Name == p.user })
	return pageOf(p.page, selected, more, listedEnded.place, func(e listedEnded) dao.Application {
		return dao.NewEndedApplication(partition, e.Ended)
	}), nil
}

func badPlace(after, form string) error {
	return badRequest("after %q: it is %s", truncated(after), form)
}
