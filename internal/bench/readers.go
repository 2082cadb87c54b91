package bench

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"runtime"
	"slices"
	"time"
)

// What the readers of a suite do. They are a process of their own.
type readersSpec struct {
	Pollers int `json:"pollers"` // each asks for one path after the other, once a second, at random times
	Stalled int `json:"stalled"` // connections that ask for a large list and read nothing
	Phases  int `json:"phases"`  // with readers; before each there is one without
	Seconds int `json:"seconds"` // that a phase takes
}

// outlives is after how many asks one ends: so many run besides those that stay.
const outlives = 100

// readers measures how long asks take to be allocated, by turns without readers and with them.
// Server, readers and the client that asks are processes of their own, and the readers yield to
// both: they are on other machines.
func readers(ctx context.Context, s *stream, r *result, j Job) (err error) {
	j.prevail()
	server, err := startServer(ctx, j.Self)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, server.stop()) }()
	j.lead()
	w := &readWorld{stream: s, spec: j.Readers, spawn: j.spawner(), server: server, next: s.spec.Asks, result: r}
	open := func(ctx context.Context, s *stream, e *ear) (door, error) { return dialGRPC(ctx, s, e, server.grpc) }
	if w.loaded, err = loadThrough(ctx, s, s.spec.Asks, open); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, w.close()) }() // that the books balance is for other suites
	if _, err := w.fill(ctx, s.spec.Asks); err != nil {
		return err
	}
	// The first snapshot and the first text of each list are made before anything is measured.
	for _, e := range (&pollJob{}).endpoints() {
		if err := fetch(ctx, server.http, e.path); err != nil {
			return err
		}
	}
	runtime.GC()
	for range w.spec.Phases {
		if err := w.phase(ctx, quietTimes, &w.quiet, nil); err != nil {
			return err
		}
		if err := w.phase(ctx, readTimes, &w.read, w.pollers()); err != nil {
			return err
		}
	}
	return w.enter()
}

// readWorld is a server, a client that asks, and readers.
type readWorld struct {
	*loaded
	stream *stream
	spec   readersSpec
	spawn  func(context.Context, Job) (Answer, error)
	server *served
	result *result
	next   int   // ask
	live   []int // asks that came beside those that stay, and run; guarded by the lock of the ear

	quiet, read side
	polled      Sample // sums of what the pollers have found
}

// side is what was measured in the phases of one kind.
type side struct {
	cpu, wall time.Duration // of the server
	peak      float64       // bytes of its memory, the most at any time
}

// pollers are the job of a process of readers.
func (w *readWorld) pollers() *Job {
	p := &pollJob{
		Address: w.server.http, Pollers: w.spec.Pollers, Stalled: w.spec.Stalled, Seconds: w.spec.Seconds,
		Nodes: len(w.stream.nodes), Applications: len(w.stream.apps), Node: string(w.stream.nodes[0].ID),
		Application: string(w.stream.apps[0].ID), Queue: string(w.stream.apps[0].Queue), User: w.stream.apps[0].User,
		Allocations: w.stream.spec.Asks, Extra: 2 * outlives, Seed: w.stream.seed,
	}
	p.Queues, _ = w.stream.spec.queues()
	p.Queues++ // root
	return &Job{Measure: Poll, Poll: p}
}

