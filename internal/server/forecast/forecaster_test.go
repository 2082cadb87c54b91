package forecast

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"gotest.tools/v3/assert"

	"github.com/canopy-scheduler/canopy/pkg/objects"
	"github.com/canopy-scheduler/canopy/pkg/scheduler"
)

func allocated(key objects.AllocationKey) scheduler.Effect {
	return scheduler.Allocated{Binding: &scheduler.Binding{Ask: &objects.Ask{Key: key}, Node: "n"}}
}

// seconds returns an answer with these quantiles; below 0: missing.
func seconds(p10, p50, p90 int) Answer {
	a := Answer{At: noon, P10: time.Duration(p10) * time.Second, P50: time.Duration(p50) * time.Second, P90: Missing}
	if p90 >= 0 {
		a.P90 = time.Duration(p90) * time.Second
	}
	return a
}

func TestCalibration_CountsStartsByQuantile(t *testing.T) {
	c := newCalibration()
	after := func(n int) time.Time { return noon.Add(time.Duration(n) * time.Second) }
	c.give("a", seconds(10, 20, 30))
	c.give("a", seconds(0, 0, 0)) // the first answer counts
	c.give("b", seconds(10, 20, 30))
	c.give("c", seconds(10, 20, 30))
	c.give("d", seconds(10, 20, -1))
	c.give("late", seconds(10, 20, 30))
	c.give("cancelled", seconds(10, 20, 30))
	c.give("timed out", seconds(10, 20, 30))
	c.give("ended", seconds(10, 20, 30))
	unknown := failed(NeverAsThingsAre, "", noon)
	c.give("unknown", unknown)
	assert.Equal(t, c.read().Open, 8)
	c.onEffects([]scheduler.Effect{allocated("a"), allocated("a"), allocated("unknown")}, after(10))
	c.onEffects([]scheduler.Effect{allocated("b")}, after(18))
	c.onEffects([]scheduler.Effect{allocated("c"), scheduler.AskCancelled{Key: "cancelled"},
		scheduler.AskTimedOut{Key: "timed out"}, scheduler.Released{Key: "ended"}}, after(30))
	c.onEffects([]scheduler.Effect{allocated("d")}, after(100))
	c.onEffects([]scheduler.Effect{allocated("late")}, after(31))
	assert.DeepEqual(t, c.read(), Calibration{
		Started: 5, WithinP10: 1, WithinP50: 2, WithinP90: 4, MedianError: 10 * time.Second, Withdrawn: 3,
	})
}

func TestCalibration_IsBounded(t *testing.T) {
	c := newCalibration()
	for i := range 5*maxOpen + 1 {
		key := objects.AllocationKey(fmt.Sprint(i))
		c.give(key, seconds(1, 2, -1)) // which is never corrected
		if i%2 == 1 {
			c.onEffects([]scheduler.Effect{allocated(key)}, noon.Add(time.Duration(i)*time.Second))
		}
	}
	got := c.read()
	assert.Equal(t, got.Open, maxOpen)
	assert.Equal(t, got.Started, 5*maxOpen/2)
	assert.Equal(t, got.Open+got.Started+got.Forgotten, 5*maxOpen+1)
	assert.Assert(t, len(c.order) <= 2*maxOpen && len(c.errors) == keptErrors)
	assert.Assert(t, got.MedianError > 3*maxOpen*time.Second, "of the last errors: %v", got.MedianError)
	_, first := c.open["0"]
	_, last := c.open[objects.AllocationKey(fmt.Sprint(5*maxOpen))]
	assert.Assert(t, !first && last, "the oldest is forgotten first")
	c.onEffects([]scheduler.Effect{scheduler.PartitionReset{}}, noon)
	assert.Equal(t, c.read().Open, 0)
	assert.Equal(t, c.read().Forgotten, got.Forgotten+maxOpen)
}

// forecaster returns a Forecaster that learns what a cluster does.
func (c *cluster) forecaster() *Forecaster {
	f := NewForecaster("", func() time.Time { return c.now })
	f.Learnt = c.learnt
	return f
}

// An answer is shared for a while; then the state is read again. The calibration has the first.
func TestForecaster_SharesAnswers(t *testing.T) {
	c := newCluster(t, twoLeaves)
	c.app("x", "root.a", nil)
	c.learn("x")
	c.node("n1", 1)
	c.ask("x", "first", 1)
	c.schedule()
	c.ask("x", "second", 1)
	c.ask("x", "third", 1)
	f, reads := c.forecaster(), 0
	starts := func(keys ...objects.AllocationKey) map[objects.AllocationKey]Answer {
		t.Helper()
		answers, err := f.Starts(t.Context(), "default", keys,
			func(context.Context) (State, error) { reads++; return c.state(), nil })
		assert.NilError(t, err)
		return answers
	}
	a := starts("second", "third", "second")
	assert.Equal(t, a["second"].P50, time.Minute)
	assert.Equal(t, a["third"].P50, 2*time.Minute)
	c.now = c.now.Add(SharedFor)
	assert.DeepEqual(t, starts("third", "second"), a)
	assert.Equal(t, reads, 1)
	c.now = c.now.Add(time.Second)
	assert.Equal(t, starts("second")["second"].P50, time.Minute-SharedFor-time.Second)
	assert.Equal(t, reads, 2)

	f.OnEffects("other", []scheduler.Effect{allocated("second")})
	c.now = noon.Add(time.Hour)
	assert.DeepEqual(t, f.Calibration("default"), Calibration{Open: 2})
	assert.DeepEqual(t, f.Calibration("other"), Calibration{})
	c.now = a["second"].At.Add(61 * time.Second)
	f.OnEffects("default", []scheduler.Effect{allocated("second")})
	assert.DeepEqual(t, f.Calibration("default"), Calibration{Open: 1, Started: 1, WithinP90: 0, MedianError: time.Second})

	unreadable := errors.New("it has stopped")
	_, err := f.Starts(t.Context(), "default", []objects.AllocationKey{"new"},
		func(context.Context) (State, error) { return State{}, unreadable })
	assert.ErrorIs(t, err, unreadable)
}

