package webservice

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/canopy-scheduler/canopy/pkg/lifecycle"
	"github.com/canopy-scheduler/canopy/pkg/objects"
	"github.com/canopy-scheduler/canopy/pkg/persistent"
	"github.com/canopy-scheduler/canopy/pkg/scheduler"
	"github.com/canopy-scheduler/canopy/pkg/webservice/dao"
)

// The states that the path of a request may have, and the states of active applications that
// ?status= may have (APP-46). All in lower case.
var (
	listedStates   = []string{"active", "rejected", "completed"}
	activeStatuses = []string{"new", "accepted", "running", "completing", "failing", "resuming"}
)

// applicationsByState lists the active, rejected or completed applications of a partition, or the
// active ones of a queue.
func (s *service) applicationsByState(r *http.Request) (any, error) {
	state := strings.ToLower(r.PathValue("state"))
	status, invalid := statusOf(r.URL.Query())
	inQueue := r.PathValue("queue") != ""
	switch {
	case inQueue && state != "active":
		return nil, badRequest(fmt.Sprintf("state %q: a queue lists its active applications only", state))
	case !slices.Contains(listedStates, state):
		return nil, badRequest(fmt.Sprintf("state %q: it is one of %s", state, strings.Join(listedStates, ", ")))
	case r.URL.Query().Get("status") != "" && state != "active":
		return nil, badRequest("a status can be asked for with the state active only")
	case invalid != nil:
		return nil, invalid
	}
	part, err := readApplicationPage(r)
	if err != nil {
		return nil, err
	}
	if state == "active" && !inQueue && (status == "" || !part.isWhole()) {
		list, err := s.encodedList(r, &s.activeApplicationLists, activeApplicationList)
		if err != nil || part.isWhole() {
			return list, err
		}
		return part.active(list.snapshot.Partition, list.applications, status)
	}
	snap, q, err := s.queue(r)
	if err != nil {
		return nil, err
	}
	ended, rejected := snap.Completed, state == "rejected"
	switch {
	case state == "active" && part.isWhole():
		return listApplications(snap, q, status, !inQueue), nil
	case state == "active":
		return part.active(snap.Partition, applicationsIn(q, !inQueue), status)
	case rejected:
		ended = snap.Rejected
	}
	list, err := s.endedList(r.Context(), snap, rejected, ended)
	if err != nil {
		return nil, err
	}
	if part.isWhole() {
		return listOf(func(yield func(dao.Application) bool) {
			for e := range list.all {
				if !yield(dao.NewEndedApplication(snap.Partition, e.Ended)) {
					return
				}
			}
		}), nil
	}
	return part.ended(snap.Partition, list.all)
}

// endedList are ended applications in the order of their list, those of before the last restart first.
type endedList struct {
	former  []*lifecycle.Ended // from the store of usage
	current persistent.List[lifecycle.Ended]
}

func (s *service) endedList(ctx context.Context, snap *scheduler.Snapshot, rejected bool,
	current persistent.List[lifecycle.Ended]) (list endedList, err error) {
	list.current = current
	if list.former, err = s.formerlyEnded(ctx, snap, rejected, current); err != nil || !rejected || len(list.former) == 0 {
		return list, err
	}
	again := map[string]bool{} // of a rejected ID only the newest is listed (APP-39)
	for e := range current.All() {
		again[e.ID] = true
	}
	list.former = slices.DeleteFunc(list.former, func(e *lifecycle.Ended) bool { return again[e.ID] })
	return list, nil
}

// all yields the list.
func (l endedList) all(yield func(listedEnded) bool) {
	for _, e := range l.former {
		if !yield(listedEnded{e, true}) {
			return
		}
	}
	for e := range l.current.All() {
		if !yield(listedEnded{e, false}) {
			return
		}
	}
}

// application shows one active application: of the whole partition, or of the queue in the path.
func (s *service) application(r *http.Request) (any, error) {
	id, err := parameter(r, "application")
	if err != nil {
		return nil, err
	}
	snap, q, err := s.queue(r)
	if err != nil {
		return nil, err
	}
	a, in := findApplication(q, objects.AppID(id), r.PathValue("queue") == "")
	if a == nil {
		return nil, notFound("Application")
	}
	all, _ := applicationPieces(s.withRefusals(newEncoder(), snap.Partition), snap.Partition, string(in.Path), a)
	return all, nil
}

// findApplication returns an application of q or, if recursive, of the queues below, and its
// queue; nil: there is none.
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
