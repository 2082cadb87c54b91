package loop

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/canopy-scheduler/canopy/pkg/configs"
	"github.com/canopy-scheduler/canopy/pkg/scheduler"
)

// Configure puts a configuration in force, in all partitions or, when it returns an error, in none
// (CFG-111). Partitions that it adds are created. A partition that it omits drains: it accepts no
// new node and no new application, its applications go on, and it is removed when it is empty.
// Errors: ErrEnded, that of ctx, or all objections of all partitions.
func (c *Cluster) Configure(ctx context.Context, conf *configs.Config) error {
	_, err := c.Reload(ctx, conf)
	return err
}

// Reload is Configure that also returns how long decisions were paused: from when the first
// partition stopped until the last one went on (CFG-102, CFG-106).
//
// All loops stop at a barrier between two commands. Each validates the configuration for its
// partition, which changes nothing; when all have agreed, all apply it and go on. So no command
// is applied between validation and change, and no reader sees one partition changed and another
// not. If a loop does not arrive, because its Sink does not return, Reload waits until ctx ends;
// then nothing has changed.
func (c *Cluster) Reload(ctx context.Context, conf *configs.Config) (paused time.Duration, err error) {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	defer context.AfterFunc(c.ctx, stop)()
	err = c.lockPartitions(ctx)
	if err == nil {
		defer c.unlockPartitions()
	}
	switch {
	case c.ctx.Err() != nil:
		return 0, ErrEnded
	case err != nil:
		return 0, err
	}
	barrier := c.newReloadBarrier(conf, configDifferences(c.Config(), conf))
	if err := barrier.awaitPrepared(ctx); err != nil {
		if c.ctx.Err() != nil {
			err = ErrEnded
		}
		return barrier.abort(c.opt.Now), err
	}
	drained := barrier.commit()
	paused = barrier.pauseDuration(c.opt.Now)
	for _, p := range conf.Partitions {
		if _, ok := c.Partition(p.Name); !ok {
			c.startPartition(p)
		}
	}
	for _, s := range drained {
		c.removePartition(s.name, s.loop)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.conf = conf
	return paused, nil
}

// reloadBarrier is the barrier at which the loops of a Cluster stop for a reload.
type reloadBarrier struct {
	participants []participant
	prepared     chan participantReport // capacity for each participant
	decided      chan struct{}          // closed when committed is final
	committed    bool                   // read after decided is closed
	applied      chan participantReport // capacity for each participant

	began time.Time // when the first loop stopped; zero: none did
}

// participant is a loop and the command that it is to apply.
type participant struct {
	name     string
	loop     *partitionLoop
	cmd      scheduler.Command
	validate func() error // called on the goroutine of the loop
}

// participantReport is the result of prepare, and later of the command.
type participantReport struct {
	participant int
	at          time.Time
	err         error
	drained     bool
}

// configDifferences are the differences of each partition that stays between conf and the
// configuration in force, by name. Their cost grows with the configurations, so they are computed
// before any loop stops, and without a lock that readers take.
func configDifferences(inForce, conf *configs.Config) map[string]*configs.Difference {
	out := map[string]*configs.Difference{}
	if inForce == nil {
		return out
	}
	for _, from := range inForce.Partitions {
		for _, to := range conf.Partitions {
			if from.Name == to.Name {
				out[to.Name] = configs.NewDifference(from, to)
			}
		}
	}
	return out
}

// newReloadBarrier asks all loops to prepare. The caller must hold partitionsLock.
func (c *Cluster) newReloadBarrier(conf *configs.Config, prepared map[string]*configs.Difference) *reloadBarrier {
	c.mu.Lock()
	defer c.mu.Unlock()
	m := &reloadBarrier{decided: make(chan struct{})}
	for name, r := range c.loops {
		s := participant{name, r, scheduler.DrainPartition{}, func() error { return nil }}
		i := slices.IndexFunc(conf.Partitions, func(p configs.Partition) bool { return p.Name == name })
		if i >= 0 {
			p := conf.Partitions[i]
			s.cmd = scheduler.UseConfig{Partition: p, Prepared: prepared[name]}
			s.validate = func() error { return r.core.CheckConfig(p, prepared[name]) }
		}
		m.participants = append(m.participants, s)
	}
	slices.SortFunc(m.participants, func(a, b participant) int { return strings.Compare(a.name, b.name) })
	m.prepared, m.applied = make(chan participantReport, len(m.participants)),
		make(chan participantReport, len(m.participants))
	for i := range m.participants {
		m.participants[i].loop.enqueue(envelope{run: func() { m.prepare(i, c.opt.Now) }})
	}
	return m
}

// prepare runs on the goroutine of a loop.
func (b *reloadBarrier) prepare(i int, now func() time.Time) {
	select {
	case <-b.decided: // the reload was aborted before
		return
	default:
	}
	p := b.participants[i]
	b.prepared <- participantReport{participant: i, at: now(), err: p.validate()}
	<-b.decided
	if b.committed {
		p.loop.applyCommands([]scheduler.Command{p.cmd})
		b.applied <- participantReport{participant: i, drained: p.loop.core.Removable()}
	}
}

// awaitPrepared waits until all loops have stopped, and returns all objections (CFG-104).
func (b *reloadBarrier) awaitPrepared(ctx context.Context) error {
	objections := make([]error, len(b.participants))
	for range b.participants {
		select {
		case report := <-b.prepared:
			if b.began.IsZero() || report.at.Before(b.began) {
				b.began = report.at
			}
			if report.err != nil {
				objections[report.participant] = fmt.Errorf("partition %s: %w", b.participants[report.participant].name, report.err)
			}
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	if err := ctx.Err(); err != nil {
		return err // it had ended as the last loop stopped: which of the two was seen first is chance
	}
	return errors.Join(objections...)
}

// abort lets all loops go on without a change.
func (b *reloadBarrier) abort(now func() time.Time) (paused time.Duration) {
	close(b.decided)
	return b.pauseDuration(now)
}

// commit lets all loops apply their command, and returns the partitions that are drained.
func (b *reloadBarrier) commit() (drained []participant) {
	b.committed = true
	close(b.decided)
	for range b.participants {
		if report := <-b.applied; report.drained {
			drained = append(drained, b.participants[report.participant])
		}
	}
	return drained
}

func (b *reloadBarrier) pauseDuration(now func() time.Time) time.Duration {
	if b.began.IsZero() {
		return 0
	}
	return now().Sub(b.began)
}
