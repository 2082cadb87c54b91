package webservice

import (
	"context"
	"net/http"

	"github.com/canopy-scheduler/canopy/internal/server/forecast"
	"github.com/canopy-scheduler/canopy/internal/server/loop"
	"github.com/canopy-scheduler/canopy/pkg/objects"
	"github.com/canopy-scheduler/canopy/pkg/scheduler"
	"github.com/canopy-scheduler/canopy/pkg/webservice/dao"
)

// expectedStartParameter asks for the expected start: a forecast costs more than all the rest of an explanation
// (EXP-14).
var expectedStartParameter = queryParameter{name: "expectedStart",
	help: "also when a pending ask is expected to start; it needs no value", flag: true}

// addExpectedStarts adds to explanations when their asks are expected to start, if the request wants it and the ask is
// pending (EXP-14).
func (s *service) addExpectedStarts(r *http.Request, l *loop.Loop, all ...*dao.Explanation) error {
	if s.opt.Forecasts == nil || !r.URL.Query().Has(expectedStartParameter.name) {
		return nil
	}
	var keys []objects.AllocationKey
	partition := ""
	for _, e := range all {
		if e.State == scheduler.KeyPending {
			keys, partition = append(keys, e.Key), e.Partition
		}
	}
	if len(keys) == 0 {
		return nil
	}
	answers, err := s.opt.Forecasts.Starts(r.Context(), partition, keys,
		func(ctx context.Context) (forecast.State, error) { return s.forecastState(ctx, l) })
	if err != nil {
		return err
	}
	calibration := s.opt.Forecasts.Calibration(partition)
	for _, e := range all {
		if a, made := answers[e.Key]; made {
			e.ExpectedStart = dao.NewExpectedStart(&a, s.opt.Forecasts.Learnt.Tag(), calibration)
		}
	}
	return nil
}

// forecastState is a partition with the configuration in force.
func (s *service) forecastState(ctx context.Context, l *loop.Loop) (forecast.State, error) {
	snap, err := s.snapshots.get(ctx, l)
	if err != nil {
		return forecast.State{}, err
	}
	st, ok := forecast.NewState(snap, s.cluster.Config(), s.opt.Lifetimes)
	if !ok {
		return st, notFound("Partition")
	}
	return st, nil
}
