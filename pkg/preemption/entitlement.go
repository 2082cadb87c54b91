package preemption

import (
	"time"

	"github.com/canopy-scheduler/canopy/pkg/objects"
	"github.com/canopy-scheduler/canopy/pkg/policies"
	"github.com/canopy-scheduler/canopy/pkg/preemption/fairshare"
	"github.com/canopy-scheduler/canopy/pkg/preemption/victim"
)

// AskEntitlement says whether an ask is entitled to preempt by a reason, and why not (PRE-114).
type AskEntitlement struct {
	Reason      victim.Reason
	NotEntitled NotEntitledReason
	Queue       *objects.Queue   // the queue that entitles the ask, or whose setting NotEntitled is about; nil: none
	Side        *victim.FairSide // that of the ask in Queue, if the reason is the fair share and it has one
	Due         time.Time        // the end of the delay, if NotEntitledDelay
}

// NotEntitledReason says why an ask is not entitled to preempt by a reason.
type NotEntitledReason string

// The reasons why an ask is not entitled.
const (
	Entitled NotEntitledReason = ""
	// its policy or its priority class does not allow it (PRE-8)
	NotEntitledPolicy NotEntitledReason = "may not preempt"
	// it requires one node, and may not preempt by another reason (PRE-7)
	NotEntitledRequiredNode   NotEntitledReason = "requires one node"
	NotEntitledNoRequiredNode NotEntitledReason = "requires no node" // (PRE-7)
	// preemption or priority of the partition is disabled (PRE-10, PRE-11)
	NotEntitledDisabled NotEntitledReason = "preemption is disabled in the partition"
	// of no queue up to the fence (PRE-13)
	NotEntitledNoGuarantee    NotEntitledReason = "no queue guarantees a requested resource"
	NotEntitledAboveGuarantee NotEntitledReason = "the queue would exceed its guarantee" // Queue (PRE-13)
	// of no queue up to the fence (PRE-126)
	NotEntitledNotShared   NotEntitledReason = "no queue shares fairly"
	NotEntitledWithinShare NotEntitledReason = "the ask's side has its fair share" // in Queue (PRE-126)
	// that of Queue for this reason (PRE-15, PRE-18)
	NotEntitledDelay NotEntitledReason = "the preemption delay of the queue has not passed"
	// preemption.priority of Queue (PRE-17)
	NotEntitledPriorityDisabled NotEntitledReason = "preemption by priority is disabled in the queue"
)

// Entitlements says for each reason of asks whether x, an ask in the partition of s, is entitled to preempt by it at
// now (PRE-7 to PRE-18, PRE-114, PRE-126).
func Entitlements(s *fairshare.Shares, x *objects.Allocation,
	now time.Time) (out [victim.NumAskReasons]AskEntitlement) {
	excluded := excludedReasons(s.Partition(), x)
	for i := range out {
		out[i] = entitlement(s, x, victim.Reason(i), excluded[i], now)
	}
	return out
}

// EntitledReasons returns the reasons by which x is entitled to preempt at now; none if it may not. due is the end of
// the first delay that keeps another reason from x; the zero time: no delay does.
func EntitledReasons(s *fairshare.Shares, x *objects.Allocation, now time.Time) (reasons []victim.Reason,
	due time.Time) {
	for _, c := range Entitlements(s, x, now) {
		switch c.NotEntitled {
		case Entitled:
			reasons = append(reasons, c.Reason)
		case NotEntitledDelay:
			due = earlier(due, c.Due)
		}
	}
	return reasons, due
}

// NextDelayEnd returns the first end, after a time, of a delay of x for a reason that is not excluded (PRE-16). The
// zero time: there is none. EntitledReasons says whether x is entitled then.
func NextDelayEnd(p *objects.Partition, x *objects.Allocation, after time.Time) (next time.Time) {
	for i, notEntitled := range excludedReasons(p, x) {
		if at, delayed := delayEnd(x, victim.Reason(i)); delayed && notEntitled == Entitled && at.After(after) {
			next = earlier(next, at)
		}
	}
	return next
}

