package randomrun

import (
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/canopy-scheduler/canopy/pkg/configs"
	"github.com/canopy-scheduler/canopy/pkg/limits"
	"github.com/canopy-scheduler/canopy/pkg/placement"
	"github.com/canopy-scheduler/canopy/pkg/policies"
	"github.com/canopy-scheduler/canopy/pkg/resources"
	"github.com/canopy-scheduler/canopy/pkg/security"
)

// partition generates a configuration with one to four levels below root.
func (a *Generator) partition() configs.Partition {
	root := a.queue("root", 1+a.IntN(4))
	root.Parent, root.Max = true, resources.Limit{}
	if !a.OneIn(3) {
		root.SubmitACL = security.Everyone()
	}
	if len(root.Children) == 0 {
		root.Children = []configs.Queue{a.queue("a", 0)}
	}
	if a.large {
		root.Children = root.Children[:1]
		for i := range Pick(a, 0, largeSize) {
			root.Children = append(root.Children, a.queue(fmt.Sprintf("w%d", i), 0))
		}
	}
	conf := configs.Partition{
		Name: "default", Root: root, PlacementRules: a.placementRules(), NodeSortPolicy: a.nodeOrder(),
		PreemptionEnabled:      a.preempting && !a.OneIn(6),
		QuotaPreemptionEnabled: a.configuredQueues%5 != 0, NodePressureEnabled: a.contended && a.OneIn(2),
		NodePressureGrace: a.nodePressureGrace(), NominationTimeout: a.nominationTimeout(), Churn: a.cycleConfig(),
		PriorityDisabled: (a.nodePool+3*a.askCount)%9 == 0,
	}
	return withBudgets(conf)
}

// nominationTimeout follows from the counts so far: another draw would change the runs of all seeds.
func (a *Generator) nominationTimeout() time.Duration {
	return []time.Duration{8 * time.Second, 0, 30 * time.Second, 5 * time.Minute}[(a.nodePool+a.askCount)%4]
}

// nodePressureGrace likewise draws nothing.
func (a *Generator) nodePressureGrace() time.Duration {
	return []time.Duration{0, 3 * time.Second, 20 * time.Second}[(a.nodePool+a.askCount)%3]
}

// cycleConfig returns limits that runs reach. Like nominationTimeout it draws nothing.
func (a *Generator) cycleConfig() configs.Churn {
	return []configs.Churn{
		{CircuitBreaker: true, Cycles: 1, Window: time.Hour, CoolDown: time.Minute}, {},
		{CircuitBreaker: true, Cycles: 2, Window: time.Hour, CoolDown: 8 * time.Second},
		{Cycles: 1, Window: time.Hour, CoolDown: time.Minute},
		{CircuitBreaker: true, Cycles: 1, Window: 20 * time.Second, CoolDown: 5 * time.Minute},
	}[(a.nodePool+2*a.askCount)%5]
}

// placementRules place by user first, sometimes, and then by the submitted queue.
func (a *Generator) placementRules() []placement.Rule {
	provided := placement.Rule{Kind: placement.Provided, Create: !a.OneIn(3)}
	switch a.IntN(4) {
	case 0:
		return []placement.Rule{{Kind: placement.UserName, Create: a.OneIn(3)}, provided}
	case 1:
		return []placement.Rule{provided, {Kind: placement.UserName, Create: true}}
	case 2:
		return []placement.Rule{provided}
	}
	return nil
}

func (a *Generator) queue(name string, levels int) configs.Queue {
	q := configs.Queue{Name: name}
	a.configureQueue(&q)
	if levels == 0 || a.OneIn(4) && name != "root" {
		q.Parent = a.OneIn(12)
		return q
	}
	q.Parent = true
	if a.OneIn(3) {
		t := a.queue("", 0)
		q.ChildTemplate = &configs.ChildTemplate{MaxApplications: t.MaxApplications, Max: t.Max, Guaranteed: t.Guaranteed,
			Settings: t.Settings}
	}
	for _, child := range []string{"a", "b", Pick(a, "c", "c", "default")}[:1+a.IntN(3)] {
		q.Children = append(q.Children, a.queue(child, levels-1))
	}
	return q
}

