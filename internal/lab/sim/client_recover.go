package sim

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/apache/yunikorn-scheduler-interface/lib/go/common"
	"github.com/apache/yunikorn-scheduler-interface/lib/go/si"

	"github.com/canopy-scheduler/canopy/pkg/objects"
)

// recover starts the killed scheduler again, registers, and reports the state in the order of RMI-58: nodes that are
// unschedulable, applications, allocations with their nodes, asks, and then the nodes become schedulable.
// Each step waits until the one before is processed.
func (c *Client) recover(ctx context.Context) error {
	if err := c.connection.close(); err != nil {
		return fmt.Errorf("closing the connection to the killed scheduler: %w", err)
	}
	address, err := c.kills.scheduler.Restart(ctx)
	if err != nil {
		return fmt.Errorf("starting the scheduler again: %w", err)
	}
	next, err := connect(ctx, address, c.options)
	if err != nil {
		return err
	}
	c.connection = next
	ready := time.Now()
	r, err := c.beginRecovery()
	if err == nil {
		err = c.report(ctx, r)
	}
	if err != nil {
		return fmt.Errorf("recovery %d: %w", c.recoveries, err)
	}
	if c.kills.recovered != nil {
		c.kills.recovered(Recovery{
			Nodes: len(r.nodes), Applications: len(r.applications), Allocations: len(r.allocations), Asks: len(r.asks),
			Restart: ready.Sub(r.killedAt), Report: time.Since(ready),
		})
	}
	return nil
}

// recovery is the state that is reported, in the order in which it came to be.
type recovery struct {
	killedAt     time.Time
	nodes        []*machine
	applications []*submission
	allocations  []*askState
	asks         []*askState // pending
	running      map[objects.AppID]bool
}

// beginRecovery returns the state to report. What the client has released is gone, whether the scheduler has
// confirmed it or not. No victim may be unconfirmed: a new scheduler does not know of it.
func (c *Client) beginRecovery() (*recovery, error) {
	c.recoveries++
	c.nodesUnsettled = false
	c.mu.Lock()
	defer c.mu.Unlock()
	c.kills.killed, c.kills.recovering = false, true
	c.eventCount++
	clear(c.barriers)
	for _, key := range slices.Sorted(maps.Keys(c.releasing)) {
		if t := c.askStates[key]; t.node != "" {
			c.removeRunning(t, Released)
			c.counts.Released++
		}
		delete(c.askStates, key)
	}
	clear(c.releasing)
	r := &recovery{killedAt: c.kills.at, running: map[objects.AppID]bool{}}
	r.nodes = slices.SortedFunc(maps.Values(c.machines),
		func(a, b *machine) int { return cmp.Compare(a.number, b.number) })
	r.applications = slices.SortedFunc(maps.Values(c.apps),
		func(a, b *submission) int { return cmp.Compare(a.number, b.number) })
	for _, t := range slices.SortedFunc(maps.Values(c.askStates),
		func(a, b *askState) int { return cmp.Compare(a.number, b.number) }) {
		switch {
		case t.preempting:
			return nil, fmt.Errorf("the release of victim %s is not confirmed", t.Key)
		case t.node == "":
			r.asks = append(r.asks, t)
		default:
			t.reported = true
			r.allocations = append(r.allocations, t)
			r.running[t.App] = true
		}
	}
	for _, m := range r.nodes {
		m.accepted = false
	}
	for _, a := range r.applications {
		a.accepted = false
	}
	return r, nil
}

// report registers and reports the state.
func (c *Client) report(ctx context.Context, r *recovery) error {
	if err := c.register(ctx); err != nil {
		return err
	}
	for _, step := range []func(context.Context, *recovery) error{
		c.reportNodes, c.reportApplications, c.reportAllocations, c.reportAsks, c.openReportedNodes,
	} {
		if err := step(ctx, r); err != nil {
			return err
		}
	}
	return nil
}

func (c *Client) reportNodes(ctx context.Context, r *recovery) error {
	for some := range slices.Chunk(r.nodes, messageBatch) {
		m := &si.NodeRequest{RmID: c.rm}
		for _, n := range some {
			unschedulable := n.Node
			unschedulable.Draining = true
			m.Nodes = append(m.Nodes, unschedulable.message())
		}
		if err := send(ctx, c, "reported nodes", c.nodes, m); err != nil {
			return err
		}
	}
	return c.waitForAll(ctx, "reported nodes to be accepted", len(r.nodes),
		func(i int) bool { return r.nodes[i].accepted })
}

func (c *Client) reportApplications(ctx context.Context, r *recovery) error {
	for some := range slices.Chunk(r.applications, messageBatch) {
		m := &si.ApplicationRequest{RmID: c.rm}
		for _, a := range some {
			x := a.message()
			if r.running[a.ID] {
				x.Tags = map[string]string{common.AppTagCreateForce: "true"}
			}
			m.New = append(m.New, x)
		}
		if err := send(ctx, c, "reported applications", c.applications, m); err != nil {
			return err
		}
	}
	return c.waitForAll(ctx, "reported applications to be accepted", len(r.applications),
		func(i int) bool { return r.applications[i].accepted })
}

// reportAllocations reports what runs, which the scheduler confirms.
func (c *Client) reportAllocations(ctx context.Context, r *recovery) error {
	if err := c.reportAskStates(ctx, "reported allocations", r.allocations); err != nil {
		return err
	}
	return c.waitForAll(ctx, "reported allocations to be confirmed", len(r.allocations),
		func(i int) bool { return !r.allocations[i].reported })
}

// reportAsks reports pending asks. As there is no answer, a barrier shows that they are processed.
func (c *Client) reportAsks(ctx context.Context, r *recovery) error {
	if err := c.reportAskStates(ctx, "reported asks", r.asks); err != nil {
		return err
	}
	_, err := c.barrier(ctx)
	return err
}

func (c *Client) reportAskStates(ctx context.Context, what string, all []*askState) error {
	for some := range slices.Chunk(all, messageBatch) {
		m := &si.AllocationRequest{RmID: c.rm}
		for _, t := range some {
			x := t.message()
			x.NodeID = string(t.node)
			m.Allocations = append(m.Allocations, x)
		}
		if err := send(ctx, c, what, c.allocations, m); err != nil {
			return err
		}
	}
	return nil
}

// openReportedNodes ends the recovery: from now on asks are placed, and answers count.
func (c *Client) openReportedNodes(ctx context.Context, r *recovery) error {
	c.mu.Lock()
	c.kills.recovering = false
	c.mu.Unlock()
	var ids []objects.NodeID
	for _, n := range r.nodes {
		if !n.Draining {
			ids = append(ids, n.ID)
		}
	}
	if len(ids) == 0 {
		return nil
	}
	return c.OpenNodes(ctx, ids...)
}

// waitForAll waits until isDone, which is called with the lock held, for each of n things; once it is true of one, it
// stays so. what describes them in errors.
func (c *Client) waitForAll(ctx context.Context, what string, n int, isDone func(i int) bool) error {
	first := 0 // that may not be done: each answer is looked at once, not with all others
	missing := func() string {
		left := 0
		for i := first; i < n; i++ {
			if !isDone(i) {
				left++
			}
		}
		return fmt.Sprintf("%d of %d %s", left, n, what)
	}
	return c.wait(ctx, missing, func() bool {
		for first < n && isDone(first) {
			first++
		}
		return first == n
	})
}