// earlier returns the earlier of two times; the zero time stands for none.
func earlier(a, b time.Time) time.Time {
	if a.IsZero() || b.Before(a) {
		return b
	}
	return a
}

// excludedReasons says for each reason of asks why x may not preempt by it, whatever its age and the usage of its
// queue; Entitled: nothing excludes it.
func excludedReasons(p *objects.Partition, x *objects.Allocation) (by [victim.NumAskReasons]NotEntitledReason) {
	if !x.Ask().Policy.AllowPreemptOther() {
		return everyReason(NotEntitledPolicy)
	}
	conf := p.Config()
	if x.Ask().RequiredNode() != "" {
		by = everyReason(NotEntitledRequiredNode)
		by[victim.ReasonRequiredNode] = Entitled
		if conf.PriorityDisabled {
			by[victim.ReasonRequiredNode] = NotEntitledDisabled
		}
		return by
	}
	if conf.PriorityDisabled || !conf.PreemptionEnabled {
		by = everyReason(NotEntitledDisabled)
	}
	by[victim.ReasonRequiredNode] = NotEntitledNoRequiredNode
	switch {
	case conf.PriorityDisabled || !conf.PreemptionEnabled:
	case x.Application().Queue().Settings().PriorityPreemption == policies.PriorityPreemptionDisabled:
		by[victim.ReasonPriority] = NotEntitledPriorityDisabled
	}
	return by
}

func everyReason(r NotEntitledReason) (by [victim.NumAskReasons]NotEntitledReason) {
	for i := range by {
		by[i] = r
	}
	return by
}

// delayEnd returns the end of the delay after which x may preempt by r (PRE-15, PRE-18); delayed is false
// for a reason without a delay.
func delayEnd(x *objects.Allocation, r victim.Reason) (at time.Time, delayed bool) {
	conf := x.Application().Queue().Settings()
	switch r {
	case victim.ReasonGuarantee, victim.ReasonFairShare:
		return x.Created().Add(conf.PreemptionDelay), true
	case victim.ReasonPriority:
		return x.Created().Add(conf.PriorityPreemptionDelay), true
	}
	return at, false
}

// entitlement returns the entitlement of x by r; excluded is the result of excludedReasons for r.
func entitlement(s *fairshare.Shares, x *objects.Allocation, r victim.Reason, excluded NotEntitledReason,
	now time.Time) AskEntitlement {
	c, leaf := AskEntitlement{Reason: r, NotEntitled: excluded}, x.Application().Queue()
	switch {
	case excluded == NotEntitledPriorityDisabled:
		c.Queue = leaf
		return c
	case excluded != Entitled:
		return c
	case r == victim.ReasonGuarantee:
		entitles := false
		switch c.Queue, entitles = victim.GuaranteedQueue(x); {
		case c.Queue == nil:
			c.NotEntitled = NotEntitledNoGuarantee
			return c
		case !entitles:
			c.NotEntitled = NotEntitledAboveGuarantee
			return c
		}
	case r == victim.ReasonFairShare:
		c.Side, c.NotEntitled = fairSide(s, x)
		if c.Side != nil {
			c.Queue = c.Side.Queue
		}
		if c.NotEntitled != Entitled {
			return c
		}
	}
	if at, delayed := delayEnd(x, r); delayed && now.Before(at) {
		c.NotEntitled, c.Queue, c.Due = NotEntitledDelay, leaf, at
	}
	return c
}

// fairSide returns the side of x that is below its fair share, the nearest one; without any, the nearest side at all.
func fairSide(s *fairshare.Shares, x *objects.Allocation) (nearest *victim.FairSide, notEntitled NotEntitledReason) {
	sides := victim.FairSides(s, x)
	for i := range sides {
		if sides[i].Entitles {
			return &sides[i], Entitled
		}
	}
	if len(sides) > 0 {
		return &sides[0], NotEntitledWithinShare
	}
	return nil, NotEntitledNotShared
}
