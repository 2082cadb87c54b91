package webservice

import (
	"context"
	"errors"
	"net/http"

	"github.com/canopy-scheduler/canopy/internal/server/operators"
	"github.com/canopy-scheduler/canopy/pkg/objects"
	"github.com/canopy-scheduler/canopy/pkg/scheduler"
	"github.com/canopy-scheduler/canopy/pkg/webservice/dao"
)

// Operators carries out actions of operators; see package internal/server/operators.
type Operators interface {
	Do(ctx context.Context, partition string, m scheduler.Operate) (changed bool, err error)
	State(ctx context.Context, partition string) (scheduler.OperatorState, error)
}

// operatorRoute is a path of an action of operators.
type operatorRoute struct {
	path   string // below that of the partition
	action scheduler.OperatorAction
}

// operatorActions are the paths of the actions (OPS-6).
var operatorActions = []operatorRoute{
	{"/application/{application}/hold", scheduler.HoldApplication},
	{"/application/{application}/release", scheduler.ReleaseApplication},
	{"/application/{application}/cancel", scheduler.CancelApplication},
	{"/application/{application}/move/{queue}", scheduler.MoveApplication},
	{"/queue/{queue}/stop", scheduler.StopQueue}, {"/queue/{queue}/start", scheduler.StartQueue},
	{"/queue/{queue}/drain", scheduler.DrainQueue},
	{"/node/{node}/cordon", scheduler.CordonNode}, {"/node/{node}/drain", scheduler.DrainNode},
	{"/node/{node}/uncordon", scheduler.UncordonNode},
}

// pattern is the route of the action.
func (r operatorRoute) pattern() string {
	return http.MethodPut + " /ws/v1/partition/{partition}" + r.path
}

// serve serves the action. Its method is one that no form can send, and it has no body.
func (r operatorRoute) serve() serve {
	return change(nil, func(s *service, request *http.Request) (any, error) { return s.operate(request, r.action) })
}

// operate carries out an action about what the path names.
func (s *service) operate(r *http.Request, action scheduler.OperatorAction) (any, error) {
	partition, err := parameter(r, "partition")
	if err != nil {
		return nil, err
	}
	m := scheduler.Operate{Action: action, By: s.identityOf(r)}
	var name string
	switch action {
	case scheduler.HoldApplication, scheduler.ReleaseApplication, scheduler.CancelApplication, scheduler.MoveApplication:
		name, err = parameter(r, "application")
		m.App = objects.AppID(name)
		if action == scheduler.MoveApplication && err == nil {
			var to string
			to, err = parameter(r, "queue")
			m.Queue = objects.QueuePath(to)
		}
	case scheduler.StopQueue, scheduler.DrainQueue, scheduler.StartQueue:
		name, err = parameter(r, "queue")
		m.Queue = objects.QueuePath(name)
	default:
		name, err = parameter(r, "node")
		m.Node = objects.NodeID(name)
	}
	if err != nil {
		return nil, err
	}
	changed, err := s.opt.Operators.Do(r.Context(), partition, m)
	if err != nil {
		return nil, operatorFailure(err)
	}
	done := dao.Operated{Action: action.Code(), Name: name, Changed: changed}
	if action == scheduler.MoveApplication {
		done.Queue = string(m.Queue)
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

// operatorState is what operators have switched in a partition (OPS-6).
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
	summaries := map[scheduler.OperatorAction]string{
		scheduler.HoldApplication:    "Puts an application on hold",
		scheduler.ReleaseApplication: "Ends the hold of an application",
		scheduler.MoveApplication:    "Moves an application to another leaf queue",
		scheduler.CancelApplication:  "Ends an application: its asks are withdrawn, and its allocations are preempted",
		scheduler.StopQueue:          "Stops a queue and those below",
		scheduler.DrainQueue:         "Drains a queue and those below: no new applications",
		scheduler.StartQueue:         "Ends that, and a drain", scheduler.CordonNode: "Cordons a node",
		scheduler.DrainNode:    "Cordons a node and preempts its allocations, within disruption budgets",
		scheduler.UncordonNode: "Ends that, and a drain",
	}
	for _, route := range operatorActions {
		info := routeInfo{
			pattern: route.pattern(), serve: route.serve(), needs: operatorStates, changes: true,
			summary: summaries[route.action] + ", on the admin listener", answer: dao.Operated{},
			errors: []int{http.StatusBadRequest, http.StatusForbidden, http.StatusNotFound, http.StatusServiceUnavailable},
		}
		if route.action == scheduler.MoveApplication {
			info.errors = append(info.errors, http.StatusConflict)
		}
		section.routes = append(section.routes, info)
	}
	return section
}()
