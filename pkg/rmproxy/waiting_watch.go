package rmproxy

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"go.uber.org/zap"

	"github.com/canopy-scheduler/canopy/internal/server/auth"
	"github.com/canopy-scheduler/canopy/internal/server/cpushare"
	"github.com/canopy-scheduler/canopy/internal/server/loop"
	"github.com/canopy-scheduler/canopy/pkg/hints"
	"github.com/canopy-scheduler/canopy/pkg/objects"
	"github.com/canopy-scheduler/canopy/pkg/scheduler"
)

// waitingStatesRequest names the message in errors and log lines.
const waitingStatesRequest = "WaitingStatesRequest"

// waitingWatch is the stream of hints of a session (RMI-85 to RMI-87). It implements hints.Watch.
type waitingWatch struct {
	session *session
	states  *waitingStates
	ctx     context.Context // ends with the stream; its cause says why
	cancel  context.CancelCauseFunc
}

// WatchWaitingStates implements hints.Source.
func (p *Proxy) WatchWaitingStates(ctx context.Context, rm string, serve func(hints.Watch) error) error {
	if err := p.checkRM(ctx, rm); err != nil {
		auth.LogRefusal(p.log, clientOf(ctx).address, waitingStatesRequest, err)
		return toStatus(err)
	}
	s, err := p.session(rm, waitingStatesRequest)
	if err == nil && s.shim != nil {
		err = errOtherAPI(s.rm, "in process")
	}
	if err != nil {
		return toStatus(err)
	}
	w := &waitingWatch{session: s, states: newWatchedStates()}
	w.ctx, w.cancel = context.WithCancelCause(ctx)
	defer context.AfterFunc(p.ctx, func() { w.cancel(ErrClosed) })()
	if !s.attachWatch(w) {
		return toStatus(context.Cause(s.ctx))
	}
	defer s.detachWatch(w)
	p.untrackOther(ctx)
	if !p.spawn(func() { w.cancel(w.serve(serve)) }) {
		return toStatus(ErrClosed)
	}
	<-w.ctx.Done() // only the return of the handler ends a write that blocks
	cause := context.Cause(w.ctx)
	s.log.Debug("stream ended", zap.String("stream", waitingStatesRequest), zap.Error(cause))
	return toStatus(cause)
}

// attachWatch makes w the stream of hints, and ends the one that it replaces; false: the session is over.
func (s *session) attachWatch(w *waitingWatch) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ended() {
		return false
	}
	if s.watch != nil {
		s.watch.cancel(errReplaced)
	}
	s.watch = w
	s.waiting.Store(w.states)
	return true
}

// detachWatch removes a stream of hints that has ended, unless it was replaced before.
func (s *session) detachWatch(w *waitingWatch) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.watch == w {
		s.watch = nil
		s.waiting.Store(nil)
	}
}

// serve sends the states. The error ends the stream, a panic is one: no interceptor covers its goroutine (RMI-6).
func (w *waitingWatch) serve(serve func(hints.Watch) error) (err error) {
	defer func() {
		if r := recover(); r != nil {
			w.session.p.log.Error("panic in a stream", zap.String("stream", waitingStatesRequest), zap.Any("panic", r),
				zap.Stack("stack"))
			err = errors.New("the scheduler failed to send waiting states")
		}
	}()
	if err := w.addInitial(); err != nil {
		return err
	}
	return cmp.Or(serve(w), errFinished)
}

// addInitial adds the states that there are. States that change meanwhile are noted already.
func (w *waitingWatch) addInitial() error {
	cluster := w.session.p.cluster
	for _, name := range cluster.Partitions() {
		l, ok := cluster.Partition(name)
		if !ok {
			continue // a reload has just removed it
		}
		snap, err := l.SnapshotOnce(w.ctx)
		switch {
		case errors.Is(err, loop.ErrEnded):
			continue
		case err != nil:
			return cmp.Or(context.Cause(w.ctx), err)
		}
		w.states.addInitial(waitingAsksOf(name, snap))
	}
	w.states.endInitial()
	return nil
}

// waitingAsksOf returns the asks of a partition that have a waiting state or a nomination.
func waitingAsksOf(partition string, snap *scheduler.Snapshot) (all []hints.Change) {
	slot := cpushare.Readers.Acquire(context.Background()) // nobody would recover its end
	defer slot.Release()
	var walk func(q *scheduler.QueueView)
	walk = func(q *scheduler.QueueView) {
		for child := range q.Children.All() {
			walk(child)
		}
		for app := range q.Applications.All() {
			slot.Yield()
			if app.Pending.IsZero() {
				continue
			}
			for x := range app.Allocations.All() {
				slot.Yield()
				if x.Node == "" && (x.Waiting.State != objects.WaitUnreported || x.Nominated != "") {
					all = append(all, hints.Change{Partition: partition, Nominated: x.Nominated,
						WaitingAsk: scheduler.WaitingAsk{Ask: x.Ask, State: x.Waiting.State,
							Blocked: scheduler.PendingReason(x.Waiting.Blocked)}})
				}
			}
		}
	}
	walk(snap.Root)
	return all
}

// Context implements hints.Watch.
func (w *waitingWatch) Context() context.Context { return w.ctx }

// Changed implements hints.Watch.
func (w *waitingWatch) Changed() <-chan struct{} { return w.states.wake }

// Next implements hints.Watch.
func (w *waitingWatch) Next() (hints.Change, bool) { return w.states.next() }

// InitialComplete implements hints.Watch.
func (w *waitingWatch) InitialComplete() bool { return w.states.initialComplete() }

// Send implements hints.Watch. The stream ends if the message waits too long for the client to read (RMI-87).
func (w *waitingWatch) Send(send func() error) error {
	limit := w.session.p.opt.Limits.UndeliveredTimeout
	timer := time.AfterFunc(limit, func() {
		w.cancel(fmt.Errorf("%w: waiting states were not read for %v", errNotReading, limit))
	})
	defer timer.Stop()
	return send()
}
