package webservice

import (
	"cmp"
	"fmt"
	"iter"
	"net/http"
	"strconv"
	"strings"

	"github.com/canopy-scheduler/canopy/pkg/lifecycle"
	"github.com/canopy-scheduler/canopy/pkg/persistent"
	"github.com/canopy-scheduler/canopy/pkg/scheduler"
	"github.com/canopy-scheduler/canopy/pkg/webservice/dao"
)

// Parts of the lists of applications. The place of an active application is its queue and its ID, that of one that has ended
// its number in the history: both are right also when the application is no longer in the list.

// applicationPage is the part of a list of applications that a request asks for.
type applicationPage struct {
	page
	user string // empty: any
}

func readApplicationPage(r *http.Request) (p applicationPage, err error) {
	if p.page, err = readPage(r, dao.Application{}); err != nil {
		return p, err
	}
	p.user, err = filterOf(p.query, "user")
	return p, err
}

// isWhole reports whether the request asks for the whole list.
func (p applicationPage) isWhole() bool { return !p.has("user") }

// listedApplication is an active application and the path of its queue.
type listedApplication struct {
	view *scheduler.ApplicationView
	path string
	text []byte // its JSON, if that is kept
}

// place is the place of an application in a list of active ones.
func (a listedApplication) place() string { return a.path + " " + string(a.view.ID) }

// active is a part of the list of active applications; status is a state in lower case, or empty: any.
func (p applicationPage) active(partition string, all iter.Seq[listedApplication], status string) (any, error) {
	queue, id, found := strings.Cut(p.after, " ")
	if p.after != "" && !found {
		return nil, badPlace(p.after, "the queue and the ID of an application, with a space between them")
	}
	selected, more := selectPage(p.page, all,
		func(a listedApplication) bool {
			return cmp.Or(comparePaths(a.path, queue), cmp.Compare(string(a.view.ID), id)) > 0
		},
		func(a listedApplication) bool {
			return (p.user == "" || a.view.User.Name == p.user) && (status == "" || strings.EqualFold(a.view.State.String(), status))
		})
	e := newEncoder()
	return pagedListOf(p.page, selected, more, listedApplication.place, func(a listedApplication) pieces {
		if a.text != nil {
			return func(yield func([]byte) bool) { yield(a.text) }
		}
		text, _ := applicationPieces(e, partition, a.path, a.view)
		return text
	}), nil
}

// ended is a part of the list of applications that have ended.
func (p applicationPage) ended(partition string, all persistent.List[lifecycle.Ended]) (any, error) {
	var after uint32
	if p.after != "" {
		n, err := strconv.ParseUint(p.after, 10, 32)
		if err != nil {
			return nil, badPlace(p.after, "the number that the link to the next page has")
		}
		after = uint32(n)
	}
	selected, more := selectPage(p.page, all.All(),
		func(e *lifecycle.Ended) bool { return int32(e.Number()-after) > 0 },
		func(e *lifecycle.Ended) bool { return p.user == "" || e.User.Name == p.user })
	e := newEncoder()
	return pagedListOf(p.page, selected, more,
		func(x *lifecycle.Ended) string { return strconv.FormatUint(uint64(x.Number()), 10) },
		func(x *lifecycle.Ended) pieces {
			return func(yield func([]byte) bool) { yield(e.piece(dao.NewEndedApplication(partition, x))) }
		}), nil
}

func badPlace(after, form string) error {
	return badRequest(fmt.Sprintf("after %q: it is %s", truncated(after), form))
}

// applicationsIn are the active applications of q in order and, if recursive, of the queues below.
func applicationsIn(q *scheduler.QueueView, recursive bool) iter.Seq[listedApplication] {
	return func(yield func(listedApplication) bool) {
		eachApplication(q, recursive, func(a *scheduler.ApplicationView, path string) bool { return yield(listedApplication{a, path, nil}) })
	}
}

// applications are the applications of a list, with the texts that are kept.
func (t *encodedList) applications(yield func(listedApplication) bool) {
	for _, x := range t.elements {
		view, _ := x.view.(*scheduler.ApplicationView)
		if !yield(listedApplication{view, x.queuePath, x.text}) {
			return
		}
	}
}
