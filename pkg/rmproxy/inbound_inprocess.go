package rmproxy

import (
	"strings"

	"go.uber.org/zap"

	"github.com/apache/yunikorn-scheduler-interface/lib/go/si"

	"github.com/canopy-scheduler/canopy/internal/server/wire"
	"github.com/canopy-scheduler/canopy/pkg/objects"
)

// fromProto converts an allocation message of the in-process API into the form of a decoded one, so
// that both APIs share the code that interprets messages (ASK-3, RMI-3, PRI-48).
func (s *session) fromProto(m *si.AllocationRequest) *wire.AllocationRequest {
	out := &wire.AllocationRequest{RM: m.GetRmID()}
	for _, x := range m.GetAllocations() {
		if x == nil {
			s.ignore(ignoredEmpty, zap.String("message", "an allocation message holds an entry without an allocation"))
			continue
		}
		amounts, amountsErr := amountsFromProto(x.ResourcePerAlloc)
		out.Allocations = append(out.Allocations, wire.Allocation{
			Key: x.AllocationKey, App: x.ApplicationID, Node: x.NodeID,
			Partition: x.PartitionName, TaskGroup: x.TaskGroupName,
			Amounts: amounts, AmountsErr: amountsErr, Tags: s.cloneIfShared(x.AllocationTags), Priority: x.Priority,
			Placeholder: x.Placeholder, Originator: x.Originator, Policy: preemptionPolicy(x.PreemptionPolicy),
		})
	}
	for _, x := range m.GetReleases().GetAllocationsToRelease() {
		out.Releases = append(out.Releases, wire.Release{
			Partition: x.GetPartitionName(), App: x.GetApplicationID(), Key: x.GetAllocationKey(),
			Type: int32(x.GetTerminationType()), Message: refusalOnly(x.GetMessage()),
		})
	}
	return out
}

// refusalOnly is the message of a release if it says that the node refused; empty: it does not.
func refusalOnly(message string) string {
	if !strings.HasPrefix(message, wire.NodeRefused) {
		return ""
	}
	return message
}

// preemptionPolicy converts the policy of an ask; nil: none was sent (ASK-6).
func preemptionPolicy(p *si.PreemptionPolicy) objects.PreemptionPolicy {
	if p == nil {
		return 0
	}
	return objects.PolicySent.With(objects.PolicyAllowPreemptSelf,
		p.AllowPreemptSelf).With(objects.PolicyAllowPreemptOther, p.AllowPreemptOther)
}
