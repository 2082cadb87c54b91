package webservice

import (
	"context"
	"errors"
	"net/http"
	"sync"
	"time"

	"go.uber.org/zap"

	"github.com/canopy-scheduler/canopy/internal/server/cpushare"
	"github.com/canopy-scheduler/canopy/internal/server/loop"
	"github.com/canopy-scheduler/canopy/pkg/scheduler"
	"github.com/canopy-scheduler/canopy/pkg/webservice/dao"
)

// healthCheckTimeout is the time that a partition has to answer before it counts as unhealthy (OBS-54).
const healthCheckTimeout = 5 * time.Second

// partitionHealth has the inputs of the checks of one partition.
type partitionHealth struct {
	name      string
	snap      *scheduler.Snapshot // nil: the partition did not answer
	health    loop.Health         // from memory
	answerErr error               // why there is no snapshot, or no progress
	removed   bool                // a reload has just removed it

	recordingErr error // why it is not recorded any more
}

// healthCheck runs all checks (OBS-51). The status is 200 whatever they find. Callers that wait
// together share one run, which began after they came (OBS-54). No audit is made for it: the result
// and the age of the last one are shown.
func (s *service) healthCheck(r *http.Request) (any, error) {
	return s.healthChecks.Do(r.Context(), s.checkHealth)
}

func (s *service) checkHealth(ctx context.Context) (any, error) {
	asking, done := context.WithTimeout(ctx, healthCheckTimeout)
	defer done()
	names := s.cluster.Partitions()
	all := make([]partitionHealth, len(names))
	var asked sync.WaitGroup
	for i, name := range names { // concurrently: a partition that does not answer must not use up the time of the others
		asked.Go(func() { all[i] = s.examine(asking, name) })
	}
	asked.Wait()
	slot := cpushare.Readers.Acquire(ctx)
	defer slot.Release()
	body := dao.HealthCheck{Healthy: true}
	now := s.opt.Now()
	for i := range all {
		x := &all[i]
		if !x.removed {
			body.Audits = append(body.Audits, viewAudit(x.name, x.health.Audit, now))
		}
	}
	for _, c := range s.checks() {
		found := findings{slot: slot}
		for i := range all {
			found.partition = all[i].name
			if !all[i].removed {
				c.run(&all[i], &found)
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

// viewCheck is the result of a check. A warning succeeds, because the JSON of YuniKorn has no third
// state and a restart would not mend it (OBS-52).
func viewCheck(c *check, found *findings) dao.Check {
	return dao.Check{
		Name: c.name, Succeeded: c.warningOnly || found.count == 0, Description: c.description,
		DiagnosisMessage: found.String(),
	}
}

func (s *service) examine(ctx context.Context, name string) (x partitionHealth) {
	x.name = name
	l, ok := s.cluster.Partition(name)
	if !ok {
		x.removed = true
		return x
	}
	x.health = l.Health()
	if s.opt.Recording != nil {
		x.recordingErr = s.opt.Recording(name)
	}
	s.audits.startIfDue(l, x.health, s.opt.Now())
	if x.answerErr = progressError(x.health, s.opt.Now()); x.answerErr == nil {
		x.snap, x.answerErr = s.snapshots.get(ctx, l)
	}
	if _, configured := s.cluster.Partition(name); errors.Is(x.answerErr, loop.ErrEnded) && !configured {
		x.removed = true
	}
	return x
}

func viewAudit(partition string, a loop.Audit, now time.Time) dao.Audit {
	body := dao.Audit{Partition: partition, Error: errorText(a.Err)}
	if !a.Finished.IsZero() {
		age := max(0, now.Sub(a.Finished).Seconds())
		body.Finished, body.AgeSeconds, body.TookSeconds, body.Objects = &a.Finished, &age, a.Took.Seconds(), a.Checked
	}
	return body
}