// One forecast is made at a time, and a reader does not wait long for that of another one.
func TestForecaster_OneAtATime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(t, twoLeaves)
		c.app("x", "root.a", nil)
		c.node("n1", 1)
		c.ask("x", "a", 1)
		st := c.state()
		f := NewForecaster("", nil)
		release := make(chan bool)
		done := make(chan bool)
		go func() {
			_, _ = f.Starts(t.Context(), "default", []objects.AllocationKey{"a"},
				func(context.Context) (State, error) { <-release; return st, nil })
			close(done)
		}()
		synctest.Wait()
		begun := time.Now()
		answers, err := f.Starts(t.Context(), "default", []objects.AllocationKey{"b"},
			func(context.Context) (State, error) { panic("not called") })
		assert.NilError(t, err)
		assert.Equal(t, answers["b"].Code, Busy)
		assert.Equal(t, time.Since(begun), maxWait)
		close(release)
		<-done
		answers, err = f.Starts(t.Context(), "default", []objects.AllocationKey{"b"},
			func(context.Context) (State, error) { return st, nil })
		assert.NilError(t, err)
		assert.Equal(t, answers["b"].Code, NotPending)
	})
}

// spread are starts around a median of 100 s, evenly from the first to the last.
func (c *calibration) spread(raw Answer, from, to int) {
	for i := range 2 * minScores {
		key := objects.AllocationKey(fmt.Sprint(i))
		c.give(key, raw)
		at := float64(from) + float64(to-from)*(float64(i)+0.5)/(2*minScores)
		c.onEffects([]scheduler.Effect{allocated(key)}, noon.Add(time.Duration(at*float64(time.Second))))
	}
}

// Quantiles that were too narrow, too wide, too early or too late are corrected by what has happened, on either side.
func TestCorrection_ByWhatHappened(t *testing.T) {
	for name, x := range map[string]struct {
		raw, want [3]int
		from, to  int
	}{
		"too narrow: the last is three times as far from the median": {[3]int{90, 100, 120}, [3]int{40, 100, 160}, 25, 175},
		"right":                           {[3]int{40, 100, 160}, [3]int{40, 100, 160}, 25, 175},
		"too wide":                        {[3]int{0, 100, 900}, [3]int{92, 100, 108}, 90, 110},
		"too early":                       {[3]int{90, 100, 110}, [3]int{140, 200, 260}, 125, 275},
		"never below 0":                   {[3]int{99, 100, 101}, [3]int{12, 60, 108}, 0, 120},
		"certain ones have a small width": {[3]int{100, 100, 100}, [3]int{102, 110, 118}, 100, 120},
	} {
		c := newCalibration()
		raw := seconds(x.raw[0], x.raw[1], x.raw[2])
		for i := range minScores - 1 {
			c.give(objects.AllocationKey(fmt.Sprint(i)), raw)
			c.onEffects([]scheduler.Effect{allocated(objects.AllocationKey(fmt.Sprint(i)))}, noon)
		}
		assert.DeepEqual(t, c.give("few have started", raw), raw)
		c = newCalibration()
		c.spread(raw, x.from, x.to)
		a := c.give("new", raw)
		assert.Assert(t, a.Corrected)
		for i, got := range [...]time.Duration{a.P10, a.P50, a.P90} {
			assert.Assert(t, (got-time.Duration(x.want[i])*time.Second).Abs() <= time.Second, "%s: %v %v %v", name, a.P10, a.P50,
				a.P90)
		}
		missing := seconds(1, 2, -1)
		assert.DeepEqual(t, c.give("beyond the horizon", missing), missing)
		unknown := failed(NeverAsThingsAre, "", noon)
		assert.DeepEqual(t, c.give("never", unknown), unknown)
	}
}

// What the correction is from does not grow, and follows what has happened last.
func TestCorrection_ForgetsOldStarts(t *testing.T) {
	c := newCalibration()
	raw := seconds(40, 100, 160)
	c.spread(raw, 250, 1000)
	for range keptScores / minScores / 2 {
		c.spread(raw, 25, 175)
	}
	assert.Equal(t, len(c.correction.scores), keptScores)
	a := c.give("new", raw)
	assert.Assert(t, (a.P50-100*time.Second).Abs() <= 2*time.Second, "%v", a.P50)
	c.onEffects([]scheduler.Effect{scheduler.PartitionReset{}}, noon)
	assert.Equal(t, len(c.correction.scores), keptScores, "a reset changes nothing of it")
}
