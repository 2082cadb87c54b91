package workload

// The topologies that Spec.Topology names. Nodes are in racks of 40 and in zones of 1,000.
const (
	RequiredRack  = "rack"      // one rack must have all members of a gang
	PreferredRack = "zone-rack" // one zone must have all members of a gang, and one rack should
)

// Topologies returns all topologies.
func Topologies() []string { return []string{RequiredRack, PreferredRack} }
