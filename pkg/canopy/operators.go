package canopy

import (
	"context"

	"go.uber.org/zap"

	"github.com/canopy-scheduler/canopy/internal/server/operators"
	"github.com/canopy-scheduler/canopy/pkg/scheduler"
)

// openOperators reads what operators have switched; nil: it is not kept (OPS-4). Requires: DataDir is held by the store
// of configurations.
func (o *Options) openOperators(ctx context.Context, term *serverTerm) (*operators.Store, error) {
	if term != nil && term.stores != nil {
		s, err := term.stores.operators(ctx, term.Epoch())
		if err != nil {
			return nil, o.refused("HA.Etcd", err)
		}
		return s, nil
	}
	if o.DataDir == "" {
		return nil, nil
	}
	f, err := operators.Open(o.DataDir)
	if err != nil {
		return nil, o.refused("DataDir", err)
	}
	return f, nil
}

// firstOperators are the commands with which a partition begins; nil: none.
func (s *Server) firstOperators(partition string) []scheduler.Command {
	if s.switched == nil {
		return nil
	}
	return s.switched.First(partition)
}

// keepOperators removes applications that have ended from what is kept of what operators have switched, until Close.
func (s *Server) keepOperators() {
	s.serving.Go(func() {
		s.operators.Run(s.ctx, func(err error) {
			s.log.Warn("what operators have switched is not stored", zap.Error(err))
		})
	})
}
