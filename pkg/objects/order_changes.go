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
	shapesAdded         uint64           // how many shapes the masks were given
}

func (*ordering) Wants() ChangeSet {
	return 1<<NodeAdded | 1<<NodeRemoved | 1<<NodeUsageChanged | 1<<NodeAttributesChanged | 1<<SchedulabilityChanged |
		1<<CapacityChanged | 1<<QueueUsageChanged | 1<<QueueSettingsChanged | 1<<QueueRunningChanged | 1<<QuotasChanged |
		1<<QueueTreeChanged | 1<<ResourceAdded | 1<<AccountUsageChanged | 1<<AccountRunningChanged |
		1<<AccountMembersChanged | 1<<Rebuilding
}

func (o *ordering) On(c *Change) {
	switch c.Kind {
	case NodeUsageChanged:
		o.nodeUsageChanged(c.Node)
	case NodeAdded:
		o.reindexNode(c.Node)
	case NodeRemoved: // it was made unschedulable before
		o.unschedulable.Reindex(c.Node, false)
	case NodeAttributesChanged:
		o.fitNode(c.Node)
		o.reindexNode(c.Node)
	case SchedulabilityChanged:
		o.schedulabilityChanged(c.Node)
	case QueueUsageChanged:
		for q := c.Queue; q != nil; q = q.parent {
			o.refitQueue(q)
		}
	case QueueSettingsChanged:
		o.refitQueue(c.Queue)
	case QueueRunningChanged:
		if c.Queue.quota.MaxApplications() > 0 {
			o.refitQueue(c.Queue)
		}
	case CapacityChanged, QuotasChanged:
		o.refitQueue(c.Queue)
		o.sharesStale = true
	case QueueTreeChanged, ResourceAdded:
		o.sharesStale = true
	case AccountUsageChanged:
		if c.Account.LimitsResources() {
			o.refitAccount(c.Account)
		}
	case AccountRunningChanged:
		if c.Account.LimitsApplications() {
			o.refitAccount(c.Account)
		}
	case AccountMembersChanged: // the caller indexes the member
		c.Account.Refit(o.shapes, o.names.Len(), &o.fitScratch)
	case Rebuilding: // the rebuild indexes all nodes, sets all denominators and builds all accounts
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
