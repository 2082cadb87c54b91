package sim

import (
	"fmt"
	"strings"

	"github.com/apache/yunikorn-scheduler-interface/lib/go/si"

	"github.com/canopy-scheduler/canopy/pkg/objects"
)

// What the client is told is entered into its books, with the lock held. What makes no
// sense, by what it knows, ends the conversation: a resource manager that went on would
// start work twice or on a machine that has no room.

func (c *Client) hearNodes(m *si.NodeResponse) {
	for _, x := range m.Accepted {
		n, ok := c.machines[objects.NodeID(x.NodeID)]
		if !ok || n.accepted {
			c.protest("node %s was accepted, which was not asked for", x.NodeID)
			continue
		}
		n.accepted = true
	}
	for _, x := range m.Rejected {
		if n, ok := c.machines[objects.NodeID(x.NodeID)]; ok && n.accepted {
			c.doubles++ // our own barrier
			continue
		}
		c.protest("node %s was rejected: %s", x.NodeID, x.Reason)
	}
}

func (c *Client) hearApplications(m *si.ApplicationResponse) {
	for _, x := range m.Accepted {
		a, ok := c.apps[objects.AppID(x.ApplicationID)]
		if !ok || a.accepted {
			c.protest("application %s was accepted, which was not asked for", x.ApplicationID)
			continue
		}
		a.accepted = true
	}
	for _, x := range m.Rejected {
		queue := objects.QueuePath("nowhere")
		if a, ok := c.apps[objects.AppID(x.ApplicationID)]; ok {
			queue = a.Queue
		}
		c.protest("application %s for queue %s was rejected: %s", x.ApplicationID, queue, x.Reason)
	}
}

// hearAllocations takes rejections last: that of a barrier must not seem to have come
// before what came with it.
func (c *Client) hearAllocations(m *si.AllocationResponse) {
	for _, x := range m.New {
		c.hearPlaced(x)
	}
	for _, x := range m.Released {
		c.hearReleased(x)
	}
	for _, x := range m.RejectedAllocations {
		c.hearRejected(x)
	}
}

func (c *Client) hearPlaced(x *si.Allocation) {
	c.happened++
	key, id := objects.AllocationKey(x.AllocationKey), objects.NodeID(x.NodeID)
	t, known := c.work[key]
	n, exists := c.machines[id]
	switch {
	case !known:
		c.protest("%s was placed on node %s, and nobody asks for it", key, id)
		return
	case t.node != "":
		c.protest("%s was placed on node %s and again on node %s", key, t.node, id)
		return
	case !exists || !n.accepted || n.Draining:
		c.protest("%s was placed on node %s, which takes no work", key, id)
		return
	}
	n.used = n.used.Add(t.Amounts)
	if !n.Has.Covers(n.used) {
		c.protest("%s was placed on node %s, which has %v and would need %v", key, id, n.Has, n.used)
		return
	}
	t.node = id
	c.counts.Allocated++
	c.log = append(c.log, Event{Placed, key, id, t.Amounts})
	c.delays = append(c.delays, c.heard.Sub(t.at))
}

func (c *Client) hearReleased(x *si.AllocationRelease) {
	c.happened++
	key := objects.AllocationKey(x.AllocationKey)
	t, known := c.work[key]
	if !known || t.node == "" {
		c.protest("%s was released, and it is not placed", key)
		return
	}
	if x.TerminationType == si.TerminationType_PREEMPTED_BY_SCHEDULER {
		c.hearToLeave(t, x.Message)
		return
	}
	if !c.leaving[key] {
		c.protest("%s was released, which nobody asked for: %s", key, x.Message)
		return
	}
	c.leave(t, Released)
	c.counts.Released++
}

func (c *Client) hearRejected(x *si.RejectedAllocation) {
	key := objects.AllocationKey(x.AllocationKey)
	if strings.HasPrefix(string(key), barrierName) {
		c.barriers[key] = c.happened
		return
	}
	t, known := c.work[key]
	if !known || t.node != "" {
		c.protest("ask %s was rejected, and it is not pending: %s", key, x.Reason)
		return
	}
	delete(c.work, key)
	delete(c.leaving, key)
	c.counts.Rejected++
}

// protest notes the first thing that cannot be true.
func (c *Client) protest(format string, args ...any) {
	if c.failed == nil {
		c.failed = fmt.Errorf(format, args...)
	}
}
