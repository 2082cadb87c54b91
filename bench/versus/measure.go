package main

import (
	"errors"
	"fmt"
	"time"

	"github.com/canopy-scheduler/canopy/internal/lab/measure"
)

// Sample is the measurement of one process.
type Sample struct {
	Workload  string        `json:"workload"`
	Arm       string        `json:"arm"`
	Digest    string        `json:"digest"` // of the stream
	Asks      int           `json:"asks"`
	Allocated int           `json:"allocated"`
	Victims   int           `json:"victims,omitempty"` // preempted allocations
	CPU       time.Duration `json:"cpuNanos"`          // user and system, while deciding
	Wall      time.Duration `json:"wallNanos"`         // while deciding
	LoadCPU   time.Duration `json:"loadCPUNanos"`
	LoadWall  time.Duration `json:"loadWallNanos"`
	IdleShare float64       `json:"idleShare"` // CPU used per second just before the nodes open
	// PageFaults while deciding. Minor ones: memory touched for the first time.
	PageFaults int64 `json:"pageFaults"`
}

// cutOff reports whether the deadline ended the run before the last ask was placed.
func (s Sample) cutOff() bool { return s.Allocated < s.Asks }

func (s Sample) cpuPer() float64  { return perAllocation(s.CPU, s.Allocated) }
func (s Sample) wallPer() float64 { return perAllocation(s.Wall, s.Allocated) }

// perAllocation is in microseconds. Requires: n > 0.
func perAllocation(d time.Duration, n int) float64 { return measure.Micros(d) / float64(n) }

// idleWatch is the time for which a loaded scheduler is measured before it may schedule. A garbage collection
// comes first, so that neither arm pays for loading.
const idleWatch = 300 * time.Millisecond

// measureArm runs a workload with an arm in this process. A run that the deadline ends counts for its
// placements until then.
func measureArm(w Workload, arm string, o options) (Sample, error) {
	stream := newStream(w, o.seed)
	sample := Sample{Workload: w.Name, Arm: arm, Digest: stream.Digest, Asks: w.Asks}
	callback := newShim(w.Asks)
	scheduler, err := startScheduler(arm)
	if err != nil {
		return sample, err
	}
	started := measure.ReadClocks()
	if err := load(scheduler, stream, w, callback); err != nil {
		return sample, err
	}
	sample.LoadCPU, sample.LoadWall = measure.ReadClocks().Since(started)
	if w.preempts() {
		callback.expectVictims()
		go confirmVictims(callback, scheduler.UpdateAllocation) // until the process ends
		if err := scheduler.UpdateNode(stream.Open); err != nil {
			return sample, err
		}
	}

	sample.IdleShare = measure.IdleShare(idleWatch)
	if !o.freshHeap {
		measure.MapHeap()
	}
	stop, err := measure.CPUProfile(o.profile)
	if err != nil {
		return sample, err
	}
	started = measure.ReadClocks()
	if err := startDeciding(scheduler, stream, w); err != nil {
		return sample, err
	}
	deadline := time.NewTimer(o.deadline)
	defer deadline.Stop()
	select {
	case <-callback.done:
	case <-deadline.C:
	}
	end, placed, err := callback.outcome()
	sample.CPU, sample.Wall = end.Since(started)
	sample.PageFaults = end.PageFaults - started.PageFaults
	sample.Allocated, sample.Victims = placed, callback.countVictims()
	return sample, errors.Join(err, stop())
}

// outcome returns when deciding ended, and the number of asks that are placed, each once.
func (s *shim) outcome() (end measure.Clocks, placed int, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	end = s.end
	if len(s.placed) < s.want {
		end = measure.ReadClocks()
	}
	seen := make(map[string]bool, len(s.placed))
	for _, key := range s.placed {
		if seen[key] {
			return end, 0, fmt.Errorf("ask %s was placed twice", key)
		}
		seen[key] = true
	}
	switch {
	case len(s.problems) > 0:
		return end, 0, errors.New(s.problems[0])
	case len(seen) == 0:
		return end, 0, errors.New("nothing was placed before the deadline")
	}
	return end, len(seen), nil
}
