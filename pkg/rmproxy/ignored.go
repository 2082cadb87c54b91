package rmproxy

import (
	"sync/atomic"

	"go.uber.org/zap"

	"github.com/canopy-scheduler/canopy/pkg/scheduler"
)

// ignored is a kind of thing that an RM sends, that changes nothing, and that the interface has no
// answer for. It is counted, and logged once for a kind and session.
type ignored uint8

const (
	ignoredEmpty       ignored = iota // an entry of a list without content
	ignoredField                      // a field that the interface does not know any more
	ignoredInvalid                    // an element that cannot become a command, such as one with an ID that is too long
	ignoredPartition                  // an element for a partition that there is not
	ignoredTag                        // a tag whose value makes no sense
	ignoredCommand                    // the core refused it: an unknown node, a quota tag that makes no sense
	ignoredRelease                    // the release of something unknown
	ignoredApplication                // the removal of an unknown application
	ignoredChange                     // a known ask or allocation with other content than its amounts
	ignoredKinds
)

func (k ignored) String() string {
	return [...]string{
		"empty-entry", "unknown-field", "invalid-element", "unknown-partition", "invalid-tag", "refused-command",
		"unknown-release", "unknown-application", "changed-content",
	}[k]
}

// ignoredCounts counts, of all sessions.
type ignoredCounts [ignoredKinds]atomic.Uint64

// ignore counts something, and logs it if it is the first of its kind in the session.
func (s *session) ignore(k ignored, fields ...zap.Field) {
	s.p.ignored[k].Add(1)
	if s.ignoredLogged[k].Swap(true) {
		return
	}
	s.log.Warn("ignored: the interface has no answer for it; more of the kind are counted and not logged",
		append(fields, zap.Stringer("kind", k))...)
}

// countIgnored counts what the core has ignored.
func (s *session) countIgnored(e scheduler.Event) {
	kind := ignoredRelease
	switch e.Ignored {
	case scheduler.IgnoredRemoval:
		kind = ignoredApplication
	case scheduler.IgnoredChange:
		kind = ignoredChange
	}
	s.ignore(kind, zap.String("application", string(e.Subject.App)), zap.String("key", string(e.Subject.Key)), zap.String("reason", e.Message))
}

// Counts are what there is to count besides effects.
type Counts struct {
	Disconnects   uint64            // times that an RM had no stream for disconnectGrace
	SilentStreams int               // whose first message has not come
	SilentEnded   uint64            // of these, ended in favour of newer ones
	Ignored       map[string]uint64 // by kind
}

// Counts says how often what has happened since the start.
func (p *Proxy) Counts() Counts {
	c := Counts{Disconnects: p.disconnects.Load(), Ignored: map[string]uint64{}}
	for k := range ignoredKinds {
		c.Ignored[k.String()] = p.ignored[k].Load()
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	c.SilentStreams, c.SilentEnded = len(p.silent.streams), p.silent.ended
	return c
}
