package webservice

import (
	"context"
	"errors"
	"net/http"
	"sync"
	"time"

	"go.uber.org/zap"

	"github.com/canopy-scheduler/canopy/internal/cpushare"
	"github.com/canopy-scheduler/canopy/internal/loop"
	"github.com/canopy-scheduler/canopy/pkg/scheduler"
)

// healthPatience is how long partitions may take to answer. One that takes longer is not well.
const healthPatience = 5 * time.Second

// examined is a partition whose health is asked for.
type examined struct {
	name   string
	snap   *scheduler.Snapshot // nil: it did not answer
	places places              // of snap
	health loop.Health         // from memory
	silent error               // why it did not answer, or does not get on
	gone   bool                // it was left out of the configuration just now
}

// healthCheck says in detail what /healthz says in a word. It is a success whatever the
// answer is (behaviour.md 11.4). Callers who come at about the same time share one answer, which
// was begun after they came; the books are not audited for it, but what the last audit found is
// shown, and its age.
func (s *service) healthCheck(r *http.Request) (any, error) {
	return s.checking.Do(r.Context(), s.checkHealth)
}

func (s *service) checkHealth(ctx context.Context) (any, error) {
	ctx, done := context.WithTimeout(ctx, healthPatience)
	defer done()
	names := s.cluster.Partitions()
	all := make([]examined, len(names))
	var asked sync.WaitGroup
	for i, name := range names { // at once: one that is silent must not make the others look so
		asked.Go(func() { all[i] = s.examine(ctx, name) })
	}
	asked.Wait()
	turn := cpushare.Readers.Enter()
	defer turn.Leave()
	s.sumPlaces(all, turn)
	body := healthCheckBody{Healthy: true}
	now := s.opt.Now()
	for i := range all {
		if x := &all[i]; !x.gone {
			body.Audits = append(body.Audits, viewAudit(x.name, x.health.Audit, now))
		}
	}
	for _, c := range checks {
		found := findings{turn: turn}
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

// sumPlaces sums up where allocations are. What partitions that are gone had is forgotten. Only one
// caller of healthCheck is here at a time.
func (s *service) sumPlaces(all []examined, turn *cpushare.Turn) {
	next := map[string]places{}
	for i := range all {
		x := &all[i]
		switch last := s.places[x.name]; {
		case x.snap != nil:
			x.places = last.of(x.snap, turn)
			next[x.name] = x.places
		case !x.gone:
			next[x.name] = last
		}
	}
	s.places = next
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
	x.health = l.Health()
	s.audits.renew(l, x.health, s.opt.Now())
	if x.silent = s.stuck(x.health); x.silent == nil {
		x.snap, x.silent = s.snapshots.of(ctx, l)
	}
	if _, stays := s.cluster.Partition(name); errors.Is(x.silent, loop.ErrEnded) && !stays {
		x.gone = true
	}
	return x
}

func viewAudit(partition string, a loop.Audit, now time.Time) auditBody {
	body := auditBody{Partition: partition, Error: textOf(a.Err)}
	if !a.Finished.IsZero() {
		age := max(0, now.Sub(a.Finished).Seconds())
		body.Finished, body.AgeSeconds, body.TookSeconds, body.Objects = &a.Finished, &age, a.Took.Seconds(), a.Checked
	}
	return body
}
