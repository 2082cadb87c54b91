package sim

import (
	"context"
	"errors"
	"fmt"
	"strings"

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

// Scene is a preemption, step by step: a cluster is full of work that is not important, one
// ask comes that is, and others make room for it. Its JSON form is for other programs, so
// names stay.
type Scene struct {
	Nodes    int                   `json:"nodes"`
	Filling  int                   `json:"filling"` // allocations that fill them
	Ask      objects.AllocationKey `json:"ask"`
	Priority int32                 `json:"priority"`
	Wants    Quantities            `json:"wants"`
	Victims  []SceneVictim         `json:"victims"`       // who was told to leave
	Node     objects.NodeID        `json:"nominatedNode"` // where the ask waits for that
	PlacedOn objects.NodeID        `json:"placedOn"`      // when the resource manager had said that they are gone
}

// SceneVictim is somebody who was told to leave.
type SceneVictim struct {
	Key      objects.AllocationKey `json:"allocationKey"`
	Priority int32                 `json:"priority"`
	Node     objects.NodeID        `json:"node"`
}

// Play plays the scene with a scheduler of this process. The error says which step did not
// happen as it must. Requires: the client has registered with SceneConfig.
func Play(ctx context.Context, s *Server, c *Client) (*Scene, error) {
	scene := &Scene{
		Nodes: sceneNodes, Filling: sceneNodes * sceneCores, Ask: urgentKey, Priority: sceneUrgent, Wants: coresOf(urgentCores).Map(),
	}
	if err := scene.fill(ctx, c); err != nil {
		return nil, fmt.Errorf("filling the cluster: %w", err)
	}
	err := c.Submit(ctx, Ask{Key: urgentKey, App: "important", Amounts: coresOf(urgentCores), Priority: sceneUrgent, Preempts: true})
	if err == nil {
		err = c.Settle(ctx)
	}
	if err != nil {
		return nil, fmt.Errorf("submitting %s: %w", urgentKey, err)
	}
	if err := scene.tellToLeave(ctx, s, c); err != nil {
		return nil, err
	}
	if err := scene.leave(ctx, c); err != nil {
		return nil, err
	}
	if err := s.Audit(ctx, c); err != nil {
		return nil, err
	}
	_, err = c.Balance()
	return scene, err
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

// tellToLeave checks who was told to leave, and that the ask waits for that where they run.
func (x *Scene) tellToLeave(ctx context.Context, s *Server, c *Client) error {
	victims := c.Victims()
	if len(victims) == 0 {
		return fmt.Errorf("nobody was told to leave for %s", urgentKey)
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
			return fmt.Errorf("%s was told to leave %s, and %s to leave %s, for one ask", victims[0].Key, x.Node, v.Key, v.Node)
		case v.Priority >= sceneUrgent || v.For != urgentKey:
			return fmt.Errorf("%s of priority %d was told to leave: %s", v.Key, v.Priority, v.Why)
		}
	}
	if want := coresOf(urgentCores); !freed.Covers(want) || spare.Covers(want) {
		return fmt.Errorf("%d were told to leave, who hold %v, for an ask of %v", len(victims), freed, want)
	}
	snap, err := s.Snapshot(ctx)
	if err != nil {
		return err
	}
	if at := nominationOf(&snap.Root, urgentKey); at != x.Node {
		return fmt.Errorf("%s is nominated for node %q, and its victims run on %s", urgentKey, at, x.Node)
	}
	return nil
}

// leave lets the victims leave, and checks that the ask gets their place.
func (x *Scene) leave(ctx context.Context, c *Client) error {
	for _, key := range c.Running() {
		if key == urgentKey {
			return errors.New("the ask was placed before its victims had left")
		}
	}
	keys := make([]objects.AllocationKey, len(x.Victims))
	for i, v := range x.Victims {
		keys[i] = v.Key
	}
	if err := c.Confirm(ctx, keys...); err != nil {
		return err
	}
	if err := c.Settle(ctx); err != nil {
		return fmt.Errorf("after the victims have left: %w", err)
	}
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
	for i := range q.Applications {
		for _, w := range q.Applications[i].Work {
			if w.Ask.Key == key {
				return w.Nominated
			}
		}
	}
	for i := range q.Children {
		if at := nominationOf(&q.Children[i], key); at != "" {
			return at
		}
	}
	return ""
}

// Lines is the scene in plain words.
func (x *Scene) Lines() []string {
	victims := make([]string, len(x.Victims))
	for i, v := range x.Victims {
		victims[i] = fmt.Sprintf("%s (priority %d)", v.Key, v.Priority)
	}
	return []string{
		fmt.Sprintf("preemption: %d nodes are full of %d allocations, with priorities from 0 to %d", x.Nodes, x.Filling, 10*(lowPriorities-1)),
		fmt.Sprintf("  %s asks for %d cores with priority %d, and no node has room", x.Ask, urgentCores, x.Priority),
		fmt.Sprintf("  told to leave (PREEMPTED_BY_SCHEDULER): %s; %s is nominated for their node, %s", strings.Join(victims, ", "), x.Ask, x.Node),
		"  the resource manager says that they have left",
		fmt.Sprintf("  %s is placed on %s", x.Ask, x.PlacedOn),
	}
}

// coresOf is so many cores, with memory.
func coresOf(n resources.Quantity) resources.Amounts {
	return resources.FromMap(map[string]resources.Quantity{resources.VCore: n * cores, "memory": n * sceneMemory})
}
