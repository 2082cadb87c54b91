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

	"github.com/canopy-scheduler/canopy/internal/lab/bench/report"
	"github.com/canopy-scheduler/canopy/internal/lab/measure"
)

// readersSpec describes the readers of a suite, which are a separate process.
type readersSpec struct {
	Pollers int `json:"pollers"` // each requests the paths in turn, once a second, at random times
	Stalled int `json:"stalled"` // connections that request a large list and do not read it
	Pages   int `json:"pages"`   // open pages, which read again what they show when it has changed
	Phases  int `json:"phases"`  // phases with readers, and as many without
	Seconds int `json:"seconds"` // duration of a phase
}

// keptAsks is the number of temporary allocations: each further ask is followed by a release.
const keptAsks = 100

// measureReaders measures the time from ask to allocation, alternately without and with readers. Which comes first
// changes too, so that a machine that becomes slower does not show as readers. Server, readers and client are separate
// processes, and the readers have the lowest priority: they stand for other machines.
func measureReaders(ctx context.Context, s *stream, r *result, j Job) (err error) {
	j.raisePriority()
	server, err := startServer(ctx, j.Server)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, server.stop()) }()
	j.raisePriorityAboveServer()
	w := &readersRun{stream: s, spec: j.Readers, spawn: j.spawner(), server: server, next: s.spec.Asks, result: r}
	open := func(ctx context.Context, s *stream, e *recorder) (apiClient, error) {
		return dialGRPC(ctx, s, e, server.grpc)
	}
	if w.loadedScheduler, err = loadWith(ctx, s, s.spec.Asks, open); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, w.close()) }() // other suites check the accounting
	if _, err := w.fill(ctx, s.spec.Asks); err != nil {
		return err
	}
	// The first snapshot and the first text of each list are made before the measurement.
	for _, e := range w.pollers().Poll.endpoints() {
		if err := fetch(ctx, server.http, e.path); err != nil {
			return err
		}
	}
	runtime.GC()
	for i := range 2 * w.spec.Phases { // without, with, with, without
		var err error
		if i%4 == 0 || i%4 == 3 {
			err = w.phase(ctx, withoutReadersTimes, &w.withoutReaders, nil)
		} else {
			err = w.phase(ctx, withReadersTimes, &w.withReaders, w.pollers())
		}
		if err != nil {
			return err
		}
	}
	return w.enter()
}

// readersRun is a server, a client that sends asks, and readers.
type readersRun struct {
	*loadedScheduler
	stream  *stream
	spec    readersSpec
	spawn   func(context.Context, Job) (Answer, error)
	server  *serverProcess
	result  *result
	next    int   // ask
	running []int // temporary allocations; guarded by the lock of the recorder

	withoutReaders, withReaders phaseTotals
	polled                      report.Sample // sums of the results of the pollers
}

// phaseTotals are the totals of the phases of one kind.
type phaseTotals struct {
	cpu, wall time.Duration // of the server
	peak      float64       // peak of its memory in bytes
}

// pollers returns the job of a process of readers.
func (w *readersRun) pollers() *Job {
	p := &pollJob{
		Address: w.server.http, Pollers: w.spec.Pollers, Stalled: w.spec.Stalled, Seconds: w.spec.Seconds,
		Nodes: len(w.stream.nodes), Applications: len(w.stream.apps), Node: string(w.stream.nodes[0].ID),
		Ask: string(w.stream.key(0)), Application: string(w.stream.apps[0].ID), Pages: w.spec.Pages,
		Queue: string(w.stream.apps[0].Queue), User: w.stream.apps[0].User,
		Allocations: w.stream.spec.Asks, Extra: 2 * keptAsks, Seed: w.stream.seed,
	}
	p.Queues, _ = w.stream.spec.Queues()
	p.Queues++ // root
	return &Job{Measure: Poll, Poll: p}
}

