package sim

import (
	"context"
	"fmt"

	"github.com/apache/yunikorn-scheduler-interface/lib/go/si"

	"github.com/canopy-scheduler/canopy/pkg/objects"
)

// barrierName starts the keys, and is the application, of asks that must be rejected.
const barrierName = "canopy-sim-barrier"

// evaluationsPerBarrier is how many asks look for victims, at least, before the scheduler takes the
// next barrier.
const evaluationsPerBarrier = 4

// quietBarriers is how many barriers in a row must meet silence. The scheduler decides
// right after it took a barrier, before it takes the next; the second makes sure that
// no decision was still on its way to us. Asks that look for victims do so after all
// decisions, a few at a time, and are silent if they look in vain.
func (c *Client) quietBarriers() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	looking := 0
	for _, t := range c.askStates {
		if t.node == "" && t.Preempts {
			looking++
		}
	}
	return 2 + (looking+evaluationsPerBarrier-1)/evaluationsPerBarrier
}

// WaitIdle waits until all that was sent has been taken, all that can be placed has been
// placed, and we have been told of it. Requires: the scheduler asks no predicates; one
// that waits for answers between decisions may be silent with work left.
func (c *Client) WaitIdle(ctx context.Context) error {
	if err := c.waitNodesIdle(ctx); err != nil {
		return err
	}
	last, err := c.barrier(ctx)
	for quiet, enough := 0, c.quietBarriers(); err == nil && quiet < enough; {
		before := last
		if last, err = c.barrier(ctx); last == before {
			quiet++
		} else {
			quiet, enough = 0, c.quietBarriers()
		}
	}
	if err != nil {
		return fmt.Errorf("waiting for the scheduler to be idle: %w", err)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	clear(c.barriers)
	return c.forgetWithdrawn()
}

// barrier asks for something that the scheduler has to reject, and waits until it has:
// by then everything sent before has been taken. It returns how much had happened.
func (c *Client) barrier(ctx context.Context) (happened uint64, err error) {
	c.barrierCount++
	key := objects.AllocationKey(fmt.Sprintf("%s-%d", barrierName, c.barrierCount))
	m := &si.AllocationRequest{RmID: c.rm, Allocations: []*si.Allocation{{
		AllocationKey: string(key), ApplicationID: barrierName, PartitionName: Partition,
		ResourcePerAlloc: &si.Resource{Resources: map[string]*si.Quantity{"pods": {Value: 1}}},
	}}}
	if err := send(ctx, c, "a barrier", c.allocations, m); err != nil {
		return 0, err
	}
	err = c.wait(ctx,
		func() string {
			return fmt.Sprintf("barrier %s to be rejected (%d allocated, %d released so far)",
				key, c.counts.Allocated, c.counts.Released)
		},
		func() (passed bool) { happened, passed = c.barriers[key]; return passed })
	return happened, err
}

// waitNodesIdle is a barrier on the node stream, which the one among the asks may
// overtake: a node that exists already has to be rejected.
func (c *Client) waitNodesIdle(ctx context.Context) error {
	c.mu.Lock()
	want := c.duplicateNodes + 1
	unsettled := c.nodesUnsettled
	var m *si.NodeRequest
	if unsettled {
		m = &si.NodeRequest{RmID: c.rm, Nodes: []*si.NodeInfo{c.sortedMachines()[0].message()}}
		c.nodesUnsettled = false
	}
	c.mu.Unlock()
	if !unsettled {
		return nil
	}
	if err := send(ctx, c, "a barrier among the nodes", c.nodes, m); err != nil {
		return err
	}
	return c.wait(ctx,
		func() string { return "node changes to be taken: a node that exists to be rejected" },
		func() bool { return c.duplicateNodes >= want })
}
