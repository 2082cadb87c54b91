package webservice

import (
	"context"
	"errors"
	"net/http"
	"sync"
	"time"

	"go.uber.org/zap"

	"github.com/canopy-scheduler/canopy/internal/loop"
	"github.com/canopy-scheduler/canopy/pkg/scheduler"
)

// healthPatience is how long partitions may take to answer. One that takes longer is not well.
const healthPatience = 5 * time.Second

// examined is a partition whose health is asked for.
type examined struct {
	name   string
	snap   *scheduler.Snapshot // nil: it did not answer
	books  error               // why its books do not balance
	silent error               // why it did not answer
	gone   bool                // it was left out of the configuration just now
}

// healthCheck says in detail what /healthz says in a word. It is a success whatever the
// answer is (behaviour.md 11.4), and made anew for each request.
func (s *service) healthCheck(r *http.Request) (any, error) {
	ctx, done := context.WithTimeout(r.Context(), healthPatience)
	defer done()
	names := s.cluster.Partitions()
	all := make([]examined, len(names))
	var asked sync.WaitGroup
	for i, name := range names { // at once: one that is silent must not make the others look so
		asked.Go(func() { all[i] = s.examine(ctx, name) })
	}
	asked.Wait()
	body := healthCheckBody{Healthy: true}
	for _, c := range checks {
		found := findings{}
		for i := range all {
			if found.partition = all[i].name; !all[i].gone {
				c.look(&all[i], &found)
			}
		}
		one := viewCheck(&c, &found)
		if !one.Succeeded {
			body.Healthy = false
			s.opt.Log.Error("health check failed", zap.String("check", c.name), zap.String("reason", one.DiagnosisMessage))
		}
		body.HealthChecks = append(body.HealthChecks, one)
	}
	return body, nil
}

// viewCheck is what came of a check. A warning is no failure: the shape has no third state, and
// whoever restarts what is unhealthy would not mend a fault of somebody else.
func viewCheck(c *check, found *findings) checkBody {
	return checkBody{
		Name: c.name, Succeeded: c.warns || found.count == 0, Description: c.description, DiagnosisMessage: found.String(),
	}
}

func (s *service) examine(ctx context.Context, name string) (x examined) {
	x.name = name
	l, ok := s.cluster.Partition(name)
	if !ok {
		x.gone = true
		return x
	}
	snap, err := l.Snapshot(ctx)
	if err == nil {
		x.snap = snap
		err = l.Check(ctx)
	}
	_, stays := s.cluster.Partition(name)
	switch ended := errors.Is(err, loop.ErrEnded); {
	case ended && !stays:
		x.gone = true
	case ended, ctx.Err() != nil && errors.Is(err, ctx.Err()):
		x.silent = err
	default:
		x.books = err
	}
	return x
}
