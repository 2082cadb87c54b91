package scheduler

import (
	"fmt"
	"time"

	"github.com/canopy-scheduler/canopy/pkg/objects"
	"github.com/canopy-scheduler/canopy/pkg/preemption"
)

// BackOff says that something is not tried again for a pending ask before a time (OBS-93).
type BackOff struct {
	Reason     preemption.BackOffReason `json:"reason"` // see docs/EXPLAIN.md
	Until      objects.Timestamp        `json:"until"`
	NeedChange bool                     `json:"needChange"` // at until or later, and only if anything has changed
	Message    string                   `json:"message"`
}

// The reasons of back-offs that are not about preemption. Those of preemption are about the ask group.
const (
	// the RM refused every node with sufficient free resources
	backOffNodesRejected preemption.BackOffReason = "nodesRejectedByRM"
	// nodes have refused the ask, or asks of its kind, in the past
	backOffRefusedBefore preemption.BackOffReason = "refusedBefore"
)

// backOffs are the back-offs of x. Requires: it is pending.
func (c *Core) backOffs(x *objects.Allocation) (all []BackOff) {
	add := func(reason preemption.BackOffReason, until time.Time, needChange bool, format string, about ...any) {
		at := until.UTC().Format(time.RFC3339Nano)
		all = append(all, BackOff{reason, objects.TimestampOf(until), needChange, fmt.Sprintf(format, append(about, at)...)})
	}
	if c.oracle != nil && c.part.Unschedulable(x) {
		add(backOffNodesRejected, c.oracleRetryAt, false, "the resource manager is asked again at %s, or before if "+
			"resources are freed: it refused every node with sufficient free resources")
	}
	if nodes, until := c.refusalsOf(x); nodes > 0 {
		add(backOffRefusedBefore, until, false,
			"nodes that have refused it or asks of its kind before, and do not get it: %d, the first until %s", nodes)
	}
	if b := c.preemption.BackOffOf(x.AskGroup()); b.Reason != preemption.NoBackOff && c.part.Nomination(x) == nil {
		text := "preemption is evaluated again at %s"
		if b.NeedChange {
			text = "preemption is evaluated again after a change, and not before %s"
		}
		add(b.Reason, b.Until, b.NeedChange, text+map[preemption.BackOffReason]string{
			preemption.BackOffNoVictims:        ": the last evaluation found no victims",
			preemption.BackOffDelay:            ", when a preemption delay ends: the last evaluation found no victims",
			preemption.BackOffRefused:          ": the resource manager refused the nodes where victims were found",
			preemption.BackOffNominationGiveUp: ": its nomination was given up",
		}[b.Reason])
	}
	return all
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
