package webservice

import (
	"context"
	"fmt"
	"net/http"
	"sync"
	"time"

	"go.uber.org/zap"

	"github.com/canopy-scheduler/canopy/internal/server/loop"
	"github.com/canopy-scheduler/canopy/pkg/webservice/dao"
)

// stuckAfter bounds the time without progress of a busy partition. A longer time means that it is
// stuck: applying a whole configuration or registering a whole cluster takes seconds.
const stuckAfter = 30 * time.Second

// An audit is started when the last one of a partition is older than auditInterval and than
// auditRestFactor times its duration. It runs beside scheduling, and no caller waits for it (OBS-58).
const (
	auditInterval   = time.Minute
	auditRestFactor = 100             // audits take a hundredth of the time at most
	auditTimeout    = 5 * time.Minute // an audit that takes longer is cancelled
)

// health is the liveness probe (OBS-47 to OBS-49). It answers from memory, whatever the partitions do.
// It fails if a partition makes no progress, or if its last audit found inconsistent accounting: the
// decisions of such a scheduler cannot be trusted.
func (s *service) health(*http.Request) (any, error) {
	for name, l := range partitionsOf(s.cluster) {
		h := l.Health()
		err := partitionError(h, s.opt.Now())
		s.audits.startIfDue(l, h, s.opt.Now())
		if err == nil {
			continue
		}
		if _, configured := s.cluster.Partition(name); h.Ended && !configured {
			continue
		}
		s.opt.Log.Error("health check failed", zap.String("partition", name), zap.String("reason", err.Error()))
		reason := fmt.Sprintf("partition %s: %v", name, err)
		return nil, unavailable(reason, dao.Health{Reason: reason})
	}
	return dao.Health{Healthy: true}, nil
}

// Health is an error if a partition makes no progress, or if its last audit found inconsistent
// accounting. It answers from memory, and starts no audit.
func Health(c *loop.Cluster, now time.Time) error {
	for name, l := range partitionsOf(c) {
		if err := partitionError(l.Health(), now); err != nil {
			return fmt.Errorf("partition %s: %w", name, err)
		}
	}
	return nil
}

// partitionError is the error if the partition has ended or makes no progress, or that of its last audit.
func partitionError(h loop.Health, now time.Time) error {
	if err := progressError(h, now); err != nil {
		return err
	}
	return h.Audit.Err
}

// progressError is the error if the partition has ended or makes no progress.
func progressError(h loop.Health, now time.Time) error {
	switch busy := now.Sub(h.Progress); {
	case h.Ended:
		return loop.ErrEnded
	case h.AtRest || h.Progress.IsZero() || busy <= stuckAfter:
		return nil
	default:
		return fmt.Errorf("it has been busy with one thing for %v, and %d commands wait", busy.Round(time.Second), h.Waiting)
	}
}

// audits starts audits, one at a time for each partition.
type audits struct {
	mu      sync.Mutex
	running map[*loop.Loop]bool
}

// startIfDue starts an audit if the last one is too old, and none is running.
func (a *audits) startIfDue(l *loop.Loop, h loop.Health, now time.Time) {
	age := now.Sub(h.Audit.Finished)
	if h.Ended || !h.Audit.Finished.IsZero() && age < max(auditInterval, auditRestFactor*h.Audit.Took) {
		return
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.running[l] {
		return
	}
	if a.running == nil {
		a.running = map[*loop.Loop]bool{}
	}
	a.running[l] = true
	go func() {
		ctx, done := context.WithTimeout(context.Background(), auditTimeout)
		defer done()
		_, _ = l.Audit(ctx) // Loop.Health has the result; if it was cancelled, the last result only gets older
		a.mu.Lock()
		defer a.mu.Unlock()
		delete(a.running, l)
	}()
}

// ready is the readiness probe (OBS-50). It answers from memory.
func (s *service) ready(*http.Request) (any, error) {
	if s.opt.ReadyCheck != nil {
		if err := s.opt.ReadyCheck(); err != nil {
			return nil, unavailable(err.Error(), dao.Ready{Reason: err.Error()})
		}
	}
	return dao.Ready{Ready: true}, nil
}

func unavailable(reason string, body any) error {
	return &failure{status: http.StatusServiceUnavailable, reason: reason, body: body}
}
