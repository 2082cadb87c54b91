package scheduler

import (
	"fmt"
	"time"

	"github.com/canopy-scheduler/canopy/pkg/objects"
	"github.com/canopy-scheduler/canopy/pkg/preemption"
)

// BackOff says that something is not tried again for a pending ask before a time (OBS-93).
type BackOff struct {
	Reason     BackOffReason
	Until      time.Time
	NeedChange bool // then, or later, and only if anything has changed that could help
}

// BackOffReason says why an ask backs off. Those of preemption are about its ask group.
type BackOffReason struct {
	refused    bool // the RM refused every node with sufficient free resources
	nodes      int  // so many nodes have refused the ask, or asks of its kind, in the past
	preemption preemption.BackOffReason
}

// Code is a stable code, for programs.
func (r BackOffReason) Code() string {
	if r.refused {
		return "nodesRejectedByRM"
	}
	if r.nodes > 0 {
		return "refusedBefore"
	}
	return r.preemption.Code()
}

// backOffs are the back-offs of x. Requires: it is pending.
func (c *Core) backOffs(x *objects.Allocation) (all []BackOff) {
	if c.oracle != nil && c.part.Unschedulable(x) {
		all = append(all, BackOff{Reason: BackOffReason{refused: true}, Until: c.oracleRetryAt})
	}
	if nodes, until := c.refusalsOf(x); nodes > 0 {
		all = append(all, BackOff{Reason: BackOffReason{nodes: nodes}, Until: until})
	}
	if b := c.preemption.BackOffOf(x.AskGroup()); b.Reason != preemption.NoBackOff && c.part.Nomination(x) == nil {
		all = append(all, BackOff{BackOffReason{preemption: b.Reason}, b.Until, b.NeedChange})
	}
	return all
}

// String returns what is not tried before when, and why.
func (b BackOff) String() string {
	at := b.Until.UTC().Format(time.RFC3339Nano)
	if b.Reason.refused {
		return fmt.Sprintf("the resource manager is asked again at %s, or before if resources are freed: it refused every "+
			"node with sufficient free resources", at)
	}
	if n := b.Reason.nodes; n > 0 {
		return fmt.Sprintf("nodes that have refused it or asks of its kind before, and do not get it: %d, the first until %s",
			n, at)
	}
	text := "preemption is evaluated again at " + at
	if b.NeedChange {
		text = fmt.Sprintf("preemption is evaluated again after a change, and not before %s", at)
	}
	return text + map[preemption.BackOffReason]string{
		preemption.BackOffNoVictims:        ": the last evaluation found no victims",
		preemption.BackOffDelay:            ", when a preemption delay ends: the last evaluation found no victims",
		preemption.BackOffRefused:          ": the resource manager refused the nodes where victims were found",
		preemption.BackOffNominationGiveUp: ": its nomination was given up",
	}[b.Reason.preemption]
}

// BackedOff counts what backs off in a partition (OBS-94).
type BackedOff struct {
	Count int       // pending asks that the RM refused, or ask groups without victims
	Until time.Time // the first end of a back-off that needs no change; zero: none
}

// backedOff are the asks that the RM refused, and the groups that preemption has evaluated without a result.
func (c *Core) backedOff() (refused, noVictims BackedOff) {
	if c.oracle != nil {
		refused.Count = c.part.UnschedulableCount()
	}
	if refused.Count > 0 {
		refused.Until = c.oracleRetryAt
	}
	noVictims.Count, noVictims.Until = c.preemption.BackedOff()
	return refused, noVictims
}
