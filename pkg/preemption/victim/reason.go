package victim

// Reason says why allocations are preempted. Each plan has one (PRE-7).
type Reason uint8

// The preemption reasons, in the order in which an ask tries them (PRE-7). The last three are not reasons of asks.
const (
	ReasonRequiredNode Reason = iota // the ask has a required node
	ReasonGuarantee                  // a queue of the ask is below its guarantee
	ReasonFairShare                  // the ask is of a side below its fair share
	ReasonPriority                   // the ask has higher priority than the victims
	ReasonQuota                      // a queue is above its enforced max
	ReasonNodePressure               // a node has less capacity than its allocations hold
	ReasonOperator                   // an operator ends the allocation (OPS-7, OPS-10)

	NumAskReasons = int(ReasonQuota) // the reasons before it are those of asks
)

// ReasonCodes are the stable codes of the reasons, for programs.
var ReasonCodes = [...]string{ReasonRequiredNode: "node", ReasonGuarantee: "guarantee",
	ReasonFairShare: "fairshare", ReasonPriority: "priority", ReasonQuota: "quota", ReasonNodePressure: "pressure",
	ReasonOperator: "operator"}

// MarshalText writes the code.
func (r Reason) MarshalText() ([]byte, error) { return []byte(ReasonCodes[r]), nil }

func (r Reason) String() string {
	return [...]string{"required node", "guarantee", "fair share", "priority", "quota", "pressure", "operator"}[r]
}
