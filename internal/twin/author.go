package twin

import (
	"math/rand/v2"
	"time"

	"github.com/canopy-scheduler/canopy/pkg/configs"
	"github.com/canopy-scheduler/canopy/pkg/objects"
	"github.com/canopy-scheduler/canopy/pkg/resources"
	"github.com/canopy-scheduler/canopy/pkg/scheduler"
)

// author makes a story up. It remembers roughly what it has told, so that most
// commands are about things that exist, and never asks whether they were accepted.
type author struct {
	*rand.Rand
	conf     configs.Partition
	plain    bool // a flood of like asks from one application, on a large cluster
	wide     bool // many of everything
	tight    bool // users, groups and running applications are limited
	ruthless bool // some may take the place of others
	fierce   bool // and the cluster is so small and so plain that they must
	settled  int  // queues that were given settings
	reloads  int
	pool     int                 // how many nodes come and go
	shapes   []resources.Amounts // none: every ask is different
	apps     []objects.AppID
	removed  []objects.AppID
	live     []*objects.Ask // lately asked for or reported
	keys     int
	names    int           // applications so far
	machines int           // about how many nodes there are
	told     time.Duration // how long the story has lasted
}

// Random is the story with this number.
func Random(seed uint64, beats int) Story {
	s := write(rand.NewPCG(seed, 0x63616e6f7079), beats)
	s.Seed = seed
	return s
}

// write is the story that follows from a source of choices.
func write(source rand.Source, beats int) Story {
	a := &author{Rand: rand.New(source)}
	a.plain, a.pool = a.oneIn(12), pick(a, 2, 3, 6, 6, 6, 6, 6, 6, 24, 24)
	if a.wide = a.oneIn(30); a.wide {
		a.pool = wide
	}
	a.tight, a.ruthless = a.oneIn(3), a.oneIn(2)
	a.fierce = a.ruthless && !a.plain && !a.wide && !a.oneIn(3)
	if a.fierce {
		a.pool = pick(a, 1, 2, 3)
	}
	a.conf = a.partition()
	for range pick(a, 0, 0, 2, 4) {
		a.shapes = append(a.shapes, a.amounts())
	}
	s := Story{
		Partition: a.conf, RM: pick(a, Silent, Silent, Willing, Picky),
		Lifetimes: objects.Lifetimes{
			Completing: pick(a, 0, 5*time.Second, 30*time.Second, 30*time.Second, 30*time.Second, 2*time.Minute, 10*time.Minute),
			Ended:      pick(a, 0, 2, 5, 1000, 1000),
			Completed:  pick(a, 0, time.Minute, 10*time.Minute, 72*time.Hour, 72*time.Hour), Rejected: pick(a, time.Minute, 72*time.Hour),
		},
		Shapes:     pick(a, objects.DefaultShapes, objects.DefaultShapes, 0, 1, 2, 3, 5, 70),
		Candidates: pick(a, 1<<30, 1<<30, 1, 2, 3),
	}
	for range pick(a, 0, 3, 4, a.pool) {
		s.Beats = append(s.Beats, a.beat(a.addNode()), a.beat(a.addApplication()))
	}
	if a.wide {
		for range wide {
			s.Beats = append(s.Beats, a.beat(a.addNode()), a.beat(a.addApplication()),
				a.beat(scheduler.SubmitAsk{Ask: a.ask()}))
		}
	}
	for end := max(beats, len(s.Beats)+beats/3); len(s.Beats) < end; {
		s.Beats = append(s.Beats, a.next())
	}
	s.classify(source)
	s.interrupt(source)
	s.Refusals = pick(&author{Rand: rand.New(source)}, 0, 1, 1, 2, 3) // last, so that the stories before are the same
	return s
}

// wide is how many nodes, applications and perhaps queues a wide story has: more than
// one block of an index holds.
const wide = 60

func (a *author) next() Beat {
	const (
		schedule = 24
		ask      = schedule + 30
		release  = ask + 12
		report   = release + 7
		resize   = report + 5
		nodes    = resize + 7
		apps     = nodes + 6
		foreign  = apps + 5
		config   = foreign + 2
		wake     = config + 1
	)
	n := a.IntN(wake + 1)
	switch {
	case a.machines < a.pool/2 && a.oneIn(4):
		return a.beat(a.addNode())
	case len(a.apps) < 3 && a.oneIn(4):
		return a.beat(a.addApplication())
	case n < schedule:
		return a.schedule()
	case n < ask:
		return a.beat(a.submit(a.ask()))
	case n < release:
		return a.beat(a.release())
	case n < report:
		return a.beat(scheduler.ReportAllocation{Ask: a.reported(), Node: a.node()})
	case n < resize:
		return a.beat(a.submit(a.resized()))
	case n < nodes:
		return a.beat(a.nodeCommand())
	case n < apps:
		return a.beat(a.appCommand())
	case n < foreign:
		return a.beat(a.foreign())
	case n < config:
		return a.beat(scheduler.UseConfig{Partition: a.reload()})
	case n < wake || !a.oneIn(5):
		return a.beat(scheduler.Wake{})
	}
	if a.oneIn(2) {
		return a.beat(scheduler.Drain{}) // until the next configuration
	}
	a.live, a.apps, a.machines = nil, nil, 0
	return a.beat(scheduler.Forget{})
}

// schedule comes a long time after the beat before, now and then, when applications
// have ramped up meanwhile and nothing else has happened.
func (a *author) schedule() Beat {
	b := a.beat(nil)
	if a.oneIn(10) {
		a.told += 5 * time.Minute
		b.After += 5 * time.Minute
	}
	b.Budget = pick(a, 0, 1, 1, 2, 5, 20)
	return b
}

// beat lets some time pass first: mostly little.
func (a *author) beat(cmd scheduler.Command) Beat {
	after := pick(a, 0, time.Nanosecond, 700*time.Millisecond, time.Second, 5*time.Second)
	if a.oneIn(80) {
		after = pick(a, time.Minute, 5*time.Minute-time.Second, 5*time.Minute, 7*time.Minute)
	}
	a.told += after
	return Beat{After: after, Command: cmd}
}

func (a *author) oneIn(n int) bool { return a.IntN(n) == 0 }

func pick[T any](a *author, from ...T) T { return from[a.IntN(len(from))] }
