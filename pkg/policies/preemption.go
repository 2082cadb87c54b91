package policies

// PreemptionPolicy says where the victims of asks of a queue may be, and whether allocations of the queue may be
// victims (property preemption.policy, PRE-19, PRE-28).
type PreemptionPolicy uint8

// The preemption policies. Only PreemptDisabled is inherited (PRE-20).
const (
	PreemptDefault  PreemptionPolicy = iota // "default": victims are in any queue up to the next fence
	PreemptFence                            // "fence": victims are in this queue and below it
	PreemptDisabled                         // "disabled": allocations of this queue are no victims
)

// PriorityPreemption is the scope in which an ask may preempt by reason of priority (property
// preemption.priority, which YuniKorn does not have, PRE-17).
type PriorityPreemption uint8

// The scopes of preemption by priority. They are inherited.
const (
	PriorityPreemptionDisabled PriorityPreemption = iota // "disabled": no preemption by priority
	PriorityPreemptionLeaf                               // "leaf": allocations of lower priority in the leaf of the ask
	PriorityPreemptionFence                              // "fence": also in other queues, up to the preemption fence
)

// VictimUnit says which allocations of a queue are preempted together (property preemption.victim.unit, which
// YuniKorn does not have, PRE-50).
type VictimUnit uint8

// The units of victims. They are inherited.
const (
	VictimUnitAllocation  VictimUnit = iota // each by itself
	VictimUnitTaskGroup                     // all allocations of a task group of an application
	VictimUnitApplication                   // all allocations of an application
)

func (u VictimUnit) String() string { return [...]string{"allocation", "taskgroup", "application"}[u] }

// BudgetPolicy says how far disruption budgets protect the allocations of a queue (property disruption.budgets,
// which YuniKorn does not have, PRE-68).
type BudgetPolicy uint8

// The budget policies. They are inherited.
const (
	BudgetsBestEffort BudgetPolicy = iota // a budget is violated only if there is no other plan
	BudgetsStrict                         // a budget is never violated
	BudgetsIgnored                        // budgets do not count
)

func (b BudgetPolicy) String() string { return [...]string{"best-effort", "strict", "ignore"}[b] }

// VictimOrder is the victim order by reason of the guarantee (property preemption.victim.order, which YuniKorn
// does not have, PRE-42, PRE-43).
type VictimOrder uint8

// The victim orders. They are inherited.
const (
	VictimOrderCompatible VictimOrder = iota // as YuniKorn: opted in, not originator, then the newest first
	VictimOrderPriority                      // priority counts too, after opt-out and originator
)

func (o VictimOrder) String() string { return [...]string{"compatible", "priority"}[o] }

// VictimQoS says whether the quality of service is compared between victims of equal priority (property
// preemption.victim.qos, which YuniKorn does not have, PRE-45).
type VictimQoS uint8

// The values of preemption.victim.qos. They are inherited.
const (
	VictimQoSDisabled VictimQoS = iota // "disabled": it does not count, as in kube-scheduler
	VictimQoSEnabled                   // "enabled": BestEffort is preempted before Burstable before Guaranteed
)

// PreemptionGuarantee says in which requested resources a queue may not exceed its guarantee so that the guarantee
// entitles an ask to preempt (property preemption.guarantee, which YuniKorn does not have, PRE-13, PRE-121).
type PreemptionGuarantee uint8

// The values of preemption.guarantee. They are inherited.
const (
	PreemptionGuaranteeAll     PreemptionGuarantee = iota // "all": in none of them
	PreemptionGuaranteeLacking                            // "lacking": in none for which the ask needs victims
)

func (g PreemptionGuarantee) String() string { return [...]string{"all", "lacking"}[g] }

func (q VictimQoS) String() string { return [...]string{"disabled", "enabled"}[q] }

func (p PriorityPreemption) String() string { return [...]string{"disabled", "leaf", "fence"}[p] }

func (p PreemptionPolicy) String() string { return [...]string{"default", "fence", "disabled"}[p] }
