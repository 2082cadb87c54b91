package webservice

import (
	"net/http"

	"github.com/canopy-scheduler/canopy/pkg/events"
	"github.com/canopy-scheduler/canopy/pkg/objects"
	"github.com/canopy-scheduler/canopy/pkg/scheduler"
	"github.com/canopy-scheduler/canopy/pkg/webservice/dao"
)

// victimsParameter asks for the searches for victims: the partition decides nothing while they run (EXP-18).
var victimsParameter = queryParameter{name: "victims",
	help: "also what an ask that may preempt would preempt, or lacks for that; it needs no value", flag: true}

// explain explains the state of the ask or allocation of a key, and why it waits (OBS-39). An unknown
// key has status 404, with what became of it as far as history is kept (OBS-44).
func (s *service) explain(r *http.Request) (any, error) {
	key, err := parameter(r, "key")
	if err != nil {
		return nil, err
	}
	l, err := s.partition(r)
	if err != nil {
		return nil, err
	}
	explain := l.Explain
	if r.URL.Query().Has(victimsParameter.name) {
		explain = l.ExplainWithVictims
	}
	e, err := explain(r.Context(), objects.AllocationKey(key))
	switch {
	case err != nil:
		return nil, err
	case e.State == scheduler.KeyUnknown:
		return nil, s.unknownKey(e)
	}
	body := &dao.Explanation{Explanation: *e}
	return body, s.addExpectedStarts(r, l, body)
}

// explainApplication explains the pending asks of an application, by group (EXP-7).
func (s *service) explainApplication(r *http.Request) (any, error) {
	id, err := parameter(r, "application")
	if err != nil {
		return nil, err
	}
	l, err := s.partition(r)
	if err != nil {
		return nil, err
	}
	e, err := l.ExplainApplication(r.Context(), objects.AppID(id))
	switch {
	case err != nil:
		return nil, err
	case !e.Known:
		return nil, notFound("Application")
	}
	body := dao.NewApplicationExplanation(e)
	var first []*dao.Explanation
	for _, group := range body.Groups {
		first = append(first, group.First)
	}
	return body, s.addExpectedStarts(r, l, first...)
}

// unknownKey is the 404 for a key that no ask and no allocation has now.
func (s *service) unknownKey(e *scheduler.Explanation) error {
	body := dao.UnknownKey{AllocationKey: string(e.Key), State: string(e.State)}
	reason := e.Message
	if s.opt.History != nil {
		last, found := s.opt.History.Last(func(r *events.Record) bool {
			return r.Partition == e.Partition && (r.Rejected && r.Object == string(e.Key) ||
				r.Type == events.Application && r.Change == events.Remove && r.Reference == string(e.Key))
		})
		if found {
			body.State, body.Since = "released", dao.Nanos(last.At)
			body.ApplicationID = last.Object
			switch {
			case last.Rejected:
				body.State, body.ApplicationID = "rejected", last.Reference
			case last.Detail == events.RequestCancelled:
				body.State = "cancelled"
			}
			reason += ": it was " + body.State + " at " + dao.TimeText(last.At) + ": " + last.Message
		}
	}
	body.Error = dao.NewError(http.StatusNotFound, reason)
	return &failure{status: http.StatusNotFound, reason: reason, body: body}
}
