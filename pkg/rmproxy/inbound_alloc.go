package rmproxy

import (
	"fmt"
	"math"
	"strconv"
	"time"

	"github.com/apache/yunikorn-scheduler-interface/lib/go/common"
	"github.com/apache/yunikorn-scheduler-interface/lib/go/si"
	"go.uber.org/zap"

	"github.com/canopy-scheduler/canopy/pkg/objects"
	"github.com/canopy-scheduler/canopy/pkg/resources"
	"github.com/canopy-scheduler/canopy/pkg/scheduler"
)

const requiredNodeTag = common.DomainYuniKorn + common.KeyRequiredNode

// takeAllocations turns an allocation message into commands: first asks and
// allocations, then releases (behaviour.md 10.8).
func (s *session) takeAllocations(m *si.AllocationRequest) {
	o := &orders{s: s}
	for _, x := range m.GetAllocations() {
		if x == nil {
			s.log.Warn("an allocation message holds an entry without an allocation")
			continue
		}
		if err := o.allocation(x); err != nil {
			o.refuse(scheduler.AskRejected{
				Key: objects.AllocationKey(wireID(x.AllocationKey)), App: objects.AppID(wireID(x.ApplicationID)),
				Reason: err.Error(),
			})
		}
	}
	for _, r := range m.GetReleases().GetAllocationsToRelease() {
		if err := o.release(r); err != nil {
			s.refused("release of", r.GetAllocationKey(), err)
		}
	}
	o.send()
}

func (o *orders) allocation(x *si.Allocation) error {
	if err := checkID("allocation key", x.AllocationKey); err != nil {
		return err
	}
	if err := checkName("node ID", x.NodeID, maxID); err != nil {
		return err
	}
	amounts, err := amounts(x.ResourcePerAlloc)
	if err != nil {
		return err
	}
	if kind, foreign := x.AllocationTags[common.Foreign]; foreign {
		return o.foreign(x, amounts, kind)
	}
	ask, err := o.s.ask(x, amounts)
	if err != nil {
		return err
	}
	l := o.lot(x.PartitionName)
	switch {
	case l == nil:
		return o.noPartition(x)
	case x.NodeID == "":
		l.add(scheduler.SubmitAsk{Ask: ask})
	default:
		l.add(scheduler.ReportAllocation{Ask: ask, Node: objects.NodeID(x.NodeID)})
	}
	return nil
}

func (o *orders) noPartition(x *si.Allocation) error {
	return fmt.Errorf("failed to find partition %s, for application %s and allocation %s",
		clip(o.s.bareName(x.PartitionName)), x.ApplicationID, x.AllocationKey)
}

// foreign reports what is not ours. Of which application it is does not matter.
func (o *orders) foreign(x *si.Allocation, amounts resources.Amounts, kind string) error {
	if x.NodeID == "" {
		return fmt.Errorf("trying to add a foreign request (non-allocation) %s", x.AllocationKey)
	}
	if kind != common.AllocTypeStatic && kind != common.AllocTypeDefault {
		o.s.log.Warn("unknown kind of foreign allocation, taken as default",
			zap.String("key", x.AllocationKey), zap.String("kind", clip(kind)))
	}
	l := o.lot(x.PartitionName)
	if l == nil {
		return o.noPartition(x)
	}
	l.add(scheduler.ReportForeign{Foreign: objects.Foreign{
		Key: objects.AllocationKey(x.AllocationKey), Node: objects.NodeID(x.NodeID), Amounts: amounts,
		Static: kind == common.AllocTypeStatic, Tags: o.s.keep(x.AllocationTags),
	}})
	return nil
}

// ask reads everything about an ask that does not depend on where it goes.
func (s *session) ask(x *si.Allocation, amounts resources.Amounts) (*objects.Ask, error) {
	if err := checkID("application ID", x.ApplicationID); err != nil {
		return nil, err
	}
	if err := checkName("task group name", x.TaskGroupName, maxID); err != nil {
		return nil, err
	}
	required := x.AllocationTags[requiredNodeTag]
	if err := checkName("required node ID", required, maxID); err != nil {
		return nil, err
	}
	return &objects.Ask{
		Key: objects.AllocationKey(x.AllocationKey), App: objects.AppID(x.ApplicationID),
		Amounts: amounts, Priority: x.Priority, Created: created(x.AllocationTags),
		TaskGroup: x.TaskGroupName, Placeholder: x.Placeholder, Originator: x.Originator,
		Policy: policy(x.PreemptionPolicy), RequiredNode: objects.NodeID(required),
		Tags: s.keep(x.AllocationTags),
	}, nil
}

func policy(p *si.PreemptionPolicy) objects.PreemptionPolicy {
	if p == nil {
		return objects.PreemptionPolicy{}
	}
	return objects.PreemptionPolicy{Sent: true, Self: p.AllowPreemptSelf, Other: p.AllowPreemptOther}
}

// created reads when the RM's object was made. A text that is no time is ignored, and
// so is a time that REST could not show in nanoseconds.
func created(tags map[string]string) time.Time {
	sec, err := strconv.ParseInt(tags[common.CreationTime], 10, 64)
	if err != nil || sec < 0 || sec > math.MaxInt64/int64(time.Second) {
		return time.Time{}
	}
	return time.Unix(sec, 0)
}

func (o *orders) release(r *si.AllocationRelease) error {
	if err := checkName("allocation key", r.GetAllocationKey(), maxID); err != nil {
		return err
	}
	if err := checkName("application ID", r.GetApplicationID(), maxID); err != nil {
		return err
	}
	l := o.lot(r.GetPartitionName())
	switch {
	case l == nil:
		return fmt.Errorf("unknown partition %s", clip(o.s.bareName(r.GetPartitionName())))
	case r.GetApplicationID() != "":
		l.add(scheduler.Release{
			App: objects.AppID(r.ApplicationID), Key: objects.AllocationKey(r.AllocationKey),
			Type: scheduler.Termination(r.TerminationType),
		})
	case r.GetAllocationKey() != "":
		l.add(scheduler.ReleaseForeign{Key: objects.AllocationKey(r.AllocationKey)})
	default:
		return fmt.Errorf("it names neither an application nor an allocation")
	}
	return nil
}
