package rmproxy

import (
	"maps"
	"slices"
	"sync"
	"sync/atomic"

	"go.uber.org/zap"

	"github.com/canopy-scheduler/canopy/internal/server/loop"
	"github.com/canopy-scheduler/canopy/pkg/scheduler"
)

// effectSink passes the effects of one partition to the session. It implements loop.Sink.
type effectSink struct {
	p         *Proxy
	partition string
	log       *zap.Logger

	mu            sync.Mutex   // guards changes of pendingResets
	pendingResets atomic.Int32 // PartitionReset effects to come: the effects before the last of them are dropped
}

func (p *Proxy) newEffectSink(partition string) loop.Sink {
	s := &effectSink{p: p, partition: partition, log: p.log.With(zap.String("partition", partition))}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.effectSinks[partition] = s
	return s
}

// dropUntilReset makes every sink drop the effects of its partition up to the next
// PartitionReset (RMI-12). The caller must then reset the partitions (loop.Cluster.Reset).
func (p *Proxy) dropUntilReset() {
	p.mu.Lock()
	all := slices.Collect(maps.Values(p.effectSinks))
	p.mu.Unlock()
	for _, s := range all { // p.mu is not held: a sink that delivers takes the locks in the other order
		s.mu.Lock()
		s.pendingResets.Add(1)
		s.mu.Unlock()
	}
}

// Deliver passes the effects to the session, and waits while the session has too many undelivered
// ones.
func (t *effectSink) Deliver(effects []scheduler.Effect) {
	// The session is read first: effects that are valid now must not reach an RM that registers
	// in between.
	s := t.p.current()
	if len(effects) == 1 && s != nil && s.shim != nil && !s.waiting.Load().any.Load() {
		if e, ok := effects[0].(scheduler.Allocated); ok {
			if !t.resetting() {
				s.deliverPlacement(e)
			}
			return
		}
	}
	effects = t.forSession(effects)
	if len(effects) == 0 {
		return
	}
	switch {
	case s != nil:
		s.deliver(t.partition, effects)
	case t.p.ctx.Err() == nil:
		t.log.Warn("effects without a resource manager are not delivered", zap.Int("effects", len(effects)),
			zap.Stringer("first", effects[0]))
	}
}

// resetting reports whether the effects of the partition are dropped until it is reset (RMI-12).
func (t *effectSink) resetting() bool { return t.pendingResets.Load() > 0 }

// forSession returns the effects that the session delivers to the RM, and handles the others
// (RMI-12, RMI-51, RMI-52).
func (t *effectSink) forSession(effects []scheduler.Effect) []scheduler.Effect {
	t.mu.Lock()
	defer t.mu.Unlock()
	start, internal, timedOut, waits := 0, false, false, false
	for i, e := range effects {
		switch e := e.(type) {
		case scheduler.Refused:
			t.p.ignored[ignoredCommand].Add(1)
			t.log.Warn("refused", zap.String("what", e.Subject), zap.String("reason", e.Reason))
			internal = true
		case scheduler.Event:
			internal = true
			waits = waits || e.Kind == scheduler.EventNominated // the end of one that is not known changes nothing
			if s := t.p.current(); s != nil && e.Kind == scheduler.EventIgnored {
				s.countIgnored(e)
			}
		case scheduler.AskCancelled:
			if s := t.p.current(); s != nil && s.shim != nil {
				s.shim.refusals.forget(partitionKey{t.partition, e.Key})
			}
			internal = true
		case scheduler.NodeChanged, scheduler.QueueChanged, scheduler.OperatorActed:
			internal = true
		case scheduler.AsksWait:
			internal, waits = true, true
		case scheduler.AskTimedOut:
			timedOut = true
		case scheduler.PartitionReset:
			start = i + 1
			if t.resetting() {
				t.pendingResets.Add(-1)
			} else if s := t.p.current(); s != nil {
				s.dropUndelivered(t.partition)
			}
		}
	}
	effects = effects[start:]
	if t.resetting() {
		return nil
	}
	if s := t.p.current(); s != nil {
		if w := s.waiting.Load(); w != nil && (waits || w.any.Load()) {
			w.onEffects(t.partition, effects)
		}
	}
	switch {
	case internal:
		effects = withoutInternal(effects)
	case timedOut:
		effects = slices.Clone(effects)
	}
	if s := t.p.current(); timedOut && (s == nil || !s.legacy.used.Load()) {
		asksAsReleases(effects)
	}
	return effects
}

// withoutInternal is the effects that the RM gets, in a new slice.
func withoutInternal(effects []scheduler.Effect) (external []scheduler.Effect) {
	for _, e := range effects {
		if !scheduler.Internal(e) {
			external = append(external, e)
		}
	}
	return external
}

// asksAsReleases replaces the asks that ended with their gang by releases: the interface has no other message that
// says that an accepted ask is gone (GAN-10). The interface 1.0 to 1.5 has one (RMI-76).
func asksAsReleases(effects []scheduler.Effect) {
	for i, e := range effects {
		if e, ok := e.(scheduler.AskTimedOut); ok {
			effects[i] = askRelease(e)
		}
	}
}

// askRelease is the release that says that an ask ended with its gang.
func askRelease(e scheduler.AskTimedOut) scheduler.Released {
	return scheduler.Released{Key: e.Key, App: e.App, Type: scheduler.TimedOut, Message: e.Message}
}
