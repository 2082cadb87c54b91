package bench

import (
	"errors"
	"fmt"
	"math"
	"runtime"
	"time"

	"github.com/canopy-scheduler/canopy/internal/lab/measure"
	"github.com/canopy-scheduler/canopy/pkg/lifecycle"
	"github.com/canopy-scheduler/canopy/pkg/objects"
	"github.com/canopy-scheduler/canopy/pkg/scheduler"
	"github.com/canopy-scheduler/canopy/pkg/security"
)

// Decider is a scheduler.Core, or decides in its place in tests.
type Decider interface {
	Step(now time.Time, cmd scheduler.Command) []scheduler.Effect
	Schedule(now time.Time, budget int) (effects []scheduler.Effect, more bool)
}

func newCore(s *stream) *scheduler.Core {
	opt := objects.DefaultOptions()
	opt.Lifetimes = *neverCompleting()
	return scheduler.NewWith(s.partition, nil, opt)
}

// neverCompleting returns lifetimes in which an application without asks stays Running: the workload
// submits further asks.
func neverCompleting() *lifecycle.Lifetimes {
	keep := lifecycle.DefaultLifetimes()
	keep.Completing = math.MaxInt64
	return &keep
}

// driver applies commands to a Decider, with virtual time advancing between them.
type driver struct {
	Decider
	now time.Time
}

const commandInterval = time.Millisecond

func newDriver(d Decider) *driver { return &driver{d, time.Unix(1_700_000_000, 0)} }

// apply applies a command that must not be rejected.
func (t *driver) apply(cmd scheduler.Command) error {
	t.now = t.now.Add(commandInterval)
	for _, e := range t.Step(t.now, cmd) {
		switch e.(type) {
		case scheduler.NodeRejected, scheduler.ApplicationRejected, scheduler.AskRejected, scheduler.Refused:
			return errors.New(e.String())
		}
	}
	return nil
}

func (t *driver) applyAll(n int, cmd func(i int) scheduler.Command) error {
	for i := range n {
		if err := t.apply(cmd(i)); err != nil {
			return err
		}
	}
	return nil
}

// Commands of a stream.

func (s *stream) addNode(i int) scheduler.Command {
	return scheduler.AddNode{Node: s.nodes[i].ID, Total: s.nodes[i].Capacity, Schedulable: true,
		Attributes: s.nodes[i].Attributes}
}

func (s *stream) addApp(i int) scheduler.Command {
	a := &s.apps[i]
	return scheduler.AddApplication{App: a.ID, User: security.User{Name: a.User}, Queue: string(a.Queue)}
}

func (s *stream) submit(i int) scheduler.Command { return scheduler.SubmitAsk{Ask: s.ask(i)} }

// load applies all commands but the asks of churn.
func (t *driver) load(s *stream) error {
	return errors.Join(
		t.applyAll(len(s.nodes), s.addNode),
		t.applyAll(len(s.apps), s.addApp),
		t.applyAll(s.spec.Asks, s.submit),
	)
}

// placements are the placed asks, in the order of placement.
type placements []*objects.Ask

func (p *placements) collect(effects []scheduler.Effect) (more int) {
	for _, e := range effects {
		if x, ok := e.(scheduler.Allocated); ok {
			*p = append(*p, x.Ask)
			more++
		}
	}
	return more
}

// fill schedules until nothing more can be placed. took records the duration of each decision; nil: it
// is not measured.
func (t *driver) fill(p *placements, took *measure.Histogram) {
	last := time.Now()
	for {
		effects, more := t.Schedule(t.now, 1)
		if !more {
			return
		}
		p.collect(effects)
		if took != nil {
			now := time.Now()
			took.Add(now.Sub(last))
			last = now
		}
	}
}

const (
	minDecisions = 40_000 // a cell with fewer decisions is repeated
	warmUp       = 20_000 // asks of the warm-up
)

// fillCore places all asks, which are known before the first decision. Short fills are repeated, up to
// rounds times.
func fillCore(s *stream, r *result, rounds int) error {
	var total measure.Usage
	took := r.family(decisionTimes)
	for round := 0; round == 0 || total.Decisions < minDecisions && round < rounds; round++ {
		if round == 0 && s.spec.Asks <= warmUp && rounds > 1 {
			if _, err := fillOnce(s, nil, nil); err != nil {
				return err
			}
		}
		p, err := fillOnce(s, &took, &total)
		if err != nil {
			return err
		}
		if round == 0 {
			s.enterOutcome(p, r.sample)
		}
	}
	if total.Decisions == 0 {
		return errors.New("nothing could be placed")
	}
	enterUsage(&total, r.sample, unpaced)
	return nil
}

// fillOnce fills a new core. Without total it is the warm-up.
func fillOnce(s *stream, took *measure.Histogram, total *measure.Usage) (placements, error) {
	core := newCore(s)
	t := newDriver(core)
	if err := t.load(s); err != nil {
		return nil, err
	}
	t.Schedule(t.now, 0) // the deferred work of loading
	p := make(placements, 0, s.spec.Asks)
	runtime.GC()
	before := measure.Read()
	t.fill(&p, took)
	if total != nil {
		total.Add(before, len(p))
	}
	if s.spec.FitsAll() && len(p) != s.spec.Asks {
		return nil, fmt.Errorf("%d of %d asks were placed, and all must fit", len(p), s.spec.Asks)
	}
	return p, nil
}
