package backfill

import (
	"maps"
	"slices"
	"testing"
	"time"

	"gotest.tools/v3/assert"
)

// unit is that of times in examples. No reservation in them lasts for as long as its timeout.
const unit = 8 * time.Minute

func job(arrival, duration, bound, gpus time.Duration) Job {
	return Job{Arrival: arrival * unit, Duration: duration * unit, Bound: bound * unit, Members: 1, Each: int(gpus)}
}

func times(all ...time.Duration) []time.Duration {
	for i := range all {
		all[i] *= unit
	}
	return all
}

// On four GPUs, the second job waits for the first until time 4, and the third for the second until time 8. The fourth
// needs one GPU for ten units, and one is free: EASY lets it delay the third.
func TestPool_WorkedExample(t *testing.T) {
	jobs := []Job{job(0, 4, 4, 3), job(1, 4, 4, 2), job(2, 2, 2, 4), job(3, 10, 10, 1)}
	assert.DeepEqual(t, playPool(jobs, newEASY(4, jobs)), times(0, 4, 13, 3))
	assert.DeepEqual(t, playPool(jobs, newConservative(4, jobs)), times(0, 4, 8, 10))
}

// On eight GPUs, the second job needs six of them at time 4, when the first has ended. Two are left for the third; with
// the fourth the second would not fit.
func TestPool_GPUsBesideTheFirst(t *testing.T) {
	jobs := []Job{job(0, 4, 4, 4), job(1, 1, 1, 6), job(2, 10, 10, 2), job(2, 10, 10, 2)}
	assert.DeepEqual(t, playPool(jobs, newEASY(8, jobs)), times(0, 4, 2, 5))
	assert.DeepEqual(t, playPool(jobs, newConservative(8, jobs)), times(0, 4, 2, 5))
}

// On four GPUs, the second job waits for all of them until time 8, the bound of the first, which ends at time 4. The
// third needs one for six units: it ends in time and starts at once, although it delays the second, as it turns out.
// The fourth, of seven units, would not end in time.
func TestPool_BoundsThatAreTooLong(t *testing.T) {
	jobs := []Job{job(0, 4, 8, 2), job(1, 1, 1, 4), job(2, 6, 6, 1), job(2, 7, 7, 1)}
	assert.DeepEqual(t, playPool(jobs, newEASY(4, jobs)), times(0, 8, 2, 9))
	assert.DeepEqual(t, playPool(jobs, newConservative(4, jobs)), times(0, 8, 2, 9))
	// When nothing holds the second, it starts as soon as the first has ended.
	jobs = slices.Delete(jobs, 2, 3)
	assert.DeepEqual(t, playPool(jobs, newEASY(4, jobs)), times(0, 4, 5))
	assert.DeepEqual(t, playPool(jobs, newConservative(4, jobs)), times(0, 4, 5))
}

// checkStarts verifies that no job starts before it arrives, and that jobs never have more GPUs than there are.
func checkStarts(t *testing.T, gpus int, jobs []Job, starts []time.Duration) {
	t.Helper()
	change := map[time.Duration]int{}
	for i := range jobs {
		assert.Assert(t, starts[i] >= jobs[i].Arrival)
		change[starts[i]] += jobs[i].GPUs()
		change[starts[i]+jobs[i].Duration] -= jobs[i].GPUs()
	}
	used := 0
	for _, at := range slices.Sorted(maps.Keys(change)) {
		used += change[at]
		assert.Assert(t, used <= gpus, "%d GPUs after %v", used, at)
	}
}

// promises keeps when each job starts at the latest, as conservative backfill says on its arrival.
type promises struct {
	*conservative
	latest []time.Duration
}

func (p *promises) arrive(now time.Duration, i int) {
	p.conservative.arrive(now, i)
	p.latest = append(p.latest, p.queue[len(p.queue)-1].at)
}

func TestPool_KeepsCapacityAndPromises(t *testing.T) {
	for _, factor := range []float64{1, 2, 10} {
		s := Spec{GPUs: 32, Load: 1.2, Factor: factor}
		jobs := s.MadeUpTrace(1).Jobs
		checkStarts(t, s.GPUs, jobs, playPool(jobs, newEASY(s.GPUs, jobs)))
		p := &promises{conservative: newConservative(s.GPUs, jobs)}
		starts := playPool(jobs, p)
		checkStarts(t, s.GPUs, jobs, starts)
		earlier := 0
		for i := range jobs {
			assert.Assert(t, starts[i] <= p.latest[i], "job %d", i)
			if starts[i] < p.latest[i] {
				earlier++
			}
		}
		assert.Equal(t, earlier > 0, factor > 1, "jobs end before their bounds")
		assert.Equal(t, len(p.plan), 1, "nothing is left in the plan")
	}
}
