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

// SceneConfig is the queues.yaml of a Scene: one leaf, in which the more important may take
// the place of the less important.
const SceneConfig = `partitions:
  - name: default
    queues:
      - name: root
        submitacl: '*'
        queues:
          - name: shared
            properties: {preemption.priority: leaf}
`

// The cast of a scene.
const (
	sceneNodes    = 3
	sceneCores    = 4 // of each node, and as many asks of one core fill it
	sceneUrgent   = 1000
	urgentCores   = 2
	urgentKey     = objects.AllocationKey("urgent")
	sceneQueue    = objects.QueuePath("root.shared")
	sceneMemory   = gibibyte // for each core
	lowPriorities = 3        // 0, 10 and 20
)

// Scene is a preemption, step by step: a cluster is full of work that is not important, an
// important ask comes, allocations are preempted for it, and it is placed when they have ended.
// Its JSON form is for other programs, so names stay.
type Scene struct {
	Nodes    int                   `json:"nodes"`
	Filling  int                   `json:"filling"` // allocations that fill them
	Ask      objects.AllocationKey `json:"ask"`
	Queue    objects.QueuePath     `json:"queue"` // of all of them
	Priority int32                 `json:"priority"`
	Wants    Quantities            `json:"wants"`
	Victims  []SceneVictim         `json:"victims"`
	Node     objects.NodeID        `json:"nominatedNode"` // where the ask waits for its victims
	PlacedOn objects.NodeID        `json:"placedOn"`      // when the last has ended
	Timeline []SceneEvent          `json:"timeline"`
}

// SceneVictim is an allocation that was preempted.
type SceneVictim struct {
	Key      objects.AllocationKey `json:"allocationKey"`
	Priority int32                 `json:"priority"`
	Node     objects.NodeID        `json:"node"`
}

// SceneEvent is a line of the story.
type SceneEvent struct {
	Second int64  `json:"second"` // in the cluster, since the ask came
	Kind   string `json:"kind"`   // asked, preempted, confirmed, explained or placed
	Text   string `json:"text"`
}

// The story takes place in virtual time.
const (
	firstEnds = 12 * time.Second // a victim saves its work and ends
	graceEnds = 18 * time.Second // the others are killed when their grace period of 30 s is over
)

// Play plays the scene with a scheduler of this process that goes by clock. The error says
// which step did not happen as it must. Requires: the client has registered with SceneConfig.
func Play(ctx context.Context, s *Server, c *Client, clock *Clock) (*Scene, error) {
	scene := &Scene{
		Nodes: sceneNodes, Filling: sceneNodes * sceneCores, Ask: urgentKey, Queue: sceneQueue, Priority: sceneUrgent,
		Wants: coresOf(urgentCores).Map(),
	}
	if err := scene.fill(ctx, c); err != nil {
		return nil, fmt.Errorf("filling the cluster: %w", err)
	}
	began := clock.Now()
	tell := func(kind, format string, args ...any) {
		scene.Timeline = append(scene.Timeline, SceneEvent{int64(clock.Now().Sub(began) / time.Second), kind, fmt.Sprintf(format, args...)})
	}
	tell("asked", "ask %s comes: %d vcore, priority %d; no node has room for it", urgentKey, urgentCores, sceneUrgent)
	err := c.Submit(ctx, Ask{Key: urgentKey, App: "important", Amounts: coresOf(urgentCores), Priority: sceneUrgent, Preempts: true})
	if err == nil {
		err = c.Settle(ctx)
	}
	if err != nil {
		return nil, fmt.Errorf("submitting %s: %w", urgentKey, err)
	}
	if err := scene.preempted(ctx, s, c); err != nil {
		return nil, err
	}
	for _, v := range scene.Victims {
		tell("preempted", "%s on %s is preempted for it: priority %d is the lowest there is", v.Key, v.Node, v.Priority)
	}
	if err := scene.explain(ctx, s, tell); err != nil {
		return nil, err
	}
	for i, v := range scene.Victims {
		clock.Set(clock.Now().Add([]time.Duration{firstEnds, graceEnds}[min(i, 1)]))
		if err := scene.confirm(ctx, c, v.Key); err != nil {
			return nil, err
		}
		tell("confirmed", "%s has ended, and the resource manager confirms it", v.Key)
		if i == len(scene.Victims)-1 {
			break
		}
		if err := scene.explain(ctx, s, tell); err != nil {
			return nil, err
		}
	}
	if err := scene.placed(c); err != nil {
		return nil, err
	}
	tell("placed", "%s is placed on %s", urgentKey, scene.PlacedOn)
	if err := s.Audit(ctx, c); err != nil {
		return nil, err
	}
	_, err = c.Balance()
	return scene, err
}

