package objects

// Oracle evaluates the predicates of the resource manager: taints, affinity, volumes. It is asked during decisions,
// about nodes in node order, until one is accepted (NOD-29). A nil *Oracle means that every node passes the predicates
// (NOD-30, PRE-49).
//
// Within one call of Schedule the same question must get the same answer.
type Oracle struct {
	// Fits reports whether the ask may run on the node, which has the free resources for it. It must not be nil.
	Fits func(ask AllocationKey, node NodeID) bool

	// FitsEach returns what Fits would answer about the nodes. It may have fewer answers than nodes, if the last one is
	// an acceptance: what is behind it does not matter. It is asked, after a refusal of one node, about batches of the
	// nodes that follow in node order (NOD-40). nil: Fits is asked about one node after the other.
	FitsEach func(ask AllocationKey, nodes []NodeID) (fits []bool)

	// FitsWithout reports whether the ask could run on the node without the victims, which are on it now (PRE-47). nil:
	// Fits is asked.
	FitsWithout func(ask AllocationKey, node NodeID, victims []AllocationKey) bool

	// FitsWhenFree reports whether the ask may run on the node when it has the free resources for it, which it does not
	// have now: for a reservation (RES-4), or in the place of a placeholder (GAN-6). nil: Fits is asked.
	FitsWhenFree func(ask AllocationKey, node NodeID) bool
}