// configureQueue gives a queue quotas and settings.
func (a *Generator) configureQueue(q *configs.Queue) {
	q.Max, q.Guaranteed = resources.Limit{}, resources.Guarantee{}
	if a.OneIn(3) && q.Name != "root" {
		q.Max = resources.LimitFromMap(a.quotaMap(0, 8, 16, 16, 30, 30))
	}
	if a.OneIn(2) {
		q.Guaranteed = resources.GuaranteeFromMap(a.quotaMap(0, 1, 2, 4, 10))
	}
	q.Settings = configs.Settings{
		AppSort:        Pick(a, policies.AppSorts()...),
		PrioritySort:   Pick(a, policies.PriorityFirst, policies.PriorityFirst, policies.PriorityIgnored),
		PriorityPolicy: Pick(a, policies.PriorityDefault, policies.PriorityDefault, policies.PriorityFence),
	}
	if a.OneIn(3) {
		q.PriorityOffset = a.priority()
	}
	if a.preempting {
		q.PreemptionPolicy = Pick(a, policies.PreemptDefault, policies.PreemptDefault, policies.PreemptDefault,
			policies.PreemptFence, policies.PreemptDisabled)
		q.PriorityPreemption = Pick(a, policies.PriorityPreemptionDisabled, policies.PriorityPreemptionLeaf,
			policies.PriorityPreemptionFence)
		q.PreemptionDelay = Pick(a, 0, time.Second, 30*time.Second)
	}
	q.PriorityPreemptionDelay = []time.Duration{0, 0, 0, time.Second, 20 * time.Second}[a.askCount%5]
	if a.contended {
		q.PreemptionDelay, q.PriorityOffset = 0, Pick[int32](a, 0, 0, 0, 0, 3)
		q.PriorityPreemption = Pick(a, policies.PriorityPreemptionDisabled, policies.PriorityPreemptionLeaf,
			policies.PriorityPreemptionFence, policies.PriorityPreemptionFence)
		q.VictimUnit = Pick(a, policies.VictimUnitAllocation, policies.VictimUnitAllocation, policies.VictimUnitTaskGroup,
			policies.VictimUnitApplication)
		q.GangPreemption = a.OneIn(3)
		q.BudgetPolicy = Pick(a, policies.BudgetsBestEffort, policies.BudgetsStrict, policies.BudgetsIgnored)
		q.VictimOrder = Pick(a, policies.VictimOrderCompatible, policies.VictimOrderPriority)
		q.VictimQoS = Pick(a, policies.VictimQoSDisabled, policies.VictimQoSEnabled)
		if !a.OneIn(3) {
			q.Guaranteed = resources.GuaranteeFromMap(map[string]resources.Quantity{"vcore": Pick[resources.Quantity](a, 0, 2, 4,
				8)})
		}
		if a.OneIn(2) {
			q.Max, q.PreemptionPolicy, q.PriorityPolicy = resources.Limit{}, policies.PreemptDefault, policies.PriorityDefault
		}
	}
	a.configuredQueues++ // not drawn: another draw would change the runs of all seeds
	q.QuotaPreemptionDelay = []time.Duration{0, time.Second, 10 * time.Second, time.Minute}[a.configuredQueues%4]
	q.UpdatesLeaves = a.configuredQueues%3 == 0
	q.SubmitACL, q.AdminACL = a.acl(), a.acl()
	q.MaxApplications, q.Limits = 0, nil
	if !a.limited {
		return
	}
	if a.OneIn(6) {
		q.MaxApplications = uint64(1 + a.IntN(4))
	}
	for a.OneIn(4) && len(q.Limits) < 3 {
		q.Limits = append(q.Limits, a.limit())
	}
}

// limit returns a limit for some users and groups of the run.
func (a *Generator) limit() limits.Limit {
	var r limits.Limit
	for r.Users == nil && r.Groups == nil {
		if a.OneIn(2) {
			r.Users = []string{Pick(a, Pick(a, users...).Name, limits.Wildcard)}
		}
		if a.OneIn(2) {
			r.Groups = []string{Pick(a, "dev", "ops", "data.science", limits.Wildcard)}
		}
	}
	if a.OneIn(2) {
		r.MaxApplications = uint64(1 + a.IntN(2))
	}
	if r.MaxApplications == 0 || a.OneIn(2) {
		r.MaxResources = resources.LimitFromMap(a.quotaMap(0, 4, 8, 16, 16))
	}
	return r
}

// acl returns a list that is mostly empty, or has some of the users and groups of the run.
func (a *Generator) acl() security.ACL {
	switch a.IntN(12) {
	case 0:
		return security.Everyone()
	case 1, 2:
		return security.AllowList([]string{Pick(a, users...).Name, Pick(a, users...).Name}, nil)
	case 3:
		return security.AllowList([]string{Pick(a, users...).Name}, []string{Pick(a, "dev", "ops", "data.science")})
	case 4:
		return security.AllowList(nil, []string{Pick(a, "dev", "ops", "dev2")})
	}
	return security.ACL{}
}

