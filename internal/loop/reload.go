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
	defer context.AfterFunc(c.over, stop)()
	err = c.hold(ctx)
	if err == nil {
		defer c.release()
	}
	switch {
	case c.over.Err() != nil:
		return 0, ErrEnded
	case err != nil:
		return 0, err
	}
	m := c.convene(conf, differences(c.Config(), conf))
	if err := m.agree(ctx); err != nil {
		if c.over.Err() != nil {
			err = ErrEnded
		}
		return m.adjourn(c.opt.Now), err
	}
	drained := m.carry()
	paused = m.length(c.opt.Now)
	for _, p := range conf.Partitions {
		if _, ok := c.Partition(p.Name); !ok {
			c.start(p)
		}
	}
	for _, s := range drained {
		c.remove(s.name, s.loop)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.conf = conf
	return paused, nil
}

// meeting is the loops of a Cluster about a proposal.
type meeting struct {
	seats   []seat
	arrived chan arrival  // a place for each seat
	over    chan struct{} // closed when it is known whether it is carried
	carried bool          // read after over is closed
	done    chan arrival  // a place for each seat

	began time.Time // when the first loop stopped; zero: none did
}

// seat is what a loop is asked to become.
type seat struct {
	name   string
	loop   *running
	cmd    scheduler.Command
	mayNot func() error // asked on the loop's goroutine
}

// arrival says how a loop stands to the proposal, and later what became of it.
type arrival struct {
	seat    int
	at      time.Time
	against error
	drained bool
}

// differences is what each partition that stays has otherwise in conf than in the configuration in
// force, by name. It takes as long as the configurations are large, so it is found out before any
// loop stops, and without a lock that a reader waits for.
func differences(inForce, conf *configs.Config) map[string]*objects.Difference {
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

// convene prepares a meeting about conf. Requires: c.changing is held.
func (c *Cluster) convene(conf *configs.Config, prepared map[string]*objects.Difference) *meeting {
	c.mu.Lock()
	defer c.mu.Unlock()
	m := &meeting{over: make(chan struct{})}
	for name, r := range c.loops {
		s := seat{name, r, scheduler.Drain{}, func() error { return nil }}
		i := slices.IndexFunc(conf.Partitions, func(p configs.Partition) bool { return p.Name == name })
		if i >= 0 {
			p := conf.Partitions[i]
			s.cmd = scheduler.UseConfig{Partition: p, Prepared: prepared[name]}
			s.mayNot = func() error { return r.core.MayUse(p, prepared[name]) }
		}
		m.seats = append(m.seats, s)
	}
	slices.SortFunc(m.seats, func(a, b seat) int { return strings.Compare(a.name, b.name) })
	m.arrived, m.done = make(chan arrival, len(m.seats)), make(chan arrival, len(m.seats))
	for i := range m.seats {
		m.seats[i].loop.put(envelope{look: func() { m.attend(i, c.opt.Now) }})
	}
	return m
}

// attend runs on the goroutine of a loop.
func (m *meeting) attend(i int, now func() time.Time) {
	select {
	case <-m.over: // it was adjourned before this loop came
		return
	default:
	}
	s := m.seats[i]
	m.arrived <- arrival{seat: i, at: now(), against: s.mayNot()}
	<-m.over
	if m.carried {
		s.loop.step([]scheduler.Command{s.cmd})
		m.done <- arrival{seat: i, drained: s.loop.core.Drained()}
	}
}

// agree waits until all loops have stopped, and returns all that they object to.
func (m *meeting) agree(ctx context.Context) error {
	against := make([]error, len(m.seats))
	for range m.seats {
		select {
		case a := <-m.arrived:
			if m.began.IsZero() || a.at.Before(m.began) {
				m.began = a.at
			}
			if a.against != nil {
				against[a.seat] = fmt.Errorf("partition %s: %w", m.seats[a.seat].name, a.against)
			}
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return errors.Join(against...)
}

// adjourn lets all loops go on as they were.
func (m *meeting) adjourn(now func() time.Time) (paused time.Duration) {
	close(m.over)
	return m.length(now)
}

// carry has all loops change, and returns those that hold nothing and are not wanted.
func (m *meeting) carry() (drained []seat) {
	m.carried = true
	close(m.over)
	for range m.seats {
		if a := <-m.done; a.drained {
			drained = append(drained, m.seats[a.seat])
		}
	}
	return drained
}

func (m *meeting) length(now func() time.Time) time.Duration {
	if m.began.IsZero() {
		return 0
	}
	return now().Sub(m.began)
}
