package preemption

import (
	"fmt"
	"slices"
	"time"

	"github.com/canopy-scheduler/canopy/pkg/objects"
	"github.com/canopy-scheduler/canopy/pkg/preemption/victim"
	"github.com/canopy-scheduler/canopy/pkg/resources"
)

// pressedNode is a node whose capacity is less than its allocations hold, in its grace (PRE-119).
type pressedNode struct {
	node  *objects.Node
	since time.Time // when its capacity was last lowered in a resource that it lacks
}

// OnNodeResized begins the grace of n if its allocations exceed its capacity. A grace that has begun goes on unless the
// capacity was lowered further in a resource that n lacks. Without a grace n preempts at once (PRE-119).
func (eng *Engine) OnNodeResized(n *objects.Node, before resources.Amounts, now time.Time) {
	conf := eng.part.Config()
	if !conf.NodePressureEnabled || !n.Overcommitted() {
		return
	}
	if conf.NodePressureGrace <= 0 {
		eng.relieveNodePressure(n, now)
		return
	}
	capacity := eng.part.Amounts(n.Total())
	for name := range eng.part.Amounts(n.Available()).Shortage().All() {
		if capacity.Get(name) < before.Get(name) {
			eng.OnNodeRelieved(n) // starts again
			break
		}
	}
	if !slices.ContainsFunc(eng.pressed, func(x pressedNode) bool { return x.node == n }) {
		eng.pressed = append(eng.pressed, pressedNode{n, now})
	}
}

// OnNodeRelieved ends the grace of n, if there is one.
func (eng *Engine) OnNodeRelieved(n *objects.Node) {
	eng.pressed = slices.DeleteFunc(eng.pressed, func(x pressedNode) bool { return x.node == n })
}

// nextGraceEnd returns the end of the first grace. One that has ended is left to the next run.
func (eng *Engine) nextGraceEnd() (at time.Time, ok bool) {
	if len(eng.pressed) == 0 {
		return at, false
	}
	at = eng.pressed[0].since.Add(eng.part.Config().NodePressureGrace)
	return at, at.After(eng.servedUntil)
}

// endGraces preempts on the nodes whose grace has ended.
func (eng *Engine) endGraces(now time.Time) {
	for len(eng.pressed) > 0 && !now.Before(eng.pressed[0].since.Add(eng.part.Config().NodePressureGrace)) {
		n := eng.pressed[0].node
		eng.pressed = slices.Delete(eng.pressed, 0, 1)
		if known, _ := eng.part.Node(n.ID()); known == n && eng.part.Config().NodePressureEnabled {
			eng.relieveNodePressure(n, now)
		}
	}
}

// relieveNodePressure preempts allocations of n, whose capacity is less than they hold (PRE-119, NOD-18).
func (eng *Engine) relieveNodePressure(n *objects.Node, now time.Time) {
	nodeLoad := victim.NodeLoad{Total: eng.part.Amounts(n.Total()), Available: eng.part.Amounts(n.Available())}
	for _, y := range n.Allocations() {
		if eng.part.Preempting(y) || objects.Ending(eng.part, y) {
			nodeLoad.Available = nodeLoad.Available.Add(y.Ask().Amounts)
		} else {
			nodeLoad.Allocations = append(nodeLoad.Allocations, y.Ask())
		}
	}
	var victims []*objects.Allocation
	for _, ask := range victim.ForNodePressure(nodeLoad) {
		y, _ := eng.part.Allocation(ask.Key)
		victims = append(victims, y)
	}
	if len(victims) > 0 {
		eng.logNodePressurePreemption(n.ID(), nodeLoad, victims, now)
	}
	eng.part.MarkPreempting(victims, now)
	eng.host.OnPreempted(victims, nil, victim.ReasonNodePressure,
		fmt.Sprintf("node %s has less capacity than its allocations hold", n.ID()))
}
