package webservice

import (
	"context"
	"fmt"
	"net/http"
	"sync"
	"time"

	"go.uber.org/zap"

	"github.com/canopy-scheduler/canopy/internal/loop"
)

// stuckAfter is how long a partition may be busy with one thing. Longer is not slow but stuck: a
// whole configuration or a whole cluster takes seconds.
const stuckAfter = 30 * time.Second

// auditInterval is how old the last audit of a partition may be when a caller asks for health. An older
// one is made anew, beside deciding; no caller waits for it.
const (
	auditInterval   = time.Minute
	auditRestFactor = 100             // times what the last one took: audits take a hundredth of the time at most
	auditTimeout    = 5 * time.Minute // after which an audit is given up
)

// health says whether the process should go on. It answers from memory, whatever the partitions
// do: each must get on, and the last audit of its books must have found them right. A scheduler
// whose books are wrong is unhealthy: nothing that it decides can be trusted.
func (s *service) health(*http.Request) (any, error) {
	for _, name := range s.cluster.Partitions() {
		l, ok := s.cluster.Partition(name)
		if !ok {
			continue // it was left out of the configuration just now
		}
		h := l.Health()
		err := s.checkProgress(h)
		if err == nil {
			err = h.Audit.Err
		}
		s.audits.startIfDue(l, h, s.opt.Now())
		if err == nil {
			continue
		}
		if _, configured := s.cluster.Partition(name); h.Ended && !configured {
			continue
		}
		s.opt.Log.Error("health check failed", zap.String("partition", name), zap.String("reason", err.Error()))
		reason := fmt.Sprintf("partition %s: %v", name, err)
		return nil, unavailable(reason, healthBody{Reason: reason})
	}
	return healthBody{Healthy: true}, nil
}

// checkProgress says why a partition does not get on; nil: it does.
func (s *service) checkProgress(h loop.Health) error {
	switch busy := s.opt.Now().Sub(h.Progress); {
	case h.Ended:
		return loop.ErrEnded
	case h.Idle || h.Progress.IsZero() || busy <= stuckAfter:
		return nil
	default:
		return fmt.Errorf("it has been busy with one thing for %v, and %d commands wait", busy.Round(time.Second), h.Waiting)
	}
}

// audits starts audits of partitions, one at a time for each.
type audits struct {
	mu      sync.Mutex
	running map[*loop.Loop]bool
}

// startIfDue starts an audit if the last one is too old.
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
		_, _ = l.Audit(ctx) // Health has what it found; that it was given up shows in its age
		a.mu.Lock()
		defer a.mu.Unlock()
		delete(a.running, l)
	}()
}

// ready says whether requests can be served. It answers from memory.
func (s *service) ready(*http.Request) (any, error) {
	if s.opt.ReadyCheck != nil {
		if err := s.opt.ReadyCheck(); err != nil {
			return nil, unavailable(err.Error(), readyBody{Reason: err.Error()})
		}
	}
	return readyBody{Ready: true}, nil
}

func unavailable(reason string, body any) error {
	return &failure{status: http.StatusServiceUnavailable, reason: reason, body: body}
}
