package preemption

import (
	"time"

	"github.com/canopy-scheduler/canopy/pkg/objects"
	"github.com/canopy-scheduler/canopy/pkg/preemption/fairshare"
	"github.com/canopy-scheduler/canopy/pkg/quota"
)

// changes has what an Engine needs to know of changes of its partition: which ask groups to evaluate (anew), which
// nominations, marks and asks have ended, whether anything changed that could let an ask preempt, and which queues are
// above an enforced max.
type changes struct {
	part             *objects.Partition
	shares           *fairshare.Shares     // of part
	generation       uint64                // grows when more asks might preempt
	newPreemptors    []*objects.AskGroup   // since takeNewPreemptors
	firstAskChanged  []*objects.AskGroup   // whose first ask without a nomination may be another one
	endedNominations []EndedNomination     // in that order
	marked           []*objects.Allocation // marked for preemption
	unmarked         []*objects.Allocation // no longer marked for preemption
	removedAsks      []*objects.Allocation // no longer pending, if recordRemoved
	recordRemoved    bool                  // the log has asks that may be removed
	configChanged    bool                  // a configuration came into force
	enforcement      quota.Enforcement
}

// EndedNomination is a nomination that has ended.
type EndedNomination struct {
	Ask   *objects.Allocation // pending, bound, or removed
	Node  *objects.Node       // may be removed
	Since time.Time
}

// watch returns the changes of p from now on.
func watch(p *objects.Partition, shares *fairshare.Shares) *changes {
	c := &changes{part: p, shares: shares}
	objects.Attach(p, c)
	return c
}

// idle reports whether there is nothing to examine after a placement, and no queue is above an enforced max.
func (c *changes) idle() bool {
	return !c.recordRemoved && len(c.endedNominations)+len(c.marked)+len(c.unmarked)+len(c.removedAsks) == 0 &&
		c.enforcement.Idle()
}

// take empties a list and returns what was on it, which is valid until something is added.
func take[T any](list *[]T) []T {
	all := *list
	*list = all[:0]
	return all
}

// takeNewPreemptors returns the ask groups that were listed since the last call because they may preempt; some may be
// empty by now.
func (c *changes) takeNewPreemptors() []*objects.AskGroup {
	out := c.newPreemptors
	c.newPreemptors = nil
	return out
}

// takeFirstAskChanged returns the ask groups whose first ask without a nomination may be another one since the last
// call. The list is valid until the partition changes.
func (c *changes) takeFirstAskChanged() []*objects.AskGroup {
	out := take(&c.firstAskChanged)
	for _, group := range out {
		group.FirstAskChangeListed = false
	}
	return out
}

// addPreemptor lists group as a new preemptor, if it may preempt and was not listed before.
func (c *changes) addPreemptor(group *objects.AskGroup) {
	if group.MayPreempt() && !group.PreemptorListed {
		group.PreemptorListed = true
		c.newPreemptors = append(c.newPreemptors, group)
	}
}

func (c *changes) addPreemptorsOf(a *objects.Application) {
	for group := range a.EachAskGroup {
		c.addPreemptor(group)
	}
}

func (c *changes) addFirstAskChange(group *objects.AskGroup) {
	if group.PreemptorListed && !group.FirstAskChangeListed {
		group.FirstAskChangeListed = true
		c.firstAskChanged = append(c.firstAskChanged, group)
	}
}

// askAdded: another ask may be evaluated for the group, and a gang has another size.
func (c *changes) askAdded(x *objects.Allocation, in objects.GroupPosition) {
	firstOrGang := in == objects.InsideGroup || in == objects.LastOfGroup && preemptsAsGang(x)
	if firstOrGang || c.shares.Enabled() { // what one side wants changes the shares of all
		c.generation++
	}
	if firstOrGang {
		c.addFirstAskChange(x.AskGroup())
	}
	c.addPreemptor(x.AskGroup())
}

// askRemoved: the next ask may be the first now, and its delays end later.
func (c *changes) askRemoved(x *objects.Allocation, from *objects.AskGroup) {
	if c.recordRemoved {
		c.removedAsks = append(c.removedAsks, x)
	}
	left := from.PendingCount() > 0
	if left {
		c.addFirstAskChange(from)
	}
	if left || preemptsAsGang(x) || c.shares.Enabled() {
		c.generation++
	}
}