// phase sends asks at the rate of the workload, with the readers of a job; nil: none.
func (w *readersRun) phase(ctx context.Context, family string, to *phaseTotals, job *Job) error {
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
		// The process is running and has sent its first requests before the first ask.
		measure.PreciseSleep(readersLeadTime)
	}
	schedule := w.stream.schedule(int(w.stream.spec.Rate * float64(w.spec.Seconds)))
	schedule.due = schedule.due[:min(len(schedule.due), len(w.stream.draws)-w.next)]
	first, took := w.next, w.result.family(family)
	w.setObserver(func(number int, allocated bool) {
		if allocated && number >= first {
			took.Add(schedule.late(number - first))
			w.running = append(w.running, number)
		}
	})
	peak := w.watchMemory()
	began := time.Now()
	before, err := w.server.cpu()
	if err != nil {
		return err
	}
	err = schedule.play(ctx, func(from, next int) (int, error) {
		w.mu.Lock()
		ends := slices.Clone(w.running[:max(0, len(w.running)-keptAsks)]) // only allocated asks can be released
		w.running = w.running[len(ends):]
		w.mu.Unlock()
		return next - from, w.sendAsks(first+from, first+next, ends)
	})
	w.next += len(schedule.due)
	if err == nil {
		err = w.await(ctx, "all asks of a phase to have their node", func() bool { return w.placed == len(schedule.due) })
	}
	after, bad := w.server.cpu()
	to.cpu, to.wall, to.peak = to.cpu+after-before, to.wall+time.Since(began), max(to.peak, peak())
	err = errors.Join(err, bad)
	o := <-polled
	if w.polled == nil {
		w.polled = report.Sample{}
	}
	for name, n := range o.answer.Sample {
		w.polled[name] += n
	}
	for family, text := range o.answer.Times {
		t, bad := measure.DecodeHistogram(text)
		if bad != nil {
			return bad
		}
		w.result.family(family).Merge(t)
	}
	return errors.Join(err, o.err)
}

// readersLeadTime is the time for which the readers run before the first ask.
const readersLeadTime = 300 * time.Millisecond

// enter puts the results into the sample.
func (w *readersRun) enter() error {
	to := w.result.sample
	quiet, read := w.result.family(withoutReadersTimes), w.result.family(withReadersTimes)
	for _, x := range []struct {
		metric  string
		percent float64
	}{{"readersAddP50", 50}, {"readersAddP99", 99}} {
		more := measure.Micros(read.Percentile(x.percent) - quiet.Percentile(x.percent))
		to[x.metric] = max(0, more)
	}
	to["readersP50Ratio"] = float64(read.Percentile(50)) / float64(max(1, quiet.Percentile(50)))
	to["serverCPUWithoutReaders"] = w.withoutReaders.cpu.Seconds() / w.withoutReaders.wall.Seconds()
	to["serverCPU"] = w.withReaders.cpu.Seconds() / w.withReaders.wall.Seconds()
	to["readerCPU"] = w.polled["readerCPU"] / w.withReaders.wall.Seconds()
	to["readersMemory"] = max(0, w.withReaders.peak-w.withoutReaders.peak)
	for _, name := range []string{"answers", "answersRefused", "answersFailed", "answersWrong", "answerBytes",
		"pageChanges", "connectionsCut"} {
		to[name] = w.polled[name]
	}
	if all := to["answers"] + to["answersRefused"] + to["answersFailed"] + to["answersWrong"]; all > 0 {
		to["answersCorrect"] = to["answers"] / all
	}
	if w.spec.Pollers+w.spec.Pages > 0 && to["answers"] == 0 {
		return fmt.Errorf("no reader got an answer: %v refused, %v failed, %v wrong", to["answersRefused"],
			to["answersFailed"], to["answersWrong"])
	}
	return nil
}

// fetch reads an answer and discards it.
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

// memoryPollInterval is the interval of memory readings for the peak.
const memoryPollInterval = 50 * time.Millisecond

// watchMemory reads the memory of the server until the returned function is called, which returns the
// peak in bytes.
func (w *readersRun) watchMemory() (peak func() float64) {
	var most float64
	done, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		t := time.NewTicker(memoryPollInterval)
		defer t.Stop()
		for {
			if bytes, err := w.server.memory("VmRSS"); err == nil { // otherwise the phase fails elsewhere
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
