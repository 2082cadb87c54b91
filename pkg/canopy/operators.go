package canopy

import (
	"go.uber.org/zap"

	"github.com/canopy-scheduler/canopy/internal/operators"
)

// openOperators reads what operators have switched; nil: it is not kept (OPS-4). Requires: DataDir is held by the store of
// configurations.
func (o *Options) openOperators() (*operators.File, error) {
	if o.DataDir == "" {
		return nil, nil
	}
	f, err := operators.Open(o.DataDir)
	if err != nil {
		return nil, o.refused("DataDir", err)
	}
	return f, nil
}

// keepOperators removes applications that have ended from the file of what operators have switched, until Close.
func (s *Server) keepOperators() {
	s.serving.Go(func() {
		s.operators.Run(s.ctx, func(err error) {
			s.log.Warn("what operators have switched is not stored", zap.Error(err))
		})
	})
}
