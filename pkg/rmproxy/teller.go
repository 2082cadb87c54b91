package rmproxy

import (
	"maps"
	"slices"
	"sync"

	"go.uber.org/zap"

	"github.com/canopy-scheduler/canopy/internal/loop"
	"github.com/canopy-scheduler/canopy/pkg/scheduler"
)

// teller takes the effects of one partition to the session. It is a loop.Sink.
type teller struct {
	p         *Proxy
	partition string
	log       *zap.Logger

	mu   sync.Mutex
	void int // Forgotten effects to come: all in front of the last of them is void
}

func (p *Proxy) newTeller(partition string) loop.Sink {
	t := &teller{p: p, partition: partition, log: p.log.With(zap.String("partition", partition))}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.tellers[partition] = t
	return t
}

// mute makes every teller drop what its partition said until it says Forgotten.
// Requires: the partitions are then told to forget.
func (p *Proxy) mute() {
	p.mu.Lock()
	all := slices.Collect(maps.Values(p.tellers))
	p.mu.Unlock()
	for _, t := range all { // p.mu is free: a teller that delivers takes the locks in the other order
		t.mu.Lock()
		t.void++
		t.mu.Unlock()
	}
}

// Deliver hands the effects to the session, and waits while the session has too many.
func (t *teller) Deliver(effects []scheduler.Effect) {
	if t.p.opt.Heard != nil {
		t.p.opt.Heard(t.partition, effects)
	}
	// Whose effects they are is asked first: what is found valid now must not reach an RM
	// that registers in between.
	s := t.p.current()
	effects = t.valid(effects)
	if len(effects) == 0 {
		return
	}
	switch {
	case s != nil:
		s.tell(t.partition, effects)
	case t.p.over.Err() == nil:
		t.log.Warn("effects without a resource manager to tell", zap.Int("effects", len(effects)),
			zap.Stringer("first", effects[0]))
	}
}

// valid returns the effects that are for the session. The rest is served here.
func (t *teller) valid(effects []scheduler.Effect) []scheduler.Effect {
	t.mu.Lock()
	defer t.mu.Unlock()
	start, ours := 0, false
	for i, e := range effects {
		switch e := e.(type) {
		case scheduler.Refused:
			t.p.ignored[ignoredCommand].Add(1)
			t.log.Warn("refused", zap.String("what", e.What), zap.String("reason", e.Reason))
			ours = true
		case scheduler.Noted:
			ours = true
			if s := t.p.current(); s != nil && e.What == scheduler.NoteIgnored {
				s.noted(e)
			}
		case scheduler.NodeChanged, scheduler.QueueChanged, scheduler.AskCancelled:
			ours = true
		case scheduler.Forgotten:
			start = i + 1
			if t.void > 0 {
				t.void--
			} else if s := t.p.current(); s != nil {
				s.forget(t.partition)
			}
		}
	}
	effects = effects[start:]
	switch {
	case t.void > 0:
		return nil
	case ours:
		return slices.DeleteFunc(slices.Clone(effects), scheduler.Internal)
	}
	return effects
}