// phase sends asks at the rate of the workload, besides the readers of a job; nil: none.
func (w *readWorld) phase(ctx context.Context, family string, to *side, job *Job) error {
	type outcome struct {
		answer Answer
		err    error
	}
	polled := make(chan outcome, 1)
	if job == nil {
		polled <- outcome{}
	} else {
		go func() {
			a, err := w.spawn(ctx, *job)
			polled <- outcome{a, err}
		}()
		// The process is there and its first requests are under way when the first ask comes.
		pause(readersHeadStart)
	}
	events := w.stream.schedule(int(w.stream.spec.Rate * float64(w.spec.Seconds)))
	events.due = events.due[:min(len(events.due), len(w.stream.draws)-w.next)]
	first, took := w.next, w.result.family(family)
	w.listen(func(number int, allocated bool) {
		if allocated && number >= first {
			took.add(events.late(number - first))
			w.live = append(w.live, number)
		}
	})
	peak := w.watchMemory()
	began := time.Now()
	before, err := w.server.cpu()
	if err != nil {
		return err
	}
	err = events.play(ctx, func(from, next int) (int, error) {
		w.mu.Lock()
		ends := slices.Clone(w.live[:max(0, len(w.live)-outlives)]) // only what runs can end
		w.live = w.live[len(ends):]
		w.mu.Unlock()
		return next - from, w.sendAsks(first+from, first+next, ends)
	})
	w.next += len(events.due)
	if err == nil {
		err = w.await(ctx, "all asks of a phase to have their node", func() bool { return w.placed == len(events.due) })
	}
	after, bad := w.server.cpu()
	to.cpu, to.wall, to.peak = to.cpu+after-before, to.wall+time.Since(began), max(to.peak, peak())
	err = errors.Join(err, bad)
	o := <-polled
	if w.polled == nil {
		w.polled = Sample{}
	}
	for name, n := range o.answer.Sample {
		w.polled[name] += n
	}
	for family, text := range o.answer.Times {
		t, bad := decodeTimes(text)
		if bad != nil {
			return bad
		}
		w.result.family(family).h.Merge(t.h)
	}
	return errors.Join(err, o.err)
}

// readersHeadStart is how long the readers are at it before asks are sent.
const readersHeadStart = 300 * time.Millisecond

// enter puts what was found into the sample.
func (w *readWorld) enter() error {
	to := w.result.sample
	quiet, read := w.result.family(quietTimes), w.result.family(readTimes)
	for _, x := range []struct {
		metric  string
		percent float64
	}{{"readersAddP50", 50}, {"readersAddP99", 99}} {
		more := float64(read.h.ValueAtQuantile(x.percent)-quiet.h.ValueAtQuantile(x.percent)) / 1000
		to[x.metric] = max(0, more)
	}
	to["readersP50Ratio"] = float64(read.h.ValueAtQuantile(50)) / float64(max(1, quiet.h.ValueAtQuantile(50)))
	to["serverCPUQuiet"] = w.quiet.cpu.Seconds() / w.quiet.wall.Seconds()
	to["serverCPU"] = w.read.cpu.Seconds() / w.read.wall.Seconds()
	to["readerCPU"] = w.polled["readerCPU"] / w.read.wall.Seconds()
	to["readersMemory"] = max(0, w.read.peak-w.quiet.peak)
	for _, name := range []string{"answers", "answersRefused", "answersFailed", "answersWrong", "answerBytes", "connectionsCut"} {
		to[name] = w.polled[name]
	}
	if all := to["answers"] + to["answersRefused"] + to["answersFailed"] + to["answersWrong"]; all > 0 {
		to["answersCorrect"] = to["answers"] / all
	}
	if w.spec.Pollers > 0 && to["answers"] == 0 {
		return fmt.Errorf("no reader got an answer: %v refused, %v failed, %v wrong", to["answersRefused"], to["answersFailed"], to["answersWrong"])
	}
	return nil
}

// fetch reads an answer and drops it, whatever it is.
func fetch(ctx context.Context, address, path string) error {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+address+path, nil)
	if err != nil {
		return err
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return err
	}
	_, err = io.Copy(io.Discard, response.Body)
	return errors.Join(err, response.Body.Close())
}

// memoryInterval is how often memory is looked at for its peak.
const memoryInterval = 50 * time.Millisecond

// watchMemory looks at the memory of the server until the function that it returns is called,
// which returns the most that it was, in bytes.
func (w *readWorld) watchMemory() (peak func() float64) {
	var most float64
	done, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		t := time.NewTicker(memoryInterval)
		defer t.Stop()
		for {
			if bytes, err := w.server.memory("VmRSS"); err == nil { // else the phase fails without this
				most = max(most, bytes)
			}
			select {
			case <-t.C:
			case <-done:
				return
			}
		}
	}()
	return func() float64 {
		close(done)
		<-ended
		return most
	}
}