// explain tells why the ask waits.
func (x *Scene) explain(ctx context.Context, s *Server, tell func(kind, format string, args ...any)) error {
	e, err := s.Explain(ctx, urgentKey)
	if err != nil {
		return err
	}
	tell("explained", "%s waits: %s", urgentKey, e)
	return nil
}

// fill leaves no room on any node.
func (x *Scene) fill(ctx context.Context, c *Client) error {
	for i := range sceneNodes {
		if err := c.AddNodes(ctx, Node{ID: objects.NodeID(fmt.Sprintf("node-%d", i+1)), Has: coresOf(sceneCores)}); err != nil {
			return err
		}
	}
	if err := c.AddApplications(ctx, Application{ID: "batch", Queue: sceneQueue, User: "bob"},
		Application{ID: "important", Queue: sceneQueue, User: "ann"}); err != nil {
		return err
	}
	var asks []Ask
	for i := range x.Filling {
		asks = append(asks, Ask{
			Key: objects.AllocationKey(fmt.Sprintf("batch-%02d", i+1)), App: "batch", Amounts: coresOf(1),
			Priority: int32(i % lowPriorities * 10), Preempts: true,
		})
	}
	if err := c.Submit(ctx, asks...); err != nil {
		return err
	}
	if err := c.Settle(ctx); err != nil {
		return err
	}
	if n := len(c.Running()); n != x.Filling {
		return fmt.Errorf("%d of %d are placed", n, x.Filling)
	}
	return nil
}

// preempted checks which allocations are preempted, and that the ask is nominated for their node.
func (x *Scene) preempted(ctx context.Context, s *Server, c *Client) error {
	victims := c.Victims()
	if len(victims) == 0 {
		return fmt.Errorf("nothing was preempted for %s", urgentKey)
	}
	x.Node = victims[0].Node
	var freed, spare resources.Amounts
	for i, v := range victims {
		x.Victims = append(x.Victims, SceneVictim{v.Key, v.Priority, v.Node})
		if freed = freed.Add(v.Took); i > 0 {
			spare = spare.Add(v.Took)
		}
		switch {
		case v.Node != x.Node:
			return fmt.Errorf("%s on node %s and %s on node %s were preempted for one ask", victims[0].Key, x.Node, v.Key, v.Node)
		case v.Priority >= sceneUrgent || v.For != urgentKey:
			return fmt.Errorf("%s of priority %d was preempted: %s", v.Key, v.Priority, v.Why)
		}
	}
	if want := coresOf(urgentCores); !freed.Covers(want) || spare.Covers(want) {
		return fmt.Errorf("%d allocations of %v were preempted for an ask of %v", len(victims), freed, want)
	}
	snap, err := s.Snapshot(ctx)
	if err != nil {
		return err
	}
	if at := nominationOf(snap.Root, urgentKey); at != x.Node {
		return fmt.Errorf("%s is nominated for node %q, and its victims run on %s", urgentKey, at, x.Node)
	}
	return nil
}

// confirm ends a victim, and checks that the ask was not placed before.
func (x *Scene) confirm(ctx context.Context, c *Client, victim objects.AllocationKey) error {
	if slices.Contains(c.Running(), urgentKey) {
		return errors.New("the ask was placed before its victims had ended")
	}
	if err := c.Confirm(ctx, victim); err != nil {
		return err
	}
	if err := c.Settle(ctx); err != nil {
		return fmt.Errorf("after %s has ended: %w", victim, err)
	}
	return nil
}

// placed checks that the ask is on the node for which it was nominated.
func (x *Scene) placed(c *Client) error {
	for _, e := range c.Log() {
		if e.Key == urgentKey && e.Kind == Placed {
			x.PlacedOn = e.Node
		}
	}
	if x.PlacedOn != x.Node {
		return fmt.Errorf("%s was nominated for node %s, and is on node %q", urgentKey, x.Node, x.PlacedOn)
	}
	return nil
}

// nominationOf is the node that an ask below q waits for; empty: none.
func nominationOf(q *scheduler.QueueView, key objects.AllocationKey) objects.NodeID {
	for a := range q.Applications.All() {
		for w := range a.Work.All() {
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

// Lines is the scene in plain words.
func (x *Scene) Lines() []string {
	lines := []string{
		fmt.Sprintf("%d nodes of %d vcore are full of %d allocations of 1 vcore, of priority 0, 10 and 20, in the leaf", x.Nodes, sceneCores, x.Filling),
		fmt.Sprintf("%s. There, preemption.priority: leaf lets an ask preempt what is less important.", x.Queue),
		"",
	}
	for _, e := range x.Timeline {
		lines = append(lines, fmt.Sprintf("%4d s  %s", e.Second, e.Text))
	}
	return lines
}

// coresOf is so many cores, with memory.
func coresOf(n resources.Quantity) resources.Amounts {
	return resources.FromMap(map[string]resources.Quantity{resources.VCore: n * cores, "memory": n * sceneMemory})
}
