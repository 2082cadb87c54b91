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

func (*ordering) wants() changeSet {
	return 1<<nodeAdded | 1<<nodeRemoved | 1<<nodeUsageChanged | 1<<nodeAttributesChanged | 1<<schedulabilityChanged |
		1<<capacityChanged | 1<<queueUsageChanged | 1<<queueSettingsChanged | 1<<queueRunningChanged | 1<<quotasChanged |
		1<<queueTreeChanged | 1<<resourceAdded | 1<<accountUsageChanged | 1<<accountRunningChanged |
		1<<accountMembersChanged | 1<<rebuilding
}

func (o *ordering) on(c *change) {
	switch c.kind {
	case nodeUsageChanged:
		o.nodeUsageChanged(c.node)
	case nodeAdded:
		o.reindexNode(c.node)
	case nodeRemoved: // it was made unschedulable before
		o.unschedulable.Reindex(c.node, false)
	case nodeAttributesChanged:
		o.fitNode(c.node)
		o.reindexNode(c.node)
	case schedulabilityChanged:
		o.schedulabilityChanged(c.node)
	case queueUsageChanged:
		for q := c.queue; q != nil; q = q.parent {
			o.refitQueue(q)
		}
	case queueSettingsChanged:
		o.refitQueue(c.queue)
	case queueRunningChanged:
		if c.queue.quota.MaxApplications() > 0 {
			o.refitQueue(c.queue)
		}
	case capacityChanged, quotasChanged:
		o.refitQueue(c.queue)
		o.sharesStale = true
	case queueTreeChanged, resourceAdded:
		o.sharesStale = true
	case accountUsageChanged:
		if c.account.LimitsResources() {
			o.refitAccount(c.account)
		}
	case accountRunningChanged:
		if c.account.LimitsApplications() {
			o.refitAccount(c.account)
		}
	case accountMembersChanged: // the caller indexes the member
		c.account.Refit(o.shapes, o.names.Len(), &o.fitScratch)
	case rebuilding: // the rebuild indexes all nodes, sets all denominators and builds all accounts
		o.joining, o.sharesStale, o.refitAccounts = nil, false, nil
	}
}

func (o *ordering) nodeUsageChanged(n *Node) {
	n.key.Score = o.scorer.score(n)
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

// refitAccount computes the shapes that are within the limit of x, after its usage changed. If they
// changed, Partition.reindex updates the other members too.
func (o *ordering) refitAccount(x *quota.Account) {
	if x.Refit(o.shapes, o.names.Len(), &o.fitScratch) {
		o.refitAccounts = append(o.refitAccounts, x)
	}
}
