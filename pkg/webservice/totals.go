package webservice

import (
	"context"
	"errors"
	"net/http"

	"github.com/canopy-scheduler/canopy/internal/server/loop"
	"github.com/canopy-scheduler/canopy/internal/server/totals"
	"github.com/canopy-scheduler/canopy/pkg/webservice/dao"
)

// The totals of the last day (OBS-99).

func (s *service) applicationSamples() []dao.ApplicationSample {
	out := []dao.ApplicationSample{}
	for _, x := range s.opt.Totals.Samples() {
		out = append(out, dao.ApplicationSample{Timestamp: dao.Nanos(x.At), TotalApplications: x.Applications})
	}
	return out
}

func (s *service) containerSamples() []dao.ContainerSample {
	out := []dao.ContainerSample{}
	for _, x := range s.opt.Totals.Samples() {
		out = append(out, dao.ContainerSample{Timestamp: dao.Nanos(x.At), TotalContainers: x.Allocations})
	}
	return out
}

func (s *service) applicationHistory(*http.Request) (any, error) { return s.applicationSamples(), nil }

func (s *service) containerHistory(*http.Request) (any, error) { return s.containerSamples(), nil }

// Totals returns the totals of all partitions of a cluster, without the time. ok is false if a partition does not
// answer.
func Totals(ctx context.Context, c *loop.Cluster) (x totals.Sample, ok bool) {
	for _, l := range partitionsOf(c) {
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
