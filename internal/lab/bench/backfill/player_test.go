package backfill

import (
	"testing"
	"time"

	"gotest.tools/v3/assert"

	"github.com/canopy-scheduler/canopy/pkg/scheduler"
)

func TestPlay_EveryJobEndsWithinCapacity(t *testing.T) {
	s := Spec{GPUs: 16, Load: 1.2, Factor: 1, Mode: Off}
	trace := s.MadeUpTrace(1)
	o, err := playCore(s, trace)
	assert.NilError(t, err)
	checkStarts(t, s.GPUs, trace.Jobs, o.starts)
	assert.Assert(t, o.idle > 0 && o.wasted == 0)

	s.Factor = 10
	again, err := playCore(s, s.MadeUpTrace(1))
	assert.NilError(t, err)
	assert.DeepEqual(t, again.starts, o.starts) // without backfill nothing depends on bounds
	assert.Equal(t, again.idle, o.idle)
}

// play plays to the end.
func play(t *testing.T, p *player) {
	t.Helper()
	for p.left > 0 && p.err == nil {
		p.next()
	}
	assert.NilError(t, p.err)
}

// A gang of two nodes waits from time 1 until the second node is free at time 5; the first is free at time 3 and held.
func TestPlay_CountsWhatIsIdleUnderReservations(t *testing.T) {
	gang := job(1, 2, 2, 8)
	gang.Members, gang.Gang = 2, true
	jobs := []Job{job(0, 3, 3, 8), job(0, 5, 5, 8), gang, job(2, 1, 1, 1)}
	o, err := playCore(Spec{GPUs: 16, Mode: Off}, Trace{longest, jobs})
	assert.NilError(t, err)
	assert.DeepEqual(t, o.starts, times(0, 0, 5, 7))
	assert.Equal(t, o.idle, (2 * 8 * unit).Hours())

	p, err := newPlayer(Spec{GPUs: 16, Mode: Off}, Trace{4 * unit, jobs})
	assert.NilError(t, err)
	play(t, p)
	assert.Equal(t, p.out.idle, (8 * unit).Hours(), "what is after the window does not count")
}

// The core asks for the end of a job that runs: its resource manager takes the termination grace, and starts it again.
func TestPlay_ReleasedJobStartsAgain(t *testing.T) {
	jobs := []Job{job(0, 3, 3, 8)}
	p, err := newPlayer(Spec{GPUs: 8, Mode: Off}, Trace{longest, jobs})
	assert.NilError(t, err)
	p.next()
	for _, r := range p.runs {
		p.now += 2 * unit
		p.take([]scheduler.Effect{scheduler.Released{App: r.app, Key: "job-0-1-0", Type: scheduler.PreemptedByScheduler}})
	}
	play(t, p)
	assert.DeepEqual(t, p.out.starts, []time.Duration{2*unit + 30*time.Second})
	assert.Equal(t, p.out.wasted, 8*(2*unit+30*time.Second).Hours())
	assert.NilError(t, p.core.Check())
}

func TestPlay_Figures(t *testing.T) {
	for _, mode := range []Mode{Off, EASY, Conservative} {
		s := Spec{GPUs: 16, Load: 0.5, Factor: 2, Mode: mode}
		one, err := Play(s, s.MadeUpTrace(3))
		assert.NilError(t, err)
		two, err := Play(s, s.MadeUpTrace(3))
		assert.NilError(t, err)
		assert.DeepEqual(t, one, two)
		assert.Assert(t, one[Utilisation] > 0.3 && one[Utilisation] <= 0.5)
	}
	_, err := Play(Spec{GPUs: 16, Load: 0.5, Mode: "nonsense"}, Trace{})
	assert.ErrorContains(t, err, `there is no mode "nonsense"`)

	o := outcome{starts: times(0, 2, 6)}
	jobs := []Job{job(0, 1, 1, 1), job(1, 2, 2, 4), job(2, 1, 1, 4)}
	jobs[1].Gang, jobs[2].Gang = true, true
	s := Spec{GPUs: 8}
	assert.DeepEqual(t, o.waits(s, Trace{longest, jobs}), map[string]float64{
		GangWaitP50: unit.Hours(), GangWaitP95: (4 * unit).Hours(), OtherWait: 0,
		Utilisation: (13 * unit).Hours() / (8 * longest.Hours()),
	})
}

func TestCompare_Ratios(t *testing.T) {
	off := map[string]float64{IdleReserved: 10, GangWaitP50: 2, GangWaitP95: 0}
	figures := map[string]float64{IdleReserved: 3, Wasted: 1, GangWaitP50: 3, GangWaitP95: 1}
	Compare(figures, off)
	assert.Equal(t, figures["idleReservedRatio"], 0.4)
	assert.Equal(t, figures["gangWaitP50Ratio"], 1.5)
	_, ok := figures["gangWaitP95Ratio"]
	assert.Assert(t, !ok)
}
