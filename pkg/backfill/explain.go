package backfill

import (
	"fmt"
	"time"

	"github.com/canopy-scheduler/canopy/pkg/feasibility"
	"github.com/canopy-scheduler/canopy/pkg/objects"
	"github.com/canopy-scheduler/canopy/pkg/runtimes"
)

// Reason says why an ask is not backfilled.
type Reason uint8

// The reasons. Those up to NotBounded are of the ask, whatever is reserved.
const (
	Declined            Reason = iota + 1 // its tag says so
	RequiresNode                          // it requires one node
	MayNotEnd                             // it may not be preempted
	HasBudget                             // a disruption budget selects it
	HasAffinity                           // it has constraints on other allocations
	NotBounded                            // its queue enforces no bound of its run time
	ReservedHasAffinity                   // a reserved ask has constraints on other allocations
	NoKnownTime                           // nothing says when the reservation can be used
	TooLong                               // it ends later than that
	NotAllowed                            // another allocation refuses it on the node
	NoRoom                                // a quota or limit has no room beside the reserved asks
	NotYet                                // it may be, at its turn, if the RM accepts it there
)

// reasons has the code of each reason, and what follows "it may not use what the node holds".
var reasons = [...]struct{ code, text string }{
	Declined:            {"declined", "it declines backfill"},
	RequiresNode:        {"requiresNode", "it requires a node"},
	MayNotEnd:           {"mayNotEnd", "it may not be preempted"},
	HasBudget:           {"hasBudget", "a disruption budget selects it"},
	HasAffinity:         {"hasAffinity", "it has affinity or spread constraints"},
	NotBounded:          {"notBounded", "no bound of its run time is enforced"},
	ReservedHasAffinity: {"reservedHasAffinity", "a reserved ask has affinity or spread constraints"},
	NoKnownTime:         {"noKnownTime", "nothing says when that can be used"},
	TooLong:             {"tooLong", "that can be used now"},
	NotAllowed:          {"notAllowed", "another allocation refuses the node"},
	NoRoom:              {"noRoom", "a quota or limit has no room for both"},
	NotYet:              {"notYet", ""},
}

func (r Reason) String() string { return reasons[r].code }

// MarshalText implements encoding.TextMarshaler.
func (r Reason) MarshalText() ([]byte, error) { return []byte(r.String()), nil }

// UnmarshalText implements encoding.TextUnmarshaler: commands read the answers of REST.
func (r *Reason) UnmarshalText(text []byte) error {
	for i := range reasons {
		if i > 0 && reasons[i].code == string(text) {
			*r = Reason(i)
			return nil
		}
	}
	return fmt.Errorf("%q is no reason why an ask is not backfilled", text)
}

// Refusal says why a pending ask does not use what is reserved on a node that it would fit otherwise (RES-17).
type Refusal struct {
	Reason Reason                `json:"reason"`
	Node   objects.NodeID        `json:"nodeID"`
	Key    objects.AllocationKey `json:"allocationKey"` // of the ask with the reservation; of a gang, its first member
	// when the reservation can be used at the latest; missing: nothing says when, or it could be now
	FitsAt objects.Timestamp `json:"fitsAt,omitzero"`
	// when the ask would end at the latest if it began now; missing: no bound of it is enforced
	EndsAt objects.Timestamp `json:"endsAt,omitzero"`
	// the longest bound with which it would end in time, in nanoseconds, of whole seconds; missing: it does end in time,
	// or no bound is short enough
	LongestBound int64 `json:"longestBound,omitempty"`
}

// Refusal returns why the pending x is not backfilled: on the reserved node, of those that it would fit otherwise, that
// is nearest to taking it. nil: the configuration has no backfill, there is no such node, or more than nodes keeps x.
func (eng *Engine) Refusal(x *objects.Allocation, now time.Time) (nearest *Refusal) {
	if !eng.active() || eng.part.Reservations().Of(x) != nil || eng.part.Nomination(x) != nil {
		return nil
	}
	o := eng.outlook()
	if !mayBePlaced(x) || !eng.fitsReserved(x, &o, map[*feasibility.Shape]bool{}) {
		return nil
	}
	for i := range o.nodes {
		if !o.nodes[i].fits(x) {
			continue
		}
		r := eng.refusalOn(x, &o, &o.nodes[i], now)
		if r.Reason == NotYet {
			return r
		}
		if nearest == nil || r.Reason > nearest.Reason || r.Reason == TooLong && nearest.FitsAt < r.FitsAt {
			nearest = r
		}
	}
	return nearest
}

func (eng *Engine) refusalOn(x *objects.Allocation, o *outlook, held *reservedNode, now time.Time) *Refusal {
	of := held.uses[0].of
	gone, bounded := runtimes.GoneAt(x, now)
	reason := eng.unfit(x)
	if reason == 0 {
		blocking := held.blocks(x, gone)
		switch {
		case o.constrained != nil:
			reason = ReservedHasAffinity
		case blocking != nil && !blocking.known:
			reason, of = NoKnownTime, blocking
		case blocking != nil:
			reason, of = TooLong, blocking
		case !eng.host.Allows(x, held.node, nil): // the RM is not asked: an explanation changes no decision
			reason = NotAllowed
		case !o.takeRoom(x):
			reason = NoRoom
		default:
			reason = NotYet
		}
	}
	r := &Refusal{Reason: reason, Node: held.node.ID(), Key: of.members[0].Ask.Key()}
	if of.known && !of.fitsAt.IsZero() {
		r.FitsAt = objects.TimestampOf(of.fitsAt)
	}
	if bounded {
		r.EndsAt = objects.TimestampOf(gone)
	}
	if reason == TooLong && of.fitsAt.After(now) {
		r.LongestBound = max(0, runtimes.Bound(x)-gone.Sub(of.fitsAt)).Truncate(time.Second).Nanoseconds()
	}
	return r
}

// Text is the clause for an explanation, after one that says what the ask waits for.
func (r *Refusal) Text() string {
	if r == nil {
		return ""
	}
	use := fmt.Sprintf("use what node %s holds for ask %s", r.Node, r.Key)
	switch {
	case r.Reason == NotYet:
		return fmt.Sprintf("; it may %s at its turn, if the resource manager accepts it there", use)
	case r.Reason != TooLong || r.FitsAt.IsZero():
		return fmt.Sprintf("; it may not %s: %s", use, reasons[r.Reason].text)
	}
	text := fmt.Sprintf("; it may not %s: it would end by %s, %v too late", use, r.EndsAt.Time().Format(time.RFC3339),
		r.EndsAt.Time().Sub(r.FitsAt.Time()).Round(time.Second))
	if r.LongestBound > 0 {
		text += fmt.Sprintf(" (with a bound of %v it may)", time.Duration(r.LongestBound))
	}
	return text
}
