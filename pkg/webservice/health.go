package webservice

import (
	"fmt"
	"net/http"

	"go.uber.org/zap"
)

// health recounts the books of every partition. A scheduler whose books do not balance
// is unhealthy: nothing it decides can be trusted.
func (s *service) health(r *http.Request) (any, error) {
	for _, name := range s.cluster.Partitions() {
		l, ok := s.cluster.Partition(name)
		if !ok {
			continue // it was left out of the configuration just now
		}
		if err := l.Check(r.Context()); err != nil {
			s.opt.Log.Error("health check failed", zap.String("partition", name), zap.Error(err))
			reason := fmt.Sprintf("partition %s: %v", name, err)
			return nil, unavailable(reason, healthBody{Reason: reason})
		}
	}
	return healthBody{Healthy: true}, nil
}

// ready says whether requests can be served.
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
