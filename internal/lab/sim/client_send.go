package sim

import (
	"context"
	"slices"

	"github.com/apache/yunikorn-scheduler-interface/lib/go/si"

	"github.com/canopy-scheduler/canopy/pkg/objects"
)

// messageBatch bounds the nodes or applications of a message. Asks are not split: the order of
// decisions depends on which asks arrive together. The next message is sent when all of one are accepted, so that what
// is known when the scheduler is killed does not depend on time.
const messageBatch = 1000

// AddNodes registers nodes and waits until all are accepted.
func (c *Client) AddNodes(ctx context.Context, nodes ...Node) error {
	for some := range slices.Chunk(nodes, messageBatch) {
		m := &si.NodeRequest{RmID: c.rm}
		c.mu.Lock()
		for _, n := range some {
			c.machines[n.ID] = &machine{Node: n, number: c.nextNumber()}
			m.Nodes = append(m.Nodes, n.message())
		}
		c.mu.Unlock()
		if err := send(ctx, c, "new nodes", c.nodes, m); err != nil {
			return err
		}
		err := c.waitForAll(ctx, "new nodes to be accepted", len(some),
			func(i int) bool { return c.machines[some[i].ID].accepted })
		if err != nil {
			return err
		}
	}
	return nil
}

// OpenNodes makes drained nodes schedulable, in one message. The interface does not confirm it;
// WaitIdle waits for the effects.
func (c *Client) OpenNodes(ctx context.Context, ids ...objects.NodeID) error {
	return c.setNodes(ctx, "nodes to take into use", false, ids)
}

// DrainNodes drains nodes, in one message; their allocations stay. The interface does not confirm it:
// until WaitIdle returns, asks may still be placed there. No placement may be outstanding.
func (c *Client) DrainNodes(ctx context.Context, ids ...objects.NodeID) error {
	return c.setNodes(ctx, "nodes to drain", true, ids)
}

func (c *Client) setNodes(ctx context.Context, what string, drain bool, ids []objects.NodeID) error {
	m, action := &si.NodeRequest{RmID: c.rm}, si.NodeInfo_DRAIN_TO_SCHEDULABLE
	if drain {
		action = si.NodeInfo_DRAIN_NODE
	}
	c.mu.Lock()
	for _, id := range ids {
		c.machines[id].Draining = drain
		m.Nodes = append(m.Nodes, &si.NodeInfo{NodeID: string(id), Action: action})
	}
	c.nodesUnsettled = true
	c.mu.Unlock()
	return send(ctx, c, what, c.nodes, m)
}

// AddApplications submits applications and waits until all are accepted.
func (c *Client) AddApplications(ctx context.Context, apps ...Application) error {
	for some := range slices.Chunk(apps, messageBatch) {
		m := &si.ApplicationRequest{RmID: c.rm}
		c.mu.Lock()
		for _, a := range some {
			c.apps[a.ID] = &submission{Application: a, number: c.nextNumber()}
			m.New = append(m.New, a.message())
		}
		c.mu.Unlock()
		if err := send(ctx, c, "new applications", c.applications, m); err != nil {
			return err
		}
		err := c.waitForAll(ctx, "new applications to be accepted", len(some),
			func(i int) bool { return c.apps[some[i].ID].accepted })
		if err != nil {
			return err
		}
	}
	return nil
}

// Submit sends asks in one message: the scheduler gets them together.
func (c *Client) Submit(ctx context.Context, asks ...Ask) error {
	m := &si.AllocationRequest{RmID: c.rm}
	for _, a := range asks {
		m.Allocations = append(m.Allocations, a.message())
	}
	if err := c.recordAsks(asks); err != nil {
		return err
	}
	return send(ctx, c, "asks", c.allocations, m)
}

// Confirm confirms the release of victims, in one message; their resources are free then. The keys must
// be in UnconfirmedVictims.
func (c *Client) Confirm(ctx context.Context, victims ...objects.AllocationKey) error {
	m := &si.AllocationRequest{RmID: c.rm, Releases: &si.AllocationReleasesRequest{}}
	if err := c.recordConfirmed(victims, m.Releases); err != nil {
		return err
	}
	return send(ctx, c, "confirmations of victims", c.allocations, m)
}

// Release releases allocations, or withdraws asks, in one message.
func (c *Client) Release(ctx context.Context, keys ...objects.AllocationKey) error {
	m := &si.AllocationRequest{RmID: c.rm, Releases: &si.AllocationReleasesRequest{}}
	if err := c.recordReleases(keys, m.Releases); err != nil {
		return err
	}
	return send(ctx, c, "releases", c.allocations, m)
}
