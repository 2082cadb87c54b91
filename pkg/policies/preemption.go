package policies

// Preemption says whose work a queue may take, and who may take its work
// (property preemption.policy).
type Preemption uint8

// The preemption policies. Only PreemptDisabled is inherited (behaviour.md 2.2).
const (
	PreemptDefault  Preemption = iota // victims may come from anywhere up to the next fence
	PreemptFence                      // victims come only from this queue's subtree
	PreemptDisabled                   // this queue never gives up victims
)

// PriorityPreemption says whose place an ask may take only because it is more important
// (property preemption.priority, which upstream does not have).
type PriorityPreemption uint8

// The scopes of preemption by priority. They are inherited.
const (
	PrioritySwapNone  PriorityPreemption = iota // nobody's: "disabled"
	PrioritySwapLeaf                            // that of less important work in its own leaf
	PrioritySwapFence                           // also of other queues, up to the preemption fence
)

// VictimUnit says who falls together when work of a queue is preempted (property
// preemption.victim.unit, which upstream does not have).
type VictimUnit uint8

// The units of victims. They are inherited.
const (
	UnitAllocation  VictimUnit = iota // each on its own
	UnitTaskGroup                     // all of a task group of an application
	UnitApplication                   // all of an application
)

func (u VictimUnit) String() string { return [...]string{"allocation", "taskgroup", "application"}[u] }

func (p PriorityPreemption) String() string { return [...]string{"disabled", "leaf", "fence"}[p] }

func (p Preemption) String() string { return [...]string{"default", "fence", "disabled"}[p] }
