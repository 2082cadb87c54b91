package randomrun

import (
	"fmt"
	"math"

	"github.com/canopy-scheduler/canopy/pkg/objects"
	"github.com/canopy-scheduler/canopy/pkg/resources"
	"github.com/canopy-scheduler/canopy/pkg/scheduler"
)

func (a *Generator) nodeCommand() scheduler.Command {
	switch a.IntN(8) {
	case 0:
		a.nodeCount--
		return scheduler.RemoveNode{Node: a.nodeID()}
	case 1, 2:
		return a.nodeUpdate()
	case 3, 4, 5:
		return scheduler.SetSchedulable{Node: a.nodeID(), Schedulable: !a.OneIn(4)}
	}
	return a.addNode()
}

func (a *Generator) addNode() scheduler.AddNode {
	a.nodeCount++
	n := scheduler.AddNode{Node: a.nodeID(), Total: a.capacity(), Schedulable: !a.OneIn(5)}
	n.Attributes = a.nodeAttributes(n.Node)
	return n
}

func (a *Generator) nodeID() objects.NodeID {
	return objects.NodeID(fmt.Sprintf("n%d", a.IntN(a.nodePool)))
}

// capacity returns the capacity of a small node, so that nodes fill up and tie.
func (a *Generator) capacity() resources.Amounts {
	m := map[string]resources.Quantity{
		"vcore":  Pick[resources.Quantity](a, 4, 8, 16, 20, 30),
		"memory": Pick[resources.Quantity](a, 4, 8, 16, 24, 40),
		"gpu":    Pick[resources.Quantity](a, 0, 8, 12, 20),
	}
	if a.contended {
		n := Pick[resources.Quantity](a, 3, 4, 6, 8)
		return resources.FromMap(map[string]resources.Quantity{"vcore": n, "memory": n})
	}
	if a.uniform {
		m["vcore"], m["memory"] = 100, 100
	}
	switch a.IntN(32) {
	case 0, 5, 6:
		return resources.Amounts{}
	case 1:
		m["vcore"] = -1
	case 2:
		m["memory"] = math.MaxInt64 - resources.Quantity(a.IntN(3))
	case 3:
		m["disk"] = 3
	case 4:
		m = map[string]resources.Quantity{"disk": 3}
	}
	return resources.FromMap(m)
}

func (a *Generator) foreign() scheduler.Command {
	if a.OneIn(2) {
		return scheduler.ReleaseForeign{Key: a.foreignKey()}
	}
	f := objects.Foreign{Key: a.foreignKey(), Node: a.nodeID(), Amounts: a.amounts(), Static: a.OneIn(2)}
	if a.OneIn(2) {
		f.Amounts = a.capacity() // all of a node, or nearly
	}
	if a.OneIn(15) {
		f.Key = a.knownAsk().Key
	}
	if a.affine {
		f.Tags = a.tags(-1000 - a.askCount)
	}
	return scheduler.ReportForeign{Foreign: f}
}

func (a *Generator) foreignKey() objects.AllocationKey {
	return objects.AllocationKey(fmt.Sprintf("f%d", a.IntN(5)))
}
