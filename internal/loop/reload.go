package loop

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/canopy-scheduler/canopy/pkg/configs"
	"github.com/canopy-scheduler/canopy/pkg/objects"
	"github.com/canopy-scheduler/canopy/pkg/scheduler"
)

// Configure puts a whole configuration in force, in all partitions or, when an error is
// returned, in none. Partitions that it adds are created. One that it leaves out drains:
// it takes no new node and no new application, what is there goes on, and when nothing is
// left it is gone (behaviour.md 1.7.9). Errors: ErrEnded, that of ctx, or everything that
// any partition has against the configuration.
func (c *Cluster) Configure(ctx context.Context, conf *configs.Config) error {
	_, err := c.Reload(ctx, conf)
	return err
}

// Reload is Configure that also says how long deciding was paused: from when the first
// partition stopped until the last one went on.
//
// All loops meet between two commands and stop there. Each says whether its partition may
// become what is proposed, which changes nothing; when the last one has agreed, all of
// them change and go on. So no command falls between the question and the change, and
// nobody can see one partition changed and another not. A loop that does not come in time,
// because its Sink does not return, is waited for until ctx ends; then nothing has changed.
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

// reloadBarrier is the loops of a Cluster about a proposal.
type reloadBarrier struct {
	participants []participant
	prepared     chan participantReport // a place for each seat
	decided      chan struct{}          // closed when it is known whether it is carried
	committed    bool                   // read after over is closed
	applied      chan participantReport // a place for each seat

	began time.Time // when the first loop stopped; zero: none did
}

// participant is what a loop is asked to become.
type participant struct {
	name     string
	loop     *partitionLoop
	cmd      scheduler.Command
	validate func() error // asked on the loop's goroutine
}

// participantReport says how a loop stands to the proposal, and later what became of it.
type participantReport struct {
	participant int
	at          time.Time
	err         error
	drained     bool
}

// configDifferences is what each partition that stays has otherwise in conf than in the configuration in
// force, by name. It takes as long as the configurations are large, so it is found out before any
// loop stops, and without a lock that a reader waits for.
func configDifferences(inForce, conf *configs.Config) map[string]*objects.Difference {
	out := map[string]*objects.Difference{}
	if inForce == nil {
		return out
	}
	for _, from := range inForce.Partitions {
		for _, to := range conf.Partitions {
			if from.Name == to.Name {
				out[to.Name] = objects.NewDifference(from, to)
			}
		}
	}
	return out
}

// newReloadBarrier prepares a meeting about conf. Requires: c.changing is held.
func (c *Cluster) newReloadBarrier(conf *configs.Config, prepared map[string]*objects.Difference) *reloadBarrier {
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
	m.prepared, m.applied = make(chan participantReport, len(m.participants)), make(chan participantReport, len(m.participants))
	for i := range m.participants {
		m.participants[i].loop.enqueue(envelope{run: func() { m.prepare(i, c.opt.Now) }})
	}
	return m
}

// prepare runs on the goroutine of a loop.
func (b *reloadBarrier) prepare(i int, now func() time.Time) {
	select {
	case <-b.decided: // it was adjourned before this loop came
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

// awaitPrepared waits until all loops have stopped, and returns all that they object to.
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
	return errors.Join(objections...)
}

// abort lets all loops go on as they were.
func (b *reloadBarrier) abort(now func() time.Time) (paused time.Duration) {
	close(b.decided)
	return b.pauseDuration(now)
}

// commit has all loops change, and returns those that hold nothing and are not wanted.
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
