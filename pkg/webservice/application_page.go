package webservice

import (
	"cmp"
	"fmt"
	"iter"
	"math"
	"net/http"
	"strconv"
	"strings"

	"github.com/canopy-scheduler/canopy/pkg/lifecycle"
	"github.com/canopy-scheduler/canopy/pkg/scheduler"
	"github.com/canopy-scheduler/canopy/pkg/webservice/dao"
)

// Parts of the lists of applications. The place of an active application is its queue and its ID, that of one that has
// ended its number in the history or, if it ended before the last restart, when it did and its ID: all are right also
// when the application is no longer in the list.

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
			return (p.user == "" || a.view.User.Name == p.user) &&
				(status == "" || strings.EqualFold(a.view.State.String(), status))
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

// listedEnded is an application that has ended. former: before the last restart.
type listedEnded struct {
	*lifecycle.Ended
	former bool
}

// formerPrefix begins the places of applications that ended before the last restart.
const formerPrefix = "former "

// place is the place of an application in a list of ended ones.
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

// ended is a part of the list of applications that have ended.
func (p applicationPage) ended(partition string, all iter.Seq[listedEnded]) (any, error) {
	after, err := parseEndedPlace(p.after)
	if err != nil {
		return nil, badPlace(p.after, "the one that the link to the next page has")
	}
	selected, more := selectPage(p.page, all, after.before,
		func(e listedEnded) bool { return p.user == "" || e.User.Name == p.user })
	e := newEncoder()
	return pagedListOf(p.page, selected, more, listedEnded.place, func(x listedEnded) pieces {
		return func(yield func([]byte) bool) { yield(e.piece(dao.NewEndedApplication(partition, x.Ended))) }
	}), nil
}

func badPlace(after, form string) error {
	return badRequest(fmt.Sprintf("after %q: it is %s", truncated(after), form))
}

// applicationsIn are the active applications of q in order and, if recursive, of the queues below.
func applicationsIn(q *scheduler.QueueView, recursive bool) iter.Seq[listedApplication] {
	return func(yield func(listedApplication) bool) {
		eachApplication(q, recursive,
			func(a *scheduler.ApplicationView, path string) bool { return yield(listedApplication{a, path, nil}) })
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
