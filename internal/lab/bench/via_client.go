package bench

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"time"

	"github.com/canopy-scheduler/canopy/internal/lab/bench/workload"
	"github.com/canopy-scheduler/canopy/internal/lab/measure"
)

// openClient starts a scheduler and registers a client.
func openClient(ctx context.Context, s *stream, rec *recorder) (apiClient, error) {
	if s.spec.Via == workload.ViaGRPC {
		return openGRPC(ctx, s, rec)
	}
	return openInProcess(s, rec)
}

// loadedScheduler is a scheduler that has all queues, applications and drained nodes.
type loadedScheduler struct {
	apiClient
	*recorder
	stream    *stream
	sentinels int
}

// loadViaClient opens a client and sends applications, nodes and that many asks.
func loadViaClient(ctx context.Context, s *stream, asks int) (*loadedScheduler, error) {
	return loadWith(ctx, s, asks, openClient)
}

// loadWith does what loadViaClient does, with a given open function.
func loadWith(
	ctx context.Context, s *stream, asks int, open func(context.Context, *stream, *recorder) (apiClient, error),
) (l *loadedScheduler, err error) {
	l = &loadedScheduler{recorder: newRecorder(), stream: s}
	if l.apiClient, err = open(ctx, s, l.recorder); err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, l.close())
		}
	}()
	for _, m := range s.appMessages() {
		if err := l.sendApplication(m); err != nil {
			return nil, err
		}
	}
	if err := l.await(ctx, "the applications", func() bool { return l.apps == len(s.apps) }); err != nil {
		return nil, err
	}
	for first := 0; first < asks; first += messageBatch {
		if err := l.sendAsks(first, min(first+messageBatch, asks), nil); err != nil {
			return nil, err
		}
	}
	for _, m := range s.nodeMessages() {
		if err := l.sendNode(m); err != nil {
			return nil, err
		}
	}
	if err := l.await(ctx, "the nodes", func() bool { return l.nodes == len(s.nodes) }); err != nil {
		return nil, err
	}
	return l, l.awaitSentinel(ctx)
}

// awaitSentinel waits until all earlier asks are processed.
func (l *loadedScheduler) awaitSentinel(ctx context.Context) error {
	l.sentinels++
	if err := l.sendAllocation(sentinelMessage(l.sentinels)); err != nil {
		return err
	}
	return l.await(ctx, "the last ask to be taken", func() bool { return l.rejectedSentinels == l.sentinels })
}

// fill makes all nodes schedulable and waits until want asks are placed.
func (l *loadedScheduler) fill(ctx context.Context, want int) (measure.Usage, error) {
	open := l.stream.openMessage()
	result := make(chan measure.Usage, 1)
	count := 0
	runtime.GC()
	var before measure.Reading
	l.setObserver(func(number int, allocated bool) {
		count++
		if allocated && count == want {
			// Read here and not by the waiting goroutine: its wake-up is not part of a decision.
			var s measure.Usage
			s.Add(before, want)
			result <- s
		}
	})
	before = measure.Read()
	if err := l.sendNode(open); err != nil {
		return measure.Usage{}, err
	}
	err := l.await(ctx, fmt.Sprintf("%d asks to have their node", want), func() bool { return l.placed >= want })
	if err != nil {
		return measure.Usage{}, err
	}
	return <-result, nil
}

// coreOutcome returns the placements of the core alone, which are the same over every interface.
func (s *stream) coreOutcome() (placements, error) {
	p := make(placements, 0, s.spec.Asks)
	t := newDriver(newCore(s))
	if err := t.load(s); err != nil {
		return nil, err
	}
	t.fill(&p, nil)
	if len(p) == 0 {
		return nil, errors.New("nothing could be placed")
	}
	return p, nil
}

// fillViaClient does what fillCore does, over an interface.
func fillViaClient(ctx context.Context, s *stream, r *result, rounds int) error {
	p, err := s.coreOutcome()
	if err != nil {
		return err
	}
	s.enterOutcome(p, r.sample)
	var total measure.Usage
	for round := 0; round == 0 || total.Decisions < minDecisions && round < rounds; round++ {
		l, err := loadViaClient(ctx, s, s.spec.Asks)
		if err != nil {
			return err
		}
		one, err := l.fill(ctx, len(p))
		if err == nil && round == 0 && len(p) < s.spec.Asks {
			r.sample["idleCPU"] = measure.IdleShare(idleWindow)
		}
		if err := errors.Join(err, l.close()); err != nil {
			return err
		}
		if round > 0 || s.spec.Asks > warmUp || rounds == 1 { // else it was the warm-up
			total.Join(one)
		}
	}
	enterUsage(&total, r.sample, unpaced)
	return nil
}

// schedule has the due times of events: at random, at a rate.
type schedule struct {
	begin time.Time
	due   []time.Duration
}

func (s *stream) schedule(events int) schedule {
	rng := s.rng(seedPace)
	due, at := make([]time.Duration, events), 0.0
	for i := range due {
		at += rng.ExpFloat64() / s.spec.Rate
		due[i] = time.Duration(at * float64(time.Second))
	}
	return schedule{due: due}
}

// late returns the time since an event was due.
func (t *schedule) late(event int) time.Duration { return time.Since(t.begin) - t.due[event] }

// sendRetryInterval is the pause of play when a due event cannot be sent yet.
const sendRetryInterval = 100 * time.Microsecond

// play calls send for the events that are due, several together when it is late, until all are sent.
// send returns how many it has sent; the others stay due.
func (t *schedule) play(ctx context.Context, send func(first, next int) (sent int, err error)) error {
	runtime.LockOSThread() // the sleep of a thread is more precise than a timer
	defer runtime.UnlockOSThread()
	t.begin = time.Now()
	sent := time.Duration(0) // time of the last send
	for first := 0; first < len(t.due); {
		if err := ctx.Err(); err != nil {
			return err
		}
		now := time.Since(t.begin)
		next := first
		for next < len(t.due) && t.due[next] <= now {
			next++
		}
		if next == first {
			measure.PreciseSleep(t.due[first] - now)
			sent = now
			continue
		}
		n, err := send(first, next)
		switch {
		case err != nil:
			return err
		case n > 0:
			sent = now
		case now-sent > answerTimeout:
			return fmt.Errorf("nothing could be sent for %v", answerTimeout)
		default:
			measure.PreciseSleep(sendRetryInterval)
		}
		first += n
	}
	return nil
}
