package objects

import (
	"github.com/canopy-scheduler/canopy/pkg/feasibility"
	"github.com/canopy-scheduler/canopy/pkg/policies"
)

// The orders of the indexes of queues and applications, one for each policy. Queues of the same policy share them, so
// that the memory of a queue is not read for its order.

// applyOrders applies the orders of the policy of q. If they are others than before, its indexes must be built again.
func (q *Queue) applyOrders() {
	q.children.Order = &queueOrders[q.policy.prioritySort][boolToInt(q.policy.overTime)]
	q.apps.Order = &applicationOrders[q.policy.sort][q.policy.prioritySort]
	if q.policy.sort != policies.StateAware {
		q.starting = nil
		return
	}
	if q.starting == nil {
		q.starting = &feasibility.Index[*Application]{}
	}
	q.starting.Order = &startingOrders[q.policy.prioritySort]
}

// queueOrders are the orders of sibling queues, by the priority sort of their parent, and whether usage over time
// counts.
var queueOrders = [...][2]feasibility.Order[*Queue]{
	policies.PriorityFirst:   queueOrdersOf(policies.PriorityFirst),
	policies.PriorityIgnored: queueOrdersOf(policies.PriorityIgnored),
}

func queueOrdersOf(priority policies.PrioritySort) [2]feasibility.Order[*Queue] {
	return [...]feasibility.Order[*Queue]{
		queueOrder(policies.QueueSort{Priority: priority}),
		queueOrder(policies.QueueSort{Priority: priority, OverTime: true}),
	}
}

func queueOrder(by policies.QueueSort) feasibility.Order[*Queue] {
	return feasibility.NewOrder(feasibility.Order[*Queue]{
		Compare:    func(a, b *Queue) int { return policies.CompareQueues(&a.key, &b.key, by) },
		Entry:      func(q *Queue) *feasibility.Entry[*Queue] { return &q.entry },
		Abbreviate: func(q *Queue) uint64 { return q.key.Abbreviate(by) },
	})
}

// applicationOrders are the orders of the applications of a leaf, by its policies.
var applicationOrders = func() (orders [][2]feasibility.Order[*Application]) {
	for _, sort := range policies.AppSorts() {
		orders = append(orders, ordersOfApplications(sort))
	}
	return append(orders, ordersOfApplications(policies.OverTime))
}()

func ordersOfApplications(sort policies.AppSort) (orders [2]feasibility.Order[*Application]) {
	for _, by := range []policies.PrioritySort{policies.PriorityFirst, policies.PriorityIgnored} {
		orders[by] = feasibility.NewOrder(feasibility.Order[*Application]{
			Compare:    func(a, b *Application) int { return sort.CompareApps(&a.key, &b.key, by) },
			Entry:      func(a *Application) *feasibility.Entry[*Application] { return &a.entry },
			Abbreviate: func(a *Application) uint64 { return sort.AbbreviateApp(&a.key, by) },
		})
	}
	return orders
}

// startingOrders are the orders of the starting applications of a StateAware leaf, by its priority sort.
var startingOrders = [...]feasibility.Order[*Application]{
	policies.PriorityFirst:   startingOrder(policies.PriorityFirst),
	policies.PriorityIgnored: startingOrder(policies.PriorityIgnored),
}

func startingOrder(by policies.PrioritySort) feasibility.Order[*Application] {
	return feasibility.NewOrder(feasibility.Order[*Application]{
		Compare: func(a, b *Application) int { return policies.CompareStateAware(&a.key, &b.key, by) },
		Entry:   func(a *Application) *feasibility.Entry[*Application] { return &a.extra.startingEntry },
	})
}

// askGroupOrder is the order of the ask groups of an application.
var askGroupOrder = feasibility.NewOrder(feasibility.Order[*AskGroup]{
	Compare: func(a, b *AskGroup) int { return policies.CompareAsks(&a.key, &b.key) },
	Entry:   func(g *AskGroup) *feasibility.Entry[*AskGroup] { return &g.entry },
})

// nodeOrder is the order of nodes.
var nodeOrder = feasibility.NewOrder(feasibility.Order[*Node]{
	Compare:    func(a, b *Node) int { return policies.CompareNodes(&a.key, &b.key) },
	Entry:      func(n *Node) *feasibility.Entry[*Node] { return &n.entry },
	Abbreviate: (*Node).AbbreviatedKey,
})
