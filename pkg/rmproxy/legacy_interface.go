package rmproxy

import (
	"slices"
	"sync/atomic"

	"go.uber.org/zap"

	"github.com/canopy-scheduler/canopy/internal/server/wire"
	"github.com/canopy-scheduler/canopy/pkg/scheduler"
)

// legacyInterface says whether an RM uses the scheduler interface 1.0 to 1.5. It is known from the first field
// that 1.9 does not have, and holds until the RM registers again: answers that wait for a stream, and a stream that
// is opened anew, are in the language of the streams before (RMI-73).
type legacyInterface struct {
	used      atomic.Bool
	reports   atomic.Bool // it has sent allocations in a message of their own, as 1.4 and 1.5 do
	readiness nodeReadiness
}

// noteLegacy notes what a message says about the interface of the RM. It is called before the message has any
// effect, so that each answer to it is in the right language.
func (s *session) noteLegacy(m *request) {
	if m.allocations.Legacy || m.legacyNodes != nil {
		s.useLegacyInterface(m.kind)
	}
	if len(m.allocations.Allocations) > 0 && !s.legacy.reports.Load() {
		s.legacy.reports.Store(true)
	}
}

func (s *session) useLegacyInterface(k streamKind) {
	if s.legacy.used.Swap(true) {
		return
	}
	s.log.Info("the resource manager uses the scheduler interface 1.0 to 1.5: it is answered in that form",
		zap.Stringer("stream", k))
}

// encodeLegacy is encode for the interface 1.0 to 1.5 (RMI-76).
func (s *session) encodeLegacy(m *wire.Response, batch []outboundEffect) {
	for _, o := range batch {
		switch e := o.effect.(type) {
		case scheduler.Allocated:
			m.LegacyAllocated(e.Ask, e.Node)
		case scheduler.Released:
			m.LegacyReleased(e, s.partitionName(o.partition), reason(e.Message))
		case scheduler.AskTimedOut:
			m.LegacyAskReleased(askRelease(e), s.partitionName(o.partition), reason(e.Message))
		case scheduler.AskRejected:
			if e.Reported && s.legacy.reports.Load() {
				m.AskRejected(e, reason(e.Reason))
			} else {
				m.LegacyAskRejected(e, reason(e.Reason))
			}
		}
	}
}

// existingTag marks an allocation that came with its node.
const existingTag = "canopy.scheduler/existing-allocation"

// withoutExisting returns the effects without the acceptance of allocations that came with their node: the
// interface 1.0 to 1.5 answers these with the node (RMI-75).
func (s *session) withoutExisting(effects []scheduler.Effect) []scheduler.Effect {
	existing := func(e scheduler.Effect) bool {
		a, ok := e.(scheduler.Allocated)
		return ok && a.Ask.Tags()[existingTag] != ""
	}
	if !s.legacy.used.Load() || !slices.ContainsFunc(effects, existing) {
		return effects
	}
	return slices.DeleteFunc(slices.Clone(effects), existing)
}

// legacyUUID is the UUID that a message of the interface 1.0 to 1.5 gives an allocation; empty: none.
func legacyUUID(l *wire.LegacyFields) string {
	switch {
	case l == nil:
		return ""
	case l.AllocationID != "":
		return l.AllocationID
	}
	return l.UUID
}
