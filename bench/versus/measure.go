package main

import (
	"errors"
	"fmt"
	"os"
	"runtime"
	"runtime/pprof"
	"syscall"
	"time"
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
}

// cutOff reports whether the deadline ended the run before the last ask was placed.
func (s Sample) cutOff() bool { return s.Allocated < s.Asks }

func (s Sample) cpuPer() float64  { return perAllocation(s.CPU, s.Allocated) }
func (s Sample) wallPer() float64 { return perAllocation(s.Wall, s.Allocated) }

// perAllocation is in microseconds. Requires: n > 0.
func perAllocation(d time.Duration, n int) float64 {
	return float64(d.Nanoseconds()) / 1000 / float64(n)
}

// usage is the state of the clock and of the CPU account of this process.
type usage struct {
	at  time.Time
	cpu time.Duration
}

func readUsage() usage {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		panic("getrusage: " + err.Error()) // it cannot fail for the own process
	}
	return usage{time.Now(), time.Duration(u.Utime.Nano() + u.Stime.Nano())}
}

func (r usage) since(start usage) (cpu, wall time.Duration) {
	return r.cpu - start.cpu, r.at.Sub(start.at)
}

// idleWatch is how long a loaded scheduler is measured before it may schedule. A garbage collection
// comes first, so that neither arm pays for loading.
const idleWatch = 300 * time.Millisecond

// measure runs a workload with an arm in this process. A run that the deadline ends counts for its
// placements until then.
func measure(w Workload, arm string, o options) (Sample, error) {
	stream := newStream(w, o.seed)
	sample := Sample{Workload: w.Name, Arm: arm, Digest: stream.Digest, Asks: w.Asks}
	callback := newShim(w.Asks)
	scheduler, err := startScheduler(arm)
	if err != nil {
		return sample, err
	}
	started := readUsage()
	if err := load(scheduler, stream, w, callback); err != nil {
		return sample, err
	}
	sample.LoadCPU, sample.LoadWall = readUsage().since(started)
	if w.preempts() {
		callback.expectVictims()
		go confirmVictims(callback, scheduler.UpdateAllocation) // until the process ends
		if err := scheduler.UpdateNode(stream.Open); err != nil {
			return sample, err
		}
	}

	runtime.GC()
	before := readUsage()
	time.Sleep(idleWatch)
	cpu, wall := readUsage().since(before)
	sample.IdleShare = cpu.Seconds() / wall.Seconds()

	stop, err := profile(o.profile)
	if err != nil {
		return sample, err
	}
	started = readUsage()
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
	sample.CPU, sample.Wall = end.since(started)
	sample.Allocated, sample.Victims = placed, callback.countVictims()
	return sample, errors.Join(err, stop())
}

// outcome is when deciding ended and how many asks are placed, each once.
func (s *shim) outcome() (end usage, placed int, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	end = s.end
	if len(s.placed) < s.want {
		end = readUsage()
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

// profile writes a CPU profile of what follows to a file, until stop is called. An
// empty path is no profile.
func profile(path string) (stop func() error, err error) {
	if path == "" {
		return func() error { return nil }, nil
	}
	f, err := os.Create(path)
	if err != nil {
		return nil, err
	}
	if err := pprof.StartCPUProfile(f); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return func() error {
		pprof.StopCPUProfile()
		return f.Close()
	}, nil
}