// users submit the applications of all runs. Names of users and groups overlap on purpose.
var users = []security.User{
	{Name: "u"}, {Name: "v.w", Groups: []string{"v.w"}}, {Name: "dev", Groups: []string{"dev"}},
	{Name: "x", Groups: []string{"ops", "dev"}}, {Name: "system:serviceaccount:ns:x", Groups: []string{"data.science"}},
}

func (a *Generator) quotaMap(choices ...resources.Quantity) map[string]resources.Quantity {
	m := map[string]resources.Quantity{}
	for range 1 + a.IntN(2) {
		m[Pick(a, "vcore", "vcore", "memory", "memory", "gpu", "disk")] = Pick(a, choices...)
	}
	return m
}

func (a *Generator) nodeOrder() policies.NodeSortPolicy {
	o := policies.NodeSortPolicy{Sort: Pick(a, policies.NodeSortFair, policies.NodeSortBinPacking)}
	for _, name := range []string{"gpu", "memory", "vcore"} {
		if !a.OneIn(3) {
			o.Weights = append(o.Weights, policies.Weight{Resource: name, Weight: Pick(a, 1, 1, 0.1, 2.5, 3.7)})
		}
	}
	return o
}

func (a *Generator) priority() int32 {
	if a.OneIn(8) {
		return Pick(a, math.MinInt32, math.MaxInt32, math.MaxInt32-1, int32(a.Uint32()))
	}
	return Pick[int32](a, 0, 0, 0, 1, 2, 5, -3)
}

// reloadConfig changes the configuration: mostly a little, seldom all of it. The generator keeps most
// changes and drops some, so that a rejected configuration is not repeated for ever. A max that was
// lowered for enforcement is restored at the next reload.
func (a *Generator) ReloadConfig() configs.Partition {
	conf := a.Conf
	switch {
	case a.OneIn(6):
		conf = a.partition()
	case a.OneIn(5):
		conf.NodeSortPolicy, conf.PlacementRules, conf.NominationTimeout, conf.NodePressureGrace, conf.Churn = a.nodeOrder(),
			a.placementRules(), a.nominationTimeout(), a.nodePressureGrace(), a.cycleConfig()
		conf.PriorityDisabled = (a.reloads+a.nodePool)%4 == 0
	default:
		conf.Root = a.changedQueue(conf.Root)
	}
	conf = withBudgets(conf)
	if a.OneIn(2) {
		a.Conf = conf
	}
	a.reloads++
	if a.reloads%3 > 0 {
		conf.Root, conf.QuotaPreemptionEnabled = a.withLoweredMax(conf.Root, a.reloads), true
	}
	return conf
}

// recordQueueChange is q with a change at q or at a queue below it. The old one is unchanged: it may be
// in use.
func (a *Generator) changedQueue(q configs.Queue) configs.Queue {
	q.Children = slices.Clone(q.Children)
	n := len(q.Children)
	switch {
	case n > 0 && !a.OneIn(3):
		i := a.IntN(n)
		q.Children[i] = a.changedQueue(q.Children[i])
	case a.OneIn(3) && n > 0:
		i := a.IntN(n)
		q.Children = slices.Delete(q.Children, i, i+1)
	case a.OneIn(3):
		name := Pick(a, "a", "b", "c", "d")
		if !slices.ContainsFunc(q.Children, func(c configs.Queue) bool { return c.Name == name }) {
			q.Parent = true
			q.Children = append(q.Children, a.queue(name, a.IntN(2)))
		}
	case q.Name == "root":
		q.PrioritySort = Pick(a, policies.PriorityFirst, policies.PriorityIgnored)
		q.PriorityOffset, q.PriorityPolicy = a.priority(), policies.PriorityFence
	default:
		a.configureQueue(&q)
		if n == 0 && a.OneIn(6) {
			q.Parent = !q.Parent
		}
	}
	return q
}

// withLoweredMax returns q with a small max at one of the queues below it, which is enforced soon. Queue and max follow
// from the counts so far.
func (a *Generator) withLoweredMax(q configs.Queue, turn int) configs.Queue {
	q.Children = slices.Clone(q.Children)
	if n := len(q.Children); n > 0 && (q.Name == "root" || turn%3 > 0) {
		q.Children[turn%n] = a.withLoweredMax(q.Children[turn%n], turn+a.configuredQueues)
		return q
	}
	if q.Name != "root" {
		few := resources.Quantity(a.askCount % 5)
		q.Max = resources.LimitFromMap([]map[string]resources.Quantity{
			{"vcore": few}, {"memory": 2 * few}, {"vcore": few, "memory": 16}, {"gpu": few, "memory": few, "vcore": 2 + few},
		}[turn%4])
		q.QuotaPreemptionDelay = []time.Duration{time.Second, 5 * time.Second, 30 * time.Second}[a.askCount%3]
	}
	return q
}
