package sim

import (
	"fmt"
	"strings"

	"github.com/apache/yunikorn-scheduler-interface/lib/go/si"

	"github.com/canopy-scheduler/canopy/pkg/objects"
)

// Answers update the client's state with the lock held. An answer that contradicts the state ends the
// client: a resource manager that continued would start a pod twice, or on a full node.

func (c *Client) onNodes(m *si.NodeResponse) {
	for _, x := range m.Accepted {
		if c.kills.killed {
			return
		}
		n, ok := c.machines[objects.NodeID(x.NodeID)]
		if !ok || n.accepted {
			c.fail("node %s was accepted, which was not asked for", x.NodeID)
			continue
		}
		n.accepted = true
		c.answered()
	}
	for _, x := range m.Rejected {
		if n, ok := c.machines[objects.NodeID(x.NodeID)]; ok && n.accepted {
			c.duplicateNodes++ // the client's own barrier
			continue
		}
		c.fail("node %s was rejected: %s", x.NodeID, x.Reason)
	}
}

func (c *Client) onApplications(m *si.ApplicationResponse) {
	for _, x := range m.Accepted {
		if c.kills.killed {
			return
		}
		a, ok := c.apps[objects.AppID(x.ApplicationID)]
		if !ok || a.accepted {
			c.fail("application %s was accepted, which was not asked for", x.ApplicationID)
			continue
		}
		a.accepted = true
		c.answered()
	}
	for _, x := range m.Rejected {
		queue := objects.QueuePath("nowhere")
		if a, ok := c.apps[objects.AppID(x.ApplicationID)]; ok {
			queue = a.Queue
		}
		c.fail("application %s for queue %s was rejected: %s", x.ApplicationID, queue, x.Reason)
	}
}

// onAllocations processes rejections last: the rejection of a barrier must come after the other parts
// of its message.
func (c *Client) onAllocations(m *si.AllocationResponse) {
	for _, x := range m.New {
		c.onAllocated(x)
	}
	for _, x := range m.Released {
		c.onReleased(x)
	}
	for _, x := range m.RejectedAllocations {
		c.onRejected(x)
	}
}

func (c *Client) onAllocated(x *si.Allocation) {
	if c.kills.killed {
		return
	}
	c.eventCount++
	key, id := objects.AllocationKey(x.AllocationKey), objects.NodeID(x.NodeID)
	t, known := c.askStates[key]
	n, exists := c.machines[id]
	switch {
	case !known:
		c.fail("%s was placed on node %s, and is not an ask", key, id)
		return
	case t.reported && t.node == id:
		t.reported = false
		return
	case t.node != "":
		c.fail("%s was placed on node %s and again on node %s", key, t.node, id)
		return
	case c.kills.recovering:
		c.fail("%s was placed on node %s during the recovery, before a node is schedulable", key, id)
		return
	case !exists || !n.accepted || n.Draining:
		c.fail("%s was placed on node %s, which is not schedulable", key, id)
		return
	}
	n.used = n.used.Add(t.Amounts)
	if !n.Capacity.Covers(n.used) {
		c.fail("%s was placed on node %s, which has %v and would need %v", key, id, n.Capacity, n.used)
		return
	}
	t.node = id
	c.counts.Allocated++
	c.log = append(c.log, Event{Placed, key, id, t.Amounts})
	c.delays = append(c.delays, c.lastAnswer.Sub(t.sentAt))
	c.answered()
}

func (c *Client) onReleased(x *si.AllocationRelease) {
	if c.kills.killed {
		return
	}
	c.eventCount++
	key := objects.AllocationKey(x.AllocationKey)
	t, known := c.askStates[key]
	if !known || t.node == "" {
		c.fail("%s was released, and it is not placed", key)
		return
	}
	if x.TerminationType == si.TerminationType_PREEMPTED_BY_SCHEDULER {
		c.onPreempted(t, x.Message)
		c.answered()
		return
	}
	if !c.releasing[key] {
		c.fail("%s was released, which was not requested: %s", key, x.Message)
		return
	}
	c.removeRunning(t, Released)
	c.counts.Released++
	c.answered()
}

func (c *Client) onRejected(x *si.RejectedAllocation) {
	if c.kills.killed {
		return
	}
	key := objects.AllocationKey(x.AllocationKey)
	if strings.HasPrefix(string(key), barrierName) {
		c.barriers[key] = c.eventCount
		return
	}
	t, known := c.askStates[key]
	if !known || t.node != "" {
		c.fail("ask %s was rejected, and it is not pending: %s", key, x.Reason)
		return
	}
	delete(c.askStates, key)
	delete(c.releasing, key)
	c.rejections = append(c.rejections, Rejection{key, x.Reason})
	c.counts.Rejected++
	c.answered()
}

// fail records the first contradiction.
func (c *Client) fail(format string, args ...any) {
	if c.failed == nil {
		c.failed = fmt.Errorf(format, args...)
	}
}
