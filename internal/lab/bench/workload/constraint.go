package workload

// The constraints that Spec.Constraint names, after the shapes of scheduler_perf, the benchmark of kube-scheduler.
// Nodes are in three zones by turns, every fourth has a taint.
const (
	NodeAffinity = "nodeaffinity" // required node affinity for two of the zones
	Taints       = "taints"       // a toleration of the taint
	PodAffinity  = "affinity"     // required pod affinity to each other in a zone
	AntiAffinity = "antiaffinity" // required anti-affinity to each other on a node: at most one ask for each node
	Spread       = "spread"       // topology spread over the zones with a maxSkew of 1
	SpreadNodes  = "spreadnodes"  // topology spread over the nodes with a maxSkew of 1
	Mixed        = "mixed"        // of three asks one with pod affinity, one with anti-affinity, and one without

	// preferred node affinity for one zone, and with less weight for another
	PreferredNodeAffinity = "preferrednodeaffinity"
	SoftTaints            = "softtaints"            // no constraint; every fourth node has a taint with PreferNoSchedule
	PreferredAffinity     = "preferredaffinity"     // preferred pod affinity to each other on a node
	PreferredAntiAffinity = "preferredantiaffinity" // preferred anti-affinity to each other on a node
	PreferredSpread       = "preferredspread"       // topology spread over the zones with ScheduleAnyway
	PreferredSpreadNodes  = "preferredspreadnodes"  // topology spread over the nodes with ScheduleAnyway
	// preferred node affinity, affinity in a zone, and spread over the nodes in every ask
	PreferredMix = "preferredmix"
)

// Constraints returns all constraints.
func Constraints() []string {
	return []string{NodeAffinity, Taints, PodAffinity, AntiAffinity, Spread, SpreadNodes, Mixed,
		PreferredNodeAffinity, SoftTaints, PreferredAffinity, PreferredAntiAffinity, PreferredSpread, PreferredSpreadNodes,
		PreferredMix}
}
