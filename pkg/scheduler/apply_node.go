package scheduler

import (
	"fmt"
	"time"
)

func (c *Core) addNode(m AddNode) {
	err := c.open()
	if err == nil {
		err = c.part.AddNode(m.Node, m.Total, m.Attributes, m.Schedulable)
	}
	if err != nil {
		c.emit(NodeRejected{m.Node, err.Error()})
		return
	}
	c.emit(NodeAccepted{m.Node})
}

func (c *Core) setCapacity(now time.Time, m SetCapacity) {
	if err := c.part.SetCapacity(m.Node, m.Total); err != nil {
		c.refuse("capacity of node "+string(m.Node), err)
		return
	}
	c.relieve(m.Node, now)
}

func (c *Core) removeNode(now time.Time, m RemoveNode) {
	gone, err := c.part.RemoveNode(m.Node, now)
	c.refuse("removal of node "+string(m.Node), err)
	c.noteGone(End{How: LeftWithNode, At: now}, gone...)
	c.noteEnded(NominationLeftNode, now)
	for _, x := range gone {
		c.emit(Released{x.Key(), x.Ask().App, StoppedByRM, fmt.Sprintf("node %s was removed", m.Node)})
	}
	c.tellStates()
}
