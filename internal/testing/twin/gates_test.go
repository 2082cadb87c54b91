package twin

import (
	"fmt"
	"slices"

	"github.com/canopy-scheduler/canopy/pkg/explain"
	"github.com/canopy-scheduler/canopy/pkg/scheduler"
)

// gatesOf are the kinds of gates, one of which is closed, when a pending ask has a verdict.
var gatesOf = map[scheduler.PendingReason][]explain.Kind{
	scheduler.WaitsForVictims: {explain.Victims}, scheduler.ReplacesPlaceholder: {explain.Replacement},
	scheduler.WaitsForMembers: {explain.Members}, scheduler.WaitsForPlaceholder: {explain.Placeholders},
	scheduler.AskExceedsLimit: {explain.LimitMaxResources}, scheduler.NoLimitHeadroom: {explain.LimitMaxResources},
	scheduler.AskExceedsMax: {explain.QueueMaxResources}, scheduler.NoQueueHeadroom: {explain.QueueMaxResources},
	scheduler.UnknownNode: {explain.Nodes}, scheduler.NoNodeAdmitted: {explain.Nodes},
	scheduler.NoSuchResource:  {explain.Nodes},
	scheduler.AskExceedsNodes: {explain.Nodes}, scheduler.NoSchedulableNode: {explain.Nodes},
	scheduler.NoNodeFits: {explain.Nodes}, scheduler.NodesRefusedBefore: {explain.Nodes},
	scheduler.WaitsToStart: {explain.StartOrder}, scheduler.QueueMaxApplications: {explain.QueueMaxApplications},
	scheduler.LimitMaxApplications: {explain.LimitMaxApplications}, scheduler.NoClusterHeadroom: {explain.ClusterCapacity},
	scheduler.WaitsForReservedNode: {explain.Nodes, explain.ClusterCapacity},
	scheduler.NoNodeForAffinity:    {explain.OtherAllocations},
	scheduler.ApplicationOnHold:    {explain.Hold}, scheduler.QueueIsStopped: {explain.StoppedQueue},
	scheduler.InRecoveryQueue: {explain.RecoveryQueue},
	scheduler.GangDoesNotFit:  {explain.Gang}, scheduler.NodesRejectedByRM: {explain.Predicates},
}

// gateProblem returns how the gates of a pending ask contradict its verdict, which agrees with the twin: an ask that
// waits for its turn has no closed gate, and every other one has the gate of its verdict closed (EXP-1). Empty: they do
// not.
func gateProblem(e *scheduler.Explanation) string {
	var closed []explain.Kind
	permanent := false
	for _, g := range explain.Closed(e.Gates) {
		if g.Kind != explain.ResourceManager {
			closed = append(closed, g.Kind)
			permanent = permanent || g.Permanent
		}
	}
	expected := gatesOf[e.Verdict.Reason]
	switch {
	case e.Verdict.Reason == scheduler.WaitsForReservedNode &&
		!slices.ContainsFunc(closed, func(k explain.Kind) bool { return k != explain.Gang }):
		// the node has enough now: it is placed there next, or with its gang
	case e.Verdict.Reason == scheduler.WaitsForTurn && len(closed) > 0:
		return fmt.Sprintf("it waits for its turn, and gates %v are closed", closed)
	case e.Verdict.Reason != scheduler.WaitsForTurn &&
		!slices.ContainsFunc(expected, func(k explain.Kind) bool { return slices.Contains(closed, k) }):
		return fmt.Sprintf("%q, and gates %v are closed", e, closed)
	case e.Verdict.Permanent && !permanent:
		return fmt.Sprintf("%q, and no gate is closed permanently", e)
	}
	return ""
}
