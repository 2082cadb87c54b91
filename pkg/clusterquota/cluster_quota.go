// Package clusterquota keeps the quotas of queues that are percents in step with the registered nodes (QUO-63 to
// QUO-69).
//
// The arithmetic is in package percent, the quotas in force are in package quota. It notes from the journal that they
// may be out of date, and computes all of them once before the next decisions, whatever the number of changes. Without
// percents it computes nothing.
package clusterquota

import (
	"cmp"
	"fmt"
	"iter"
	"slices"
	"time"

	"github.com/canopy-scheduler/canopy/pkg/objects"
	"github.com/canopy-scheduler/canopy/pkg/quota"
	"github.com/canopy-scheduler/canopy/pkg/quota/percent"
	"github.com/canopy-scheduler/canopy/pkg/resources"
)

// Quotas are the effective quotas of a partition.
type Quotas struct {
	part     *objects.Partition
	stale    bool             // they may differ from what the nodes and the settings say
	some     bool             // a queue may have percents, or had some when they were computed
	capacity resources.Vector // at the last Refresh
	unsettle time.Time        // when nodes registered in an empty partition, or the capacity fell, the last time
}

// New returns the quotas of p, which is new.
func New(p *objects.Partition) *Quotas {
	q := &Quotas{part: p, stale: true, some: true}
	objects.Attach(p, q)
	return q
}

// Wants implements objects.Consumer: what the percents are of, and in which queues they are. A removed queue has no
// part of a guarantee any more.
func (*Quotas) Wants() objects.ChangeSet {
	return 1<<objects.CapacityChanged | 1<<objects.QueueSettingsChanged | 1<<objects.QuotasChanged |
		1<<objects.QueueStateChanged
}

// On implements objects.Consumer.
func (q *Quotas) On(c *objects.Change) {
	q.stale = true
	switch c.Kind {
	case objects.QueueSettingsChanged: // or it is new
		most, least := c.Queue.ConfiguredQuotas()
		q.some = q.some || most.HasPercents() || least.HasPercents()
	case objects.CapacityChanged, objects.QuotasChanged, objects.QueueStateChanged:
	}
}

// Stale reports whether Refresh has something to do.
func (q *Quotas) Stale() bool { return q.stale }

// Refresh puts the quotas in force that follow from the registered nodes and the settings (QUO-65). The caller must
// call it before decisions, with times that do not decrease.
func (q *Quotas) Refresh(now time.Time) {
	if !q.stale {
		return
	}
	capacity := q.part.Capacity()
	if q.capacity.IsZero() && !capacity.IsZero() || !capacity.Covers(q.capacity) {
		q.unsettle = now
	}
	q.capacity.Difference(capacity, nil, nil)
	if q.some {
		q.apply()
	}
	q.stale = false
}

// apply puts the effective quotas in force that differ from the present ones, in the order of their paths: what
// follows from each is the same in a replay.
func (q *Quotas) apply() {
	all, some := q.compute()
	changed := slices.DeleteFunc(all, func(x percent.Quotas[*objects.Queue]) bool {
		return inForce(x.Queue, q.wanted(&x))
	})
	slices.SortFunc(changed, func(a, b percent.Quotas[*objects.Queue]) int {
		return cmp.Compare(a.Queue.Path(), b.Queue.Path())
	})
	for i := range changed {
		objects.SetEffectiveQuotas(q.part, changed[i].Queue, q.wanted(&changed[i]))
	}
	q.some = some
}

// compute returns the effective quotas of all queues but root.
func (q *Quotas) compute() (all []percent.Quotas[*objects.Queue], some bool) {
	tree := percent.Tree[*objects.Queue]{
		Root:       q.part.Root(),
		Children:   func(x *objects.Queue) iter.Seq[*objects.Queue] { return x.EachChild },
		Configured: (*objects.Queue).ConfiguredQuotas,
		Capacity:   q.part.Amounts(q.part.Capacity()).Get,
	}
	return tree.Effective()
}

// wanted returns the quotas that are to be in force in a queue.
func (q *Quotas) wanted(x *percent.Quotas[*objects.Queue]) quota.Effective {
	want := quota.Effective{Max: x.Max, Guaranteed: x.Guaranteed, Reduced: len(x.Reduced) > 0}
	if most, _ := x.Queue.ConfiguredQuotas(); most.HasPercents() {
		want.SettledFrom = q.unsettle.Add(x.Queue.Settings().QuotaSettle)
	}
	return want
}

func inForce(x *objects.Queue, want quota.Effective) bool {
	return want.Max.Equal(x.Max()) && want.Guaranteed.Equal(x.Guaranteed()) &&
		want.SettledFrom.Equal(x.Quota().SettledFrom()) && want.Reduced == x.GuaranteeReduced()
}

// Check implements objects.Checker: the quotas in force follow from the nodes and the settings.
func (q *Quotas) Check(all bool) error {
	if !all || q.stale {
		return nil
	}
	quotas, _ := q.compute()
	for i := range quotas {
		if x, want := quotas[i].Queue, q.wanted(&quotas[i]); !inForce(x, want) {
			return fmt.Errorf("queue %s has the quotas %v %v: they should be %v %v", x.Path(), x.Max(), x.Guaranteed(), want.Max,
				want.Guaranteed)
		}
	}
	return nil
}
