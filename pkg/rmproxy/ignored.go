package rmproxy

import (
	"sync/atomic"

	"go.uber.org/zap"

	"github.com/canopy-scheduler/canopy/pkg/scheduler"
)

// ignored is a kind of element of a message that changes nothing, or not what it says, and that the interface has no
// answer for. Each is counted; the first of a kind is logged for each session.
type ignored uint8

const (
	ignoredEmpty        ignored = iota // an entry of a list without content
	ignoredField                       // a field that the interface does not have any more
	ignoredInvalid                     // an element that cannot become a command, such as one with an ID that is too long
	ignoredPartition                   // an element for an unknown partition
	ignoredTag                         // a tag with an invalid value
	ignoredCommand                     // a command that the core refused: an unknown node, an invalid quota tag
	ignoredRelease                     // the release of an unknown allocation
	ignoredApplication                 // the removal of an unknown application
	ignoredChange                      // a known ask or allocation with other content than its amounts
	ignoredTaskGroup                   // a task group of an ask that its application does not have
	ignoredRequiredNode                // a required node on which an ask cannot be placed as things are
	ignoredKinds
)

func (k ignored) String() string {
	return [...]string{
		"empty-entry", "unknown-field", "invalid-element", "unknown-partition", "invalid-tag", "refused-command",
		"unknown-release", "unknown-application", "changed-content",
		"unknown-task-group", "unmet-required-node",
	}[k]
}

// ignoredCounts counts by kind, for all sessions.
type ignoredCounts [ignoredKinds]atomic.Uint64

// ignore counts an element, and logs it if it is the first of its kind in the session (RMI-50,
// RMI-51).
func (s *session) ignore(k ignored, fields ...zap.Field) {
	s.p.ignored[k].Add(1)
	if s.ignoredLogged[k].Swap(true) {
		return
	}
	s.log.Warn("ignored: the interface has no answer for it; more of the kind are counted and not logged",
		append(fields, zap.Stringer("kind", k))...)
}

// countIgnored counts an element that the core ignored.
func (s *session) countIgnored(e scheduler.Event) {
	kind := ignoredRelease
	switch e.Ignored {
	case scheduler.IgnoredRemoval:
		kind = ignoredApplication
	case scheduler.IgnoredChange:
		kind = ignoredChange
	case scheduler.IgnoredTaskGroup:
		kind = ignoredTaskGroup
	case scheduler.UnmetRequiredNode:
		kind = ignoredRequiredNode
	}
	s.ignore(kind, zap.String("application", string(e.Subject.App)), zap.String("key", string(e.Subject.Key)),
		zap.String("reason", e.Message))
}

// Counts are counters for metrics.
type Counts struct {
	Disconnects   uint64            // how often an RM had no stream for disconnectGrace
	Replacements  uint64            // how often an RM registered in the place of another
	SilentStreams int               // open streams without a first message
	SilentEnded   uint64            // silent streams that were ended in favour of newer ones
	Ignored       map[string]uint64 // by kind
}

// Counts returns the counters since the start of the process.
func (p *Proxy) Counts() Counts {
	c := Counts{Disconnects: p.disconnects.Load(), Ignored: map[string]uint64{}}
	for k := range ignoredKinds {
		c.Ignored[k.String()] = p.ignored[k].Load()
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	c.Replacements = p.replacements
	c.SilentStreams, c.SilentEnded = len(p.silent.streams), p.silent.ended
	return c
}
