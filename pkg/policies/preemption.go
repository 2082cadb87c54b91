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

func (p Preemption) String() string { return [...]string{"default", "fence", "disabled"}[p] }
