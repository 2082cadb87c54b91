package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/signal"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"go.uber.org/zap"

	"github.com/canopy-scheduler/canopy/internal/server/logging"
)

const (
	// terminationLimit bounds a termination. Then the steps that are stuck are logged and
	// the process ends; together with reportLimit that is within 5 s of the signal.
	terminationLimit = 4500 * time.Millisecond
	// reportLimit bounds the writing of the last line: writing to standard error may
	// be stuck.
	reportLimit = 250 * time.Millisecond
)

// termination bounds the time in which the process ends, whatever is stuck: a reader, a resource
// manager, a disk, a partition, the log (RMI-69).
type termination struct {
	limit  time.Duration
	exit   func(code int)
	report func(stuck []string) // within a bound of its own; nil: nothing is reported

	mu      sync.Mutex
	steps   []string        // have begun and have not ended
	closing func() []string // further ones, of the server; nil: none
	timer   *time.Timer
	expired bool
	ended   bool // begin has no effect any more
}

func newTermination() *termination { return &termination{limit: terminationLimit, exit: os.Exit} }

// begin starts the timer of the termination. Calls after the first one, or after the end, have no effect.
func (t *termination) begin() {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.timer == nil && !t.ended {
		t.timer = time.AfterFunc(t.limit, t.expire)
	}
}

// step calls do, a part of the termination that may get stuck.
func (t *termination) step(name string, do func()) {
	t.mu.Lock()
	t.steps = append(t.steps, name)
	t.mu.Unlock()
	do()
	t.mu.Lock()
	defer t.mu.Unlock()
	if i := slices.Index(t.steps, name); i >= 0 {
		t.steps = slices.Delete(t.steps, i, i+1)
	}
}

// expire reports the steps that are stuck and ends the process.
func (t *termination) expire() {
	t.mu.Lock()
	stuck, report := slices.Clone(t.steps), t.report
	if t.closing != nil {
		stuck = append(stuck, t.closing()...)
	}
	t.expired = true
	t.mu.Unlock()
	if report != nil {
		report(stuck)
	}
	t.exit(exitStuck)
}

// setReport sets the function that writes the last line.
func (t *termination) setReport(report func(stuck []string)) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.report = report
}

// setClosing sets the function that returns the parts of the server that have not ended.
func (t *termination) setClosing(closing func() []string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.closing = closing
}

// end stops the timer: the termination was in time.
func (t *termination) end() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.ended = true
	if t.timer != nil {
		t.timer.Stop()
	}
}

// repeatedWithin is the time in which a repetition of the first signal does not count as a second one: timeout and
// other programs send a signal to the process and then to its group.
const repeatedWithin = 500 * time.Millisecond

// untilSignal returns a context that ends with the first SIGTERM or SIGINT. The second one ends the
// process at once, with 128 plus the number of the signal, unless it repeats the first within repeatedWithin, by the
// clock now. It calls exit for that, because the default action of a signal does not apply to the first process of a
// container. SIGPIPE does not end the process: scheduling goes on without a reader of the log.
func untilSignal(exit func(code int), now func() time.Time) (ctx context.Context, stop func()) {
	ctx, cancel := context.WithCancel(context.Background())
	signals, pipes := make(chan os.Signal, 2), make(chan os.Signal, 1)
	signal.Notify(signals, syscall.SIGTERM, syscall.SIGINT)
	signal.Notify(pipes, syscall.SIGPIPE)
	over, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		var first os.Signal // nil: none has come
		var came time.Time
		for {
			select {
			case <-over:
				return
			case s := <-signals:
				number, ok := s.(syscall.Signal)
				switch {
				case first == nil:
					first, came = s, now()
				case ok && (s != first || now().Sub(came) >= repeatedWithin):
					exit(exitSignal + int(number))
				}
				cancel()
			}
		}
	}()
	return ctx, func() {
		signal.Stop(signals)
		signal.Stop(pipes)
		close(over)
		<-ended
		cancel()
	}
}

// reportStuck returns a function that writes the last line of the log, within reportLimit.
func reportStuck(log *logging.Log) func(stuck []string) {
	return func(stuck []string) {
		log.Error("termination took too long: the process ends", zap.String("stuck", stuckText(stuck)),
			zap.Int("exitCode", exitStuck))
		_ = log.Flush(reportLimit)
	}
}

// printWithin writes a line. It returns after limit even if the write has not.
func printWithin(limit time.Duration, out io.Writer, words ...any) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		fmt.Fprintln(out, words...)
	}()
	late := time.NewTimer(limit)
	defer late.Stop()
	select {
	case <-done:
	case <-late.C:
	}
}

// stuckText lists the steps that are stuck, for a log line.
func stuckText(stuck []string) string {
	if len(stuck) == 0 {
		return "no known step"
	}
	return strings.Join(stuck, ", ")
}

// Further exit codes of serve.
const (
	exitStuck  = 3   // the termination took too long and was forced
	exitSignal = 128 // plus the number of the second signal, which ended the process at once
)