// Wants leaves out what matters to no search for victims: the quantities of nodes that follow from a change are
// changes of their own, and quotas are read at each evaluation. Of enforcement it leaves out what changes neither a max
// nor what is above it.
func (*changes) Wants() objects.ChangeSet {
	return 1<<objects.AskAdded | 1<<objects.AskRemoved | 1<<objects.NominationEnded | 1<<objects.PreemptionMarked |
		1<<objects.PreemptionUnmarked | 1<<objects.EndOrdered | 1<<objects.AskGroupHeld |
		1<<objects.NodeUsageChanged | 1<<objects.SchedulabilityChanged | 1<<objects.NodeAttributesChanged |
		1<<objects.QuotasChanged | 1<<objects.ApplicationMoved | 1<<objects.MayPreemptChanged |
		1<<objects.MayBeAllocatedChanged | 1<<objects.ApplicationRemoved | 1<<objects.RunningChanged |
		1<<objects.FirstStartingChanged | 1<<objects.Rebuilding | 1<<objects.ConfigurationChanged |
		1<<objects.QueueUsageChanged | 1<<objects.QueuePreemptingChanged | 1<<objects.QueueSettingsChanged |
		1<<objects.SettingsApplied
}

// On implements objects.Consumer.
func (c *changes) On(was *objects.Change) {
	switch was.Kind {
	case objects.NodeUsageChanged, objects.SchedulabilityChanged, objects.NodeAttributesChanged,
		objects.ApplicationMoved, objects.ApplicationRemoved, objects.RunningChanged, objects.FirstStartingChanged,
		objects.Rebuilding:
		c.generation++
	case objects.EndOrdered: // what ends already is no victim, so a victim unit may be complete without it
		c.generation++
	case objects.AskAdded:
		c.askAdded(was.Ask, was.Position)
	case objects.AskRemoved:
		c.askRemoved(was.Ask, was.Group)
	case objects.NominationEnded:
		c.endedNominations = append(c.endedNominations, EndedNomination{was.Ask, was.Node, was.Since})
		c.addPreemptor(was.Ask.AskGroup())
		c.addFirstAskChange(was.Ask.AskGroup())
	case objects.PreemptionMarked:
		c.marked = append(c.marked, was.Ask)
		c.generation++
	case objects.PreemptionUnmarked:
		c.unmarked = append(c.unmarked, was.Ask)
		c.generation++
	case objects.AskGroupHeld: // asks no longer held back may preempt, and the delays of those that are do not matter
		c.generation++
		c.addPreemptor(was.Group)
		c.addFirstAskChange(was.Group)
	case objects.QuotasChanged:
		c.generation++
		c.enforcement.QuotasChanged(was.Queue.Quota())
		for _, a := range was.Queue.Applications() {
			c.addPreemptorsOf(a)
		}
	case objects.MayPreemptChanged:
		c.addPreemptorsOf(was.App)
	case objects.MayBeAllocatedChanged: // the asks of the application are evaluated again
		c.generation++
		c.addPreemptorsOf(was.App)
	case objects.ConfigurationChanged:
		c.generation++
		c.configChanged = true
	case objects.QueueUsageChanged, objects.QueuePreemptingChanged:
		for q := was.Queue; q != nil; q = q.Parent() {
			c.enforcement.Recheck(q.Quota())
		}
	case objects.QueueSettingsChanged:
		c.enforcement.RecheckSettings(was.Queue.Quota())
	case objects.SettingsApplied:
		c.enforcement.ApplySettings()
	}
}

// Check implements objects.Checker: exactly the queues above an enforced max are listed, by the names and quantities of
// the configuration.
func (c *changes) Check(bool) error {
	p := c.part
	queues := map[*quota.Queue]bool{}
	for q := range objects.EachQueue(p) {
		queues[q.Quota()] = true
	}
	listed, err := c.enforcement.CheckOrder(func(x *quota.Queue) bool { return queues[x] })
	if err != nil {
		return err
	}
	for q := range objects.EachQueue(p) {
		over, used := false, p.Amounts(q.Quota().AllocatedAfterPreemption())
		for name, limit := range q.Max().All() {
			over = over || used.Get(name) > limit
		}
		violating := over && q.Managed() && p.Config().QuotaPreemptionEnabled && q.Settings().QuotaPreemptionDelay > 0
		if err := c.enforcement.Check(q.Quota(), over, violating, listed[q.Quota()]); err != nil {
			return err
		}
	}
	return nil
}
