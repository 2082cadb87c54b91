package canopy

import (
	"context"
	"errors"
	"slices"
	"sync"

	"go.uber.org/zap"

	"github.com/canopy-scheduler/canopy/internal/server/kept"
	"github.com/canopy-scheduler/canopy/internal/server/operators"
	"github.com/canopy-scheduler/canopy/internal/server/overtime"
	"github.com/canopy-scheduler/canopy/internal/server/runstarts"
	"github.com/canopy-scheduler/canopy/pkg/scheduler"
)

// keptState has the texts with which partitions begin after a restart, besides the configuration. Its fields are nil if
// nothing is kept.
type keptState struct {
	operators *operators.Store // what operators have switched (OPS-4)
	starts    *runstarts.Store // when what runs has begun to (RUN-7)
	usage     *overtime.Store  // usage over time (FAI-7)
	stop      func()           // ends the writes of starts and usage
}

// openState reads the state from etcd or from DataDir, which must be held by the store of configurations.
func (o *Options) openState(ctx context.Context, term *serverTerm) (s keptState, err error) {
	option, open := "DataDir", func(name string) (kept.Text, error) { return kept.InFile(o.DataDir, name) }
	if term != nil && term.stores != nil {
		option = "HA.Etcd"
		open = func(name string) (kept.Text, error) { return term.stores.text(ctx, term.Epoch(), name) }
	} else if o.DataDir == "" {
		return s, nil
	}
	text, err := open("operators")
	if err == nil {
		s.operators, err = operators.NewStore(text)
	}
	if err == nil {
		text, err = open("run-starts")
	}
	if err == nil {
		s.starts, err = runstarts.New(text, o.now())
	}
	if err == nil {
		text, err = open("usage-over-time")
	}
	if err == nil {
		s.usage, err = overtime.New(text)
	}
	if err != nil {
		err = o.refused(option, errors.Join(err, s.close()))
	}
	return s, err
}

func (s *keptState) close() error {
	return errors.Join(s.operators.Close(), s.starts.Close(), s.usage.Close())
}

// firstCommands are those with which a partition begins; nil: none.
func (s *Server) firstCommands(partition string) []scheduler.Command {
	return slices.Concat(s.kept.operators.First(partition), s.kept.starts.First(partition),
		s.kept.usage.First(partition))
}

// keepState writes the state until Close: it removes applications that have ended from what operators have switched,
// and keeps the starts of what runs.
func (s *Server) keepState() {
	s.serving.Go(func() {
		s.operators.Run(s.ctx, func(err error) {
			s.log.Warn("what operators have switched is not stored", zap.Error(err))
		})
	})
	if s.kept.starts == nil {
		return
	}
	timeout := s.opt.lastReadTimeout()
	if s.term != nil {
		timeout = 0 // its texts are closed then
	}
	s.kept.stop = goUntilStopped(func(ctx context.Context) {
		var both sync.WaitGroup
		both.Go(func() {
			s.kept.usage.Run(ctx, timeout, s.engine.Cluster(), s.opt.now, func(err error) {
				s.log.Warn("usage over time is not stored", zap.Error(err))
			})
		})
		s.kept.starts.Run(ctx, timeout, s.engine.Cluster(), s.opt.now, func(err error) {
			s.log.Warn("when allocations with an enforced run time have begun is not stored", zap.Error(err))
		})
		both.Wait()
	})
}
