package webservice

import (
	"errors"
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

// maxDryRunBytes bounds the body of a dry run, in bytes.
const maxDryRunBytes = 64 << 10

// dryRunTypes are the media types in which the ask of a dry run may be sent. No form can send them,
// so a web page of another origin cannot make a browser send one (OBS-46).
var dryRunTypes = append([]string{"application/json"}, yamlContentTypes...)

const dryRunPath = "/ws/v1/partition/{partition}/preemptions/dry-run"

// dryRun evaluates the ask in the body of a request. It changes nothing, so it is on the public
// listener too.
func (s *service) dryRun(r *http.Request) (any, error) {
	l, err := s.partition(r)
	if err != nil {
		return nil, err
	}
	ask, err := dryRunRequestOf(r)
	if err != nil {
		return nil, err
	}
	h, err := s.hypotheticalAsk(ask)
	if err != nil {
		return nil, err
	}
	result, err := l.DryRun(r.Context(), h)
	switch {
	case errors.Is(err, scheduler.ErrWouldBeRejected):
		return nil, refusal(http.StatusUnprocessableEntity, "%v", err)
	case errors.Is(err, objects.ErrUnknown):
		return nil, refusal(http.StatusNotFound, "%v", err)
	case err != nil:
		return nil, err
	}
	return result, ask.contradicts(result.Ask)
}

func dryRunRequestOf(r *http.Request) (*dryRunRequest, error) {
	if kind, _, _ := mime.ParseMediaType(r.Header.Get("Content-Type")); !slices.Contains(dryRunTypes, kind) {
		return nil, refusal(http.StatusUnsupportedMediaType, "Content-Type is %q: send %s", kind,
			strings.Join(dryRunTypes, " or "))
	}
	text, err := io.ReadAll(io.LimitReader(r.Body, maxDryRunBytes+1))
	switch {
	case err != nil:
		return nil, badRequest("the body cannot be read: %v", err)
	case len(text) > maxDryRunBytes:
		return nil, refusal(http.StatusRequestEntityTooLarge, "the body is longer than %d bytes", maxDryRunBytes)
	}
	return readDryRunRequest(text)
}

// hypotheticalApplication is the application of an ask that names none. The parentheses keep it
// apart from the IDs of resource managers.
const hypotheticalApplication = "(hypothetical application)"

// hypotheticalAsk makes the request to the core. A hypothetical ask gets its priority and its class
// by the same admission as an ask of the resource manager.
func (s *service) hypotheticalAsk(w *dryRunRequest) (scheduler.DryRunRequest, error) {
	h := scheduler.DryRunRequest{Key: objects.AllocationKey(w.AllocationKey), NamedClass: w.PriorityClassName,
		AssumeDelayPassed: w.AssumeDelayPassed, Node: objects.NodeID(w.ExplainNode)}
	if w.AllocationKey != "" {
		return h, nil
	}
	g, problem := priorities.Admit(s.currentConfig().Classes, priorities.Request{
		Class: w.PriorityClassName, Priority: w.Priority, HasPolicy: w.present["preempts"], Preempts: w.Preempts,
	}, false)
	if problem != nil {
		return h, refusal(http.StatusUnprocessableEntity, "%v: %v", scheduler.ErrWouldBeRejected, problem)
	}
	preempts := w.Preempts
	if g.Class != nil {
		preempts, h.Class = g.Preempts, g.Class.Name
		h.AllowedUsers = g.Class.SubmitACL
		if w.PriorityClassName == "" {
			h.AllowedUsers = nil // the ACL of the default class is not checked when it is not named
		} else if h.AllowedUsers == nil && g.Class.IsSystem() {
			noUsers := security.AllowList(nil, nil)
			h.AllowedUsers = &noUsers
		}
	}
	h.Ask = &objects.Ask{
		Key: "(hypothetical ask)", App: objects.AppID(w.ApplicationID), Amounts: w.amounts, Priority: g.Priority,
		Details: objects.NewAskDetails(objects.AskDetails{RequiredNode: objects.NodeID(w.RequiredNodeID), Tags: w.Tags}),
		Policy:  (objects.PolicySent | objects.PolicyAllowPreemptSelf).With(objects.PolicyAllowPreemptOther, preempts),
	}
	if w.ApplicationID == "" {
		h.Ask.App = hypotheticalApplication
	}
	if len(w.Groups) == 0 {
		w.Groups = []string{w.User}
	}
	h.Applicant = objects.HypotheticalOwner{User: security.User{Name: w.User, Groups: w.Groups},
		Queue: objects.QueuePath(w.QueueName)}
	return h, nil
}
