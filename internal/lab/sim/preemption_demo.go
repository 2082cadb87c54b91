package sim

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/canopy-scheduler/canopy/pkg/objects"
	"github.com/canopy-scheduler/canopy/pkg/resources"
	"github.com/canopy-scheduler/canopy/pkg/scheduler"
)

// PreemptionDemoConfig is the queues.yaml of a PreemptionDemo: one leaf in which an ask may preempt
// allocations of lower priority.
const PreemptionDemoConfig = `partitions:
  - name: default
    queues:
      - name: root
        submitacl: '*'
        queues:
          - name: shared
            properties: {preemption.priority: leaf}
`

// Sizes of a PreemptionDemo.
const (
	demoNodes         = 3
	demoNodeCores     = 4 // of each node; as many asks of one core fill it
	urgentPriority    = 1000
	urgentCores       = 2
	urgentKey         = objects.AllocationKey("urgent")
	demoQueue         = objects.QueuePath("root.shared")
	demoMemoryPerCore = gibibyte // per core
	lowPriorityCount  = 3        // 0, 10 and 20
)

// PreemptionDemo is a preemption step by step: a cluster is full of allocations of low priority, an ask
// of high priority arrives, allocations are preempted for it, and it is placed when they have ended.
// Its JSON form is stable: other programs read it.
type PreemptionDemo struct {
	Nodes         int                    `json:"nodes"`
	Filling       int                    `json:"filling"` // allocations that fill the nodes
	Ask           objects.AllocationKey  `json:"ask"`
	Queue         objects.QueuePath      `json:"queue"` // of all asks
	Priority      int32                  `json:"priority"`
	Wants         Quantities             `json:"wants"`
	Victims       []PreemptionDemoVictim `json:"victims"`
	NominatedNode objects.NodeID         `json:"nominatedNode"` // of the ask
	PlacedOn      objects.NodeID         `json:"placedOn"`      // after the last victim ended
	Timeline      []PreemptionDemoEvent  `json:"timeline"`
}

// PreemptionDemoVictim is an allocation that was preempted.
type PreemptionDemoVictim struct {
	Key      objects.AllocationKey `json:"allocationKey"`
	Priority int32                 `json:"priority"`
	Node     objects.NodeID        `json:"node"`
}

// PreemptionDemoEvent is an event of a PreemptionDemo.
type PreemptionDemoEvent struct {
	Second int64  `json:"second"` // in virtual time, since the ask was submitted
	Kind   string `json:"kind"`   // asked, preempted, confirmed, explained or placed
	Text   string `json:"text"`
}

// Delays in virtual time.
const (
	firstVictimDelay = 12 * time.Second // the first victim ends by itself
	gracePeriodDelay = 18 * time.Second // the other victims are killed when their grace period of 30 s ends
)

// RunPreemptionDemo runs the demo with a scheduler of this process that uses clock. The error names the
// step that failed. The client must be registered with PreemptionDemoConfig.
func RunPreemptionDemo(ctx context.Context, s *Server, c *Client, clock *Clock) (*PreemptionDemo, error) {
	scene := &PreemptionDemo{
		Nodes: demoNodes, Filling: demoNodes * demoNodeCores, Ask: urgentKey, Queue: demoQueue, Priority: urgentPriority,
		Wants: coresOf(urgentCores).Map(),
	}
	if err := scene.fill(ctx, c); err != nil {
		return nil, fmt.Errorf("filling the cluster: %w", err)
	}
	began := clock.Now()
	addEvent := func(kind, format string, args ...any) {
		scene.Timeline = append(scene.Timeline,
			PreemptionDemoEvent{int64(clock.Now().Sub(began) / time.Second), kind, fmt.Sprintf(format, args...)})
	}
	addEvent("asked", "ask %s is submitted: %d vcore, priority %d; it fits on no node", urgentKey, urgentCores,
		urgentPriority)
	err := c.Submit(ctx,
		Ask{Key: urgentKey, App: "important", Amounts: coresOf(urgentCores), Priority: urgentPriority, Preempts: true})
	if err == nil {
		err = c.WaitIdle(ctx)
	}
	if err != nil {
		return nil, fmt.Errorf("submitting %s: %w", urgentKey, err)
	}
	if err := scene.preempted(ctx, s, c); err != nil {
		return nil, err
	}
	for _, v := range scene.Victims {
		addEvent("preempted", "%s on %s is preempted for it: priority %d is the lowest", v.Key, v.Node, v.Priority)
	}
	if err := scene.explain(ctx, s, addEvent); err != nil {
		return nil, err
	}
	for i, v := range scene.Victims {
		clock.Set(clock.Now().Add([]time.Duration{firstVictimDelay, gracePeriodDelay}[min(i, 1)]))
		if err := scene.confirm(ctx, c, v.Key); err != nil {
			return nil, err
		}
		addEvent("confirmed", "%s has ended, and the resource manager confirms the release", v.Key)
		if i == len(scene.Victims)-1 {
			break
		}
		if err := scene.explain(ctx, s, addEvent); err != nil {
			return nil, err
		}
	}
	if err := scene.placed(c); err != nil {
		return nil, err
	}
	addEvent("placed", "%s is placed on %s", urgentKey, scene.PlacedOn)
	if err := s.Audit(ctx, c); err != nil {
		return nil, err
	}
	_, err = c.Balance()
	return scene, err
}

