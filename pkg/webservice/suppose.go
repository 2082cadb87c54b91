package webservice

import (
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"slices"
	"strings"

	"github.com/canopy-scheduler/canopy/pkg/objects"
	"github.com/canopy-scheduler/canopy/pkg/priorities"
	"github.com/canopy-scheduler/canopy/pkg/scheduler"
	"github.com/canopy-scheduler/canopy/pkg/security"
)

// longestAsk bounds the body of a dry run, in bytes.
const longestAsk = 64 << 10

// askTypes are what the ask of a dry run may come as. None is one that a form can send, so
// no page from elsewhere makes a browser ask.
var askTypes = append([]string{"application/json"}, yamlTypes...)

func (s *service) routeDryRun(mux *router) {
	const path = "/ws/v1/partition/{partition}/preemptions/dry-run"
	mux.HandleFunc("POST "+path, func(w http.ResponseWriter, r *http.Request) {
		body, err := s.dryRun(r)
		if err != nil {
			s.fail(w, r, err)
			return
		}
		s.write(w, r, http.StatusOK, body)
	})
	mux.HandleFunc("OPTIONS "+path, s.options)
	mux.HandleFunc("GET "+path, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Allow", "POST, OPTIONS")
		s.fail(w, r, &failure{status: http.StatusMethodNotAllowed, reason: "send the ask with POST"})
	})
}

// dryRun says what would become of the ask in the body of a request. It changes nothing, so
// it needs no admin.
func (s *service) dryRun(r *http.Request) (any, error) {
	l, err := s.partition(r)
	if err != nil {
		return nil, err
	}
	wish, err := wishOf(r)
	if err != nil {
		return nil, err
	}
	h, err := s.hypothesis(wish)
	if err != nil {
		return nil, err
	}
	got, err := l.Suppose(r.Context(), h)
	switch {
	case errors.Is(err, scheduler.ErrWouldBeRefused):
		return nil, &failure{status: http.StatusUnprocessableEntity, reason: err.Error()}
	case errors.Is(err, objects.ErrUnknown):
		return nil, &failure{status: http.StatusNotFound, reason: err.Error()}
	case err != nil:
		return nil, err
	}
	if err := wish.contradicts(&got.Ask); err != nil {
		return nil, err
	}
	return viewSupposition(got), nil
}

func wishOf(r *http.Request) (*askWish, error) {
	if kind, _, _ := mime.ParseMediaType(r.Header.Get("Content-Type")); !slices.Contains(askTypes, kind) {
		return nil, &failure{status: http.StatusUnsupportedMediaType,
			reason: fmt.Sprintf("Content-Type is %q: send %s", kind, strings.Join(askTypes, " or "))}
	}
	text, err := io.ReadAll(io.LimitReader(r.Body, longestAsk+1))
	switch {
	case err != nil:
		return nil, badRequest("the body cannot be read: " + err.Error())
	case len(text) > longestAsk:
		return nil, &failure{status: http.StatusRequestEntityTooLarge, reason: fmt.Sprintf("the body is longer than %d bytes", longestAsk)}
	}
	return readWish(text)
}

// nobodysApplication is that of an ask that names none. No RM can send this ID by accident.
const nobodysApplication = "(supposed application)"

// hypothesis is the question that a wish asks. An ask that is made up gets its priority as one
// that comes through the door.
func (s *service) hypothesis(w *askWish) (scheduler.Hypothesis, error) {
	h := scheduler.Hypothesis{Key: objects.AllocationKey(w.key), Named: w.class, Waited: w.waited, Node: objects.NodeID(w.look)}
	if w.key != "" {
		return h, nil
	}
	g, problem := s.inForce().Classes.Admit(priorities.Request{
		Class: w.class, Priority: w.priority, Policy: w.has["preempts"], Preempts: w.preempts,
	}, false)
	if problem != nil {
		return h, &failure{status: http.StatusUnprocessableEntity, reason: fmt.Sprintf("%v: %v", scheduler.ErrWouldBeRefused, problem)}
	}
	preempts := w.preempts
	if g.Class != nil {
		preempts, h.Class = g.Preempts, g.Class.Name
		if h.Users = g.Class.Submit; w.class == "" {
			h.Users = nil // nobody has to name the default class
		} else if h.Users == nil && g.Class.IsSystem() {
			nobody := security.AllowList(nil, nil)
			h.Users = &nobody
		}
	}
	h.Ask = &objects.Ask{
		Key: "(supposed ask)", App: objects.AppID(w.app), Amounts: w.amounts, Priority: g.Priority, RequiredNode: objects.NodeID(w.node),
		Policy: (objects.PolicySent | objects.PolicySelf).With(objects.PolicyOther, preempts),
	}
	if w.app == "" {
		h.Ask.App = nobodysApplication
	}
	if len(w.groups) == 0 {
		w.groups = []string{w.user}
	}
	h.Who = objects.Applicant{User: security.User{Name: w.user, Groups: w.groups}, Queue: objects.QueuePath(w.queue)}
	return h, nil
}
