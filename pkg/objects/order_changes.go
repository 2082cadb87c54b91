package objects

import (
	"github.com/canopy-scheduler/canopy/pkg/feasibility"
	"github.com/canopy-scheduler/canopy/pkg/quota"
	"github.com/canopy-scheduler/canopy/pkg/resources"
)

// ordering is the masks of queues, accounts and nodes, the order of nodes, and the denominators of fair
// shares. The orders of queues, applications and ask groups are in their parents; Partition.reindex updates
// them when all quantities of an application are final.
type ordering struct {
	ignoreAskChanges
	ignoreAllocationChanges
	ignoreGangChanges
	ignoreApplicationChanges

	shapes              *feasibility.Table
	names               *resources.NameTable
	root                *quota.Queue             // with the capacity of the cluster
	schedulable         feasibility.Index[*Node] // in node order
	unschedulable       feasibility.Index[*Node] // that asks require; in node order
	joining             []*Node                  // became schedulable since RefreshShares; may be removed again
	scorer              nodeScorer
	sharesStale         bool             // share denominators are out of date
	namesGivenAtRefresh uint64           // NameTable.Assigned when share denominators were set
	refitAccounts       []*quota.Account // with space for other shapes than before, until Partition.reindex
	fitScratch          feasibility.Mask // buffer of refitAccount
}

func (o *ordering) nodeAdded(n *Node) { o.reindexNode(n) }

// nodeRemoved: the node was made unschedulable before.
func (o *ordering) nodeRemoved(n *Node) { o.unschedulable.Reindex(n, false) }

func (o *ordering) nodeUsageChanged(n *Node) {
	n.key.Score = o.scorer.score(n)
	o.fitNode(n)
	o.reindexNode(n)
}

func (o *ordering) nodeAttributesChanged(n *Node) {
	o.fitNode(n)
	o.reindexNode(n)
}

// schedulabilityChanged moves n to the other index. A schedulable node enters it in indexJoining.
func (o *ordering) schedulabilityChanged(n *Node) {
	former := &o.unschedulable
	if !n.schedulable {
		former = &o.schedulable
	}
	former.Reindex(n, false)
	o.fitNode(n)
	if n.schedulable {
		o.joining = append(o.joining, n)
	} else {
		o.reindexNode(n)
	}
}

func (o *ordering) capacityChanged(root *Queue) {
	o.refitQueue(root)
	o.sharesStale = true
}

func (o *ordering) queueUsageChanged(q *Queue)    { o.refitQueue(q) }
func (o *ordering) queueSettingsChanged(q *Queue) { o.refitQueue(q) }

func (o *ordering) queueRunningChanged(q *Queue) {
	if q.quota.MaxApplications() > 0 {
		o.refitQueue(q)
	}
}

func (o *ordering) quotasChanged(q *Queue) {
	o.refitQueue(q)
	o.sharesStale = true
}

func (o *ordering) queueTreeChanged() { o.sharesStale = true }
func (o *ordering) resourceAdded()    { o.sharesStale = true }

func (o *ordering) accountUsageChanged(x *quota.Account) {
	if x.LimitsResources() {
		o.refitAccount(x)
	}
}

func (o *ordering) accountRunningChanged(x *quota.Account) {
	if x.LimitsApplications() {
		o.refitAccount(x)
	}
}

// refitAccount computes the shapes that are within the limit of x, after its usage changed. If they
// changed, Partition.reindex updates the other members too.
func (o *ordering) refitAccount(x *quota.Account) {
	if x.Refit(o.shapes, o.names.Len(), &o.fitScratch) {
		o.refitAccounts = append(o.refitAccounts, x)
	}
}

// accountMembersChanged: the caller indexes the member.
func (o *ordering) accountMembersChanged(x *quota.Account) {
	x.Refit(o.shapes, o.names.Len(), &o.fitScratch)
}

// rebuilding: the rebuild indexes all nodes, sets all denominators and builds all accounts.
func (o *ordering) rebuilding() { o.joining, o.sharesStale, o.refitAccounts = nil, false, nil }

// The other changes change no mask and no key.

func (*ordering) nodeFreed(*Node)                       {}
func (*ordering) nodeRestored(*Node)                    {}
func (*ordering) nodeBudgetsChanged(*Node)              {}
func (*ordering) foreignAdded(*Node, *Foreign)          {}
func (*ordering) foreignRemoved(*Node, *Foreign)        {}
func (*ordering) queuePreemptingChanged(*Queue)         {}
func (*ordering) queueChanged(*Queue)                   {}
func (*ordering) queueStateChanged(*Queue, QueueChange) {}
func (*ordering) configurationChanged()                 {}
func (*ordering) settingsApplied()                      {}
func (*ordering) refusalsMayEnd()                       {}
