package whatif

import (
	"slices"
	"time"

	"github.com/canopy-scheduler/canopy/internal/server/durations"
	"github.com/canopy-scheduler/canopy/pkg/objects"
	"github.com/canopy-scheduler/canopy/pkg/scheduler"
)

// history holds what the recording knows of the requests, to its end. The resource manager of the changed run is made
// up from it: an allocation runs as long as it did, whenever it starts.
type history struct {
	apps  map[objects.AppID]*application
	byKey map[objects.AllocationKey][]*request
	// of the allocations of a leaf queue; of "": all. With too few none
	durations map[objects.QueuePath]*durations.Distribution
	confirm   map[scheduler.Termination]time.Duration // the median time in which the resource manager confirmed
}

// newHistory learns from a run that was recorded until a time.
func newHistory(t *tracker, until time.Time) *history {
	p := &history{apps: t.apps, byKey: map[objects.AllocationKey][]*request{},
		durations: map[objects.QueuePath]*durations.Distribution{}, confirm: map[scheduler.Termination]time.Duration{}}
	lives := map[objects.QueuePath][]durations.Life{}
	confirmed := map[scheduler.Termination][]time.Duration{}
	for _, r := range t.all {
		p.byKey[r.key] = append(p.byKey[r.key], r)
		if !r.releasing.IsZero() && !r.ended.IsZero() {
			confirmed[r.reason] = append(confirmed[r.reason], r.ended.Sub(r.releasing))
		}
		if r.started.IsZero() || r.placeholder {
			continue
		}
		ran, ended := r.ran(until)
		for _, group := range []objects.QueuePath{t.application(r.app).queue, ""} {
			lives[group] = append(lives[group], durations.Life{Exit: ran, Ended: ended})
		}
	}
	for group, list := range lives {
		ended := 0
		for _, x := range list {
			if x.Ended {
				ended++
			}
		}
		if ended >= durations.MinEnded || group == "" && ended > 0 {
			p.durations[group] = durations.NewDistribution(list)
		}
	}
	for reason, list := range confirmed {
		slices.Sort(list)
		p.confirm[reason] = list[len(list)/2]
	}
	return p
}

// ran returns how long a request ran before something other than itself ended it, or the recording ended; ended reports
// that it came to its own end.
func (r *request) ran(until time.Time) (ran time.Duration, ended bool) {
	switch {
	case !r.releasing.IsZero():
		return r.releasing.Sub(r.started), false
	case r.ended.IsZero():
		return until.Sub(r.started), false
	}
	return r.ended.Sub(r.started), !r.lost
}

// of returns the recorded request for one of the changed run; nil: there is none.
func (p *history) of(r *request) *request {
	list := p.byKey[r.key]
	for _, x := range list {
		if x.submitted.Equal(r.submitted) && x.before == r.before {
			return x
		}
	}
	return nil
}

// duration returns how long a request of a leaf queue runs. estimated: the recording has not seen its end, so that it
// is the median of those that ran as long. ok: it is known, or can be estimated.
func (p *history) duration(recorded *request, queue objects.QueuePath, until time.Time) (d time.Duration, estimated,
	ok bool) {
	var ran time.Duration
	if recorded != nil && !recorded.started.IsZero() {
		ended := false
		ran, ended = recorded.ran(until)
		if ended {
			return ran, false, true
		}
	}
	known := p.durations[queue]
	if known == nil {
		known = p.durations[""]
	}
	if known == nil {
		return 0, true, false
	}
	return ran + known.Remaining(ran, 0.5), true, true
}
