package webservice

import (
	"context"
	"errors"
	"fmt"
	"net/http"

	"github.com/canopy-scheduler/canopy/internal/server/operators"
	"github.com/canopy-scheduler/canopy/pkg/scheduler"
	"github.com/canopy-scheduler/canopy/pkg/webservice/dao"
)

// Operators carries out actions of operators; see package internal/server/operators.
type Operators interface {
	Do(ctx context.Context, partition string, m scheduler.Operate) (changed bool, err error)
	State(ctx context.Context, partition string) (scheduler.OperatorState, error)
}

// operatorPath returns the path of an action (OPS-6).
func operatorPath(a scheduler.OperatorAction) string {
	info := a.Info()
	path := fmt.Sprintf("/ws/v1/partition/{partition}/%s/{%s}/%s", info.On, info.On, info.Verb)
	if info.ToQueue {
		path += "/{queue}"
	}
	return path
}

// serveOperator serves an action. Its method is one that no form can send, and it has no body.
func serveOperator(action scheduler.OperatorAction) serve {
	return change(nil, func(s *service, r *http.Request) (any, error) { return s.operate(r, action) })
}

// operate carries out an action on what the path names.
func (s *service) operate(r *http.Request, action scheduler.OperatorAction) (any, error) {
	info := action.Info()
	partition, err := parameter(r, "partition")
	done := dao.Operated{Action: info.Verb}
	if err == nil {
		done.Name, err = parameter(r, string(info.On))
	}
	if err == nil && info.ToQueue {
		done.Queue, err = parameter(r, "queue")
	}
	if err != nil {
		return nil, err
	}
	m := action.Of(done.Name, done.Queue)
	m.By = s.identityOf(r)
	if done.Changed, err = s.opt.Operators.Do(r.Context(), partition, m); err != nil {
		return nil, operatorFailure(err)
	}
	return done, nil
}

func operatorFailure(err error) error {
	if errors.Is(err, operators.ErrUnknown) {
		return refusal(http.StatusNotFound, "%v", err)
	}
	if errors.Is(err, operators.ErrRefused) {
		return refusal(http.StatusConflict, "%v", err)
	}
	return err
}

// operatorState answers with what operators have switched in a partition (OPS-6).
func (s *service) operatorState(r *http.Request) (any, error) {
	partition, err := parameter(r, "partition")
	if err != nil {
		return nil, err
	}
	state, err := s.opt.Operators.State(r.Context(), partition)
	if err != nil {
		return nil, operatorFailure(err)
	}
	return dao.NewOperatorState(state), nil
}

// operatorRoutes is the section of the route table. Its rows for actions are alike.
var operatorRoutes = func() routeSection {
	section := routeSection{title: "Operators", routes: []routeInfo{{
		pattern: "GET /ws/v1/partition/{partition}/operators", serve: read((*service).operatorState), needs: operatorStates,
		summary: "Applications on hold, those that were moved, stopped and drained queues and cordoned nodes, also of " +
			"those that are not there now",
		answer: dao.OperatorState{}, errors: ofPartition, example: "/ws/v1/partition/default/operators",
	}}}
	for action := range scheduler.EachOperatorAction {
		info := routeInfo{
			pattern: http.MethodPut + " " + operatorPath(action), serve: serveOperator(action),
			needs: operatorStates, changes: true,
			summary: action.Info().Does + ", on the admin listener", answer: dao.Operated{},
			errors: []int{http.StatusBadRequest, http.StatusForbidden, http.StatusNotFound, http.StatusServiceUnavailable},
		}
		if action.Info().ToQueue {
			info.errors = append(info.errors, http.StatusConflict)
		}
		section.routes = append(section.routes, info)
	}
	return section
}()
