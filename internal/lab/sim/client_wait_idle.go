package sim

import (
	"context"
	"fmt"

	"github.com/apache/yunikorn-scheduler-interface/lib/go/si"

	"github.com/canopy-scheduler/canopy/pkg/objects"
)

// barrierName is the prefix of the keys, and the application ID, of barriers: asks that must be
// rejected.
const barrierName = "canopy-sim-barrier"

// evaluationsPerBarrier is a lower bound of the asks that the scheduler evaluates for preemption
// between two barriers.
const evaluationsPerBarrier = 4

// quietBarriers returns how many barriers in a row must pass without an event. The scheduler decides after
// each barrier and before the next; the second barrier ensures that no decision is in transit.
// Preemption is evaluated after all decisions, a few asks at a time, and sends nothing if an ask finds
// no victims.
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

// WaitIdle waits until every sent message is processed, all feasible asks are placed, and the client
// has the answers. The scheduler must not call predicates: while it waits for them it may be silent
// with asks left to place.
func (c *Client) WaitIdle(ctx context.Context) error {
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

// barrier sends an ask that the scheduler must reject, and waits for the rejection: every earlier
// message is processed then. It returns the number of events until then. A scheduler that is killed
// meanwhile does not answer: the next one gets a barrier of its own.
func (c *Client) barrier(ctx context.Context) (happened uint64, err error) {
	for passed := false; !passed; {
		if err := c.waitNodesIdle(ctx); err != nil {
			return 0, err
		}
		if happened, passed, err = c.askBarrier(ctx); err != nil {
			return 0, err
		}
	}
	return happened, nil
}

// askBarrier returns a barrier on the allocation stream; passed is false if the scheduler was killed.
func (c *Client) askBarrier(ctx context.Context) (happened uint64, passed bool, err error) {
	c.barrierCount++
	recoveries := c.recoveries
	key := objects.AllocationKey(fmt.Sprintf("%s-%d", barrierName, c.barrierCount))
	m := &si.AllocationRequest{RmID: c.rm, Allocations: []*si.Allocation{{
		AllocationKey: string(key), ApplicationID: barrierName, PartitionName: Partition,
		ResourcePerAlloc: &si.Resource{Resources: map[string]*si.Quantity{"pods": {Value: 1}}},
	}}}
	if err := send(ctx, c, "a barrier", c.allocations, m); err != nil {
		return 0, false, err
	}
	err = c.wait(ctx,
		func() string {
			return fmt.Sprintf("barrier %s to be rejected (%d allocated, %d released so far)",
				key, c.counts.Allocated, c.counts.Released)
		},
		func() bool { happened, passed = c.barriers[key]; return passed || c.recoveries != recoveries })
	return happened, passed, err
}

// waitNodesIdle returns a barrier on the node stream, which asks may overtake: the registration of an
// existing node must be rejected.
func (c *Client) waitNodesIdle(ctx context.Context) error {
	for c.nodesUnsettled {
		c.mu.Lock()
		want, recoveries := c.duplicateNodes+1, c.recoveries
		m := &si.NodeRequest{RmID: c.rm, Nodes: []*si.NodeInfo{c.sortedMachines()[0].message()}}
		c.nodesUnsettled = false // a recovery sets it again
		c.mu.Unlock()
		if err := send(ctx, c, "a barrier among the nodes", c.nodes, m); err != nil {
			return err
		}
		err := c.wait(ctx,
			func() string { return "node changes to be processed: a node that exists to be rejected" },
			func() bool { return c.duplicateNodes >= want || c.recoveries != recoveries })
		if err != nil {
			return err
		}
	}
	return nil
}
