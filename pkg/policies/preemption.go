package policies

// PreemptionPolicy says whose work a queue may take, and who may take its work
// (property preemption.policy).
type PreemptionPolicy uint8

// The preemption policies. Only PreemptDisabled is inherited (behaviour.md 2.2).
const (
	PreemptDefault  PreemptionPolicy = iota // victims may come from anywhere up to the next fence
	PreemptFence                            // victims come only from this queue's subtree
	PreemptDisabled                         // this queue never gives up victims
)

// PriorityPreemption says whose place an ask may take only because it is more important
// (property preemption.priority, which upstream does not have).
type PriorityPreemption uint8

// The scopes of preemption by priority. They are inherited.
const (
	PriorityPreemptionDisabled PriorityPreemption = iota // nobody's: "disabled"
	PriorityPreemptionLeaf                               // that of less important work in its own leaf
	PriorityPreemptionFence                              // also of other queues, up to the preemption fence
)

// VictimUnit says who falls together when work of a queue is preempted (property
// preemption.victim.unit, which upstream does not have).
type VictimUnit uint8

// The units of victims. They are inherited.
const (
	VictimUnitAllocation  VictimUnit = iota // each on its own
	VictimUnitTaskGroup                     // all of a task group of an application
	VictimUnitApplication                   // all of an application
)

func (u VictimUnit) String() string { return [...]string{"allocation", "taskgroup", "application"}[u] }

// BudgetPolicy says how far disruption budgets keep the work of a queue in its place (property
// disruption.budgets, which upstream does not have).
type BudgetPolicy uint8

// How budgets count. They are inherited.
const (
	BudgetsBestEffort BudgetPolicy = iota // others leave rather, if there are others
	BudgetsStrict                         // nobody leaves beyond a budget
	BudgetsIgnored                        // they do not count
)

func (b BudgetPolicy) String() string { return [...]string{"best-effort", "strict", "ignore"}[b] }

// VictimOrder says what counts first among those whose place an ask may take (property
// preemption.victim.order, which upstream does not have).
type VictimOrder uint8

// The orders of victims. They are inherited.
const (
	VictimOrderCompatible VictimOrder = iota // as upstream: the one who agreed to leave, then the youngest
	VictimOrderPriority                      // the least important
)

func (o VictimOrder) String() string { return [...]string{"compatible", "priority"}[o] }

// VictimQoS says whether the quality of service decides between victims that are equally
// important (property preemption.victim.qos, which upstream does not have).
type VictimQoS uint8

// Whether it does. They are inherited.
const (
	VictimQoSDisabled VictimQoS = iota // "disabled": as Kubernetes
	VictimQoSEnabled                   // "enabled": best effort leaves before burstable before guaranteed
)

func (q VictimQoS) String() string { return [...]string{"disabled", "enabled"}[q] }

func (p PriorityPreemption) String() string { return [...]string{"disabled", "leaf", "fence"}[p] }

func (p PreemptionPolicy) String() string { return [...]string{"default", "fence", "disabled"}[p] }