// explain adds the explanation of the pending ask.
func (x *PreemptionDemo) explain(ctx context.Context, s *Server,
	addEvent func(kind, format string, args ...any)) error {
	e, err := s.Explain(ctx, urgentKey)
	if err != nil {
		return err
	}
	addEvent("explained", "%s is pending: %s", urgentKey, e)
	return nil
}

// fill fills every node.
func (x *PreemptionDemo) fill(ctx context.Context, c *Client) error {
	for i := range demoNodes {
		if err := c.AddNodes(ctx,
			Node{ID: objects.NodeID(fmt.Sprintf("node-%d", i+1)), Capacity: coresOf(demoNodeCores)}); err != nil {
			return err
		}
	}
	if err := c.AddApplications(ctx, Application{ID: "batch", Queue: demoQueue, User: "bob"},
		Application{ID: "important", Queue: demoQueue, User: "ann"}); err != nil {
		return err
	}
	var asks []Ask
	for i := range x.Filling {
		asks = append(asks, Ask{
			Key: objects.AllocationKey(fmt.Sprintf("batch-%02d", i+1)), App: "batch", Amounts: coresOf(1),
			Priority: int32(i % lowPriorityCount * 10), Preempts: true,
		})
	}
	if err := c.Submit(ctx, asks...); err != nil {
		return err
	}
	if err := c.WaitIdle(ctx); err != nil {
		return err
	}
	if n := len(c.Running()); n != x.Filling {
		return fmt.Errorf("%d of %d are placed", n, x.Filling)
	}
	return nil
}

// preempted checks the victims, and that the ask is nominated for their node.
func (x *PreemptionDemo) preempted(ctx context.Context, s *Server, c *Client) error {
	victims := c.UnconfirmedVictims()
	if len(victims) == 0 {
		return fmt.Errorf("nothing was preempted for %s", urgentKey)
	}
	x.NominatedNode = victims[0].Node
	var freed, spare resources.Amounts
	for i, v := range victims {
		x.Victims = append(x.Victims, PreemptionDemoVictim{v.Key, v.Priority, v.Node})
		freed = freed.Add(v.Amounts)
		if i > 0 {
			spare = spare.Add(v.Amounts)
		}
		switch {
		case v.Node != x.NominatedNode:
			return fmt.Errorf("%s on node %s and %s on node %s were preempted for one ask", victims[0].Key, x.NominatedNode,
				v.Key, v.Node)
		case v.Priority >= urgentPriority || v.Preemptor != urgentKey:
			return fmt.Errorf("%s of priority %d was preempted: %s", v.Key, v.Priority, v.Message)
		}
	}
	if want := coresOf(urgentCores); !freed.Covers(want) || spare.Covers(want) {
		return fmt.Errorf("%d allocations of %v were preempted for an ask of %v", len(victims), freed, want)
	}
	snap, err := s.Snapshot(ctx)
	if err != nil {
		return err
	}
	if at := nominationOf(snap.Root, urgentKey); at != x.NominatedNode {
		return fmt.Errorf("%s is nominated for node %q, and its victims run on %s", urgentKey, at, x.NominatedNode)
	}
	return nil
}

// confirm confirms the end of a victim, and checks that the ask was not placed before.
func (x *PreemptionDemo) confirm(ctx context.Context, c *Client, victim objects.AllocationKey) error {
	if slices.Contains(c.Running(), urgentKey) {
		return errors.New("the ask was placed before its victims had ended")
	}
	if err := c.Confirm(ctx, victim); err != nil {
		return err
	}
	if err := c.WaitIdle(ctx); err != nil {
		return fmt.Errorf("after %s has ended: %w", victim, err)
	}
	return nil
}

// placed checks that the ask is placed on its nominated node.
func (x *PreemptionDemo) placed(c *Client) error {
	for _, e := range c.Log() {
		if e.Key == urgentKey && e.Kind == Placed {
			x.PlacedOn = e.Node
		}
	}
	if x.PlacedOn != x.NominatedNode {
		return fmt.Errorf("%s was nominated for node %s, and is on node %q", urgentKey, x.NominatedNode, x.PlacedOn)
	}
	return nil
}

// nominationOf is the nominated node of an ask below q; empty: none.
func nominationOf(q *scheduler.QueueView, key objects.AllocationKey) objects.NodeID {
	for a := range q.Applications.All() {
		for w := range a.Allocations.All() {
			if w.Ask.Key == key {
				return w.Nominated
			}
		}
	}
	for child := range q.Children.All() {
		if at := nominationOf(child, key); at != "" {
			return at
		}
	}
	return ""
}

// Lines is the demo as text.
func (x *PreemptionDemo) Lines() []string {
	lines := []string{
		fmt.Sprintf("%d nodes of %d vcore are full of %d allocations of 1 vcore, of priority 0, 10 and 20, in the leaf",
			x.Nodes, demoNodeCores, x.Filling),
		fmt.Sprintf("%s. There, preemption.priority: leaf lets an ask preempt allocations of lower priority.", x.Queue),
		"",
	}
	for _, e := range x.Timeline {
		lines = append(lines, fmt.Sprintf("%4d s  %s", e.Second, e.Text))
	}
	return lines
}

// coresOf is n cores with their memory.
func coresOf(n resources.Quantity) resources.Amounts {
	return resources.FromMap(map[string]resources.Quantity{resources.VCore: n * millicoresPerCore,
		"memory": n * demoMemoryPerCore})
}
