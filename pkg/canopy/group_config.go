package canopy

import (
	"slices"
	"sync"
	"time"

	"go.uber.org/zap"

	"github.com/canopy-scheduler/canopy/internal/reload"
	"github.com/canopy-scheduler/canopy/pkg/configs"
	"github.com/canopy-scheduler/canopy/pkg/configs/queuesyaml"
)

// groupConfig is the history of configurations of a group whose partitions are spread, as far as a member knows it. The coordinator
// decides on it, and each Server of a partition follows its latest generation (HAP-10). It is safe for concurrent use.
type groupConfig struct {
	mu      sync.Mutex
	state   reload.StoredState
	changed chan struct{} // closed when state changes
}

func newGroupConfig() *groupConfig { return &groupConfig{changed: make(chan struct{})} }

// set makes a history known.
func (c *groupConfig) set(state reload.StoredState) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.state = state
	close(c.changed)
	c.changed = make(chan struct{})
}

// latest is the history, and a channel that is closed when there is another one.
func (c *groupConfig) latest() (reload.StoredState, <-chan struct{}) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.state, c.changed
}

// latestOf is the latest generation of a history; nil: there is none.
func latestOf(state reload.StoredState) *reload.Generation {
	if len(state.Generations) == 0 {
		return nil
	}
	return state.Generations[len(state.Generations)-1]
}

// groupHistoryName names the history in errors.
const groupHistoryName = "of the group"

// only is a proposal with one of its partitions, or with none if it does not have that one.
func only(p *reload.Proposal, partition string) *reload.Proposal {
	conf, out := *p.Config, *p
	conf.Partitions = slices.DeleteFunc(slices.Clone(conf.Partitions), func(c configs.Partition) bool { return c.Name != partition })
	out.Config = &conf
	return &out
}

// follows reports whether the configuration is that of a group whose partitions are spread.
func (t *serverTerm) follows() bool { return t != nil && t.config != nil }

// followed is the configuration that a term begins with, and its history.
func (t *serverTerm) followed(bounds queuesyaml.Options) (*reload.Proposal, reload.StoredState, error) {
	state, _ := t.config.latest()
	p, err := state.Latest(groupHistoryName, bounds)
	if p == nil || err != nil {
		return nil, state, err
	}
	return only(p, t.partition), state, nil
}

// followRetry is how long a Server waits before it tries a configuration again that a partition has refused.
const followRetry = 2 * time.Second

// followGroup puts the configurations of the group in force, one after the other. number is that of the one in force.
func (s *Server) followGroup(number uint64) {
	s.groupGeneration.Store(number)
	s.serving.Go(func() {
		refused := number // the last one that was refused, and logged
		for {
			var retry <-chan time.Time
			state, changed := s.term.config.latest()
			if g := latestOf(state); g != nil && g.Number > s.groupGeneration.Load() {
				switch err := s.follow(g); {
				case err == nil:
					s.groupGeneration.Store(g.Number)
				case s.ctx.Err() != nil:
					return
				default:
					retry = time.After(followRetry)
					if refused != g.Number {
						refused = g.Number
						s.log.Error("the configuration of the group is not in force in a partition: it is tried again",
							zap.String("partition", s.term.partition), zap.Uint64("generation", g.Number), zap.Error(err))
					}
				}
			}
			select {
			case <-changed:
			case <-retry:
			case <-s.ctx.Done():
				return
			}
		}
	})
}

// follow puts a generation of the group in force.
func (s *Server) follow(g *reload.Generation) error {
	reloads := s.engine.Reloads()
	p, err := reload.Read(g.Source, g.From, []byte(g.Text), reloads.Bounds())
	if err == nil {
		_, err = reloads.Follow(s.ctx, only(p, s.term.partition))
	}
	return err
}
