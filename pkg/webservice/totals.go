package webservice

import (
	"context"
	"errors"
	"net/http"

	"github.com/canopy-scheduler/canopy/internal/server/loop"
	"github.com/canopy-scheduler/canopy/internal/server/totals"
	"github.com/canopy-scheduler/canopy/pkg/webservice/dao"
)

// routeTotals serves the totals of the last day (OBS-99).
func (s *service) routeTotals(mux *router) {
	if s.opt.Totals == nil {
		return
	}
	s.route(mux, "/ws/v1/history/apps", s.applicationHistory)
	s.route(mux, "/ws/v1/history/containers", s.containerHistory)
}

func (s *service) applicationHistory(*http.Request) (any, error) {
	out := []dao.ApplicationSample{}
	for _, x := range s.opt.Totals.Samples() {
		out = append(out, dao.ApplicationSample{Timestamp: dao.Nanos(x.At), TotalApplications: x.Applications})
	}
	return out, nil
}

func (s *service) containerHistory(*http.Request) (any, error) {
	out := []dao.ContainerSample{}
	for _, x := range s.opt.Totals.Samples() {
		out = append(out, dao.ContainerSample{Timestamp: dao.Nanos(x.At), TotalContainers: x.Allocations})
	}
	return out, nil
}

// Totals are those of all partitions of a cluster, without the time. ok is false if a partition does not answer.
func Totals(ctx context.Context, c *loop.Cluster) (x totals.Sample, ok bool) {
	for _, name := range c.Partitions() {
		l, found := c.Partition(name)
		if !found {
			continue // a reload has just removed it
		}
		running, allocations, err := l.Totals(ctx)
		switch {
		case errors.Is(err, loop.ErrEnded):
			continue
		case err != nil:
			return x, false
		}
		x.Applications += running
		x.Allocations += allocations
	}
	return x, true
}
