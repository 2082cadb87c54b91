package demo

import (
	"errors"
	"fmt"
	"time"

	"github.com/canopy-scheduler/canopy/pkg/objects"
	"github.com/canopy-scheduler/canopy/pkg/resources"
	"github.com/canopy-scheduler/canopy/pkg/scheduler"
	"github.com/canopy-scheduler/canopy/pkg/security"
)

// PreemptionConfig is the queues.yaml of a Preemption: one leaf in which an ask may preempt allocations of lower
// priority.
const PreemptionConfig = `partitions:
  - name: default
    queues:
      - name: root
        submitacl: '*'
        queues:
          - name: shared
            properties: {preemption.priority: leaf}
`

// Sizes of a Preemption.
const (
	demoNodes        = 3
	demoNodeCores    = 4 // of each node; as many asks of one core fill it
	urgentPriority   = 1000
	urgentCores      = 2
	urgentKey        = objects.AllocationKey("urgent")
	demoQueue        = objects.QueuePath("root.shared")
	lowPriorityCount = 3 // 0, 10 and 20
)

// Preemption is a preemption step by step: a cluster is full of allocations of low priority, an ask of high
// priority arrives, allocations are preempted for it, and it is placed when they have ended. Its JSON form is
// stable: other programs read it.
type Preemption struct {
	Nodes         int                   `json:"nodes"`
	Filling       int                   `json:"filling"` // allocations that fill the nodes
	Ask           objects.AllocationKey `json:"ask"`
	Queue         objects.QueuePath     `json:"queue"` // of all asks
	Priority      int32                 `json:"priority"`
	Wants         Quantities            `json:"wants"`
	Victims       []Victim              `json:"victims"`
	NominatedNode objects.NodeID        `json:"nominatedNode"` // of the ask
	PlacedOn      objects.NodeID        `json:"placedOn"`      // after the last victim ended
	Timeline      []Event               `json:"timeline"`
}

// Victim is an allocation that was preempted.
type Victim struct {
	Key      objects.AllocationKey `json:"allocationKey"`
	Priority int32                 `json:"priority"`
	Node     objects.NodeID        `json:"node"`
}

// Event is an event of a Preemption.
type Event struct {
	Second int64  `json:"second"` // in virtual time, since the ask was submitted
	Kind   string `json:"kind"`   // asked, preempted, confirmed, explained or placed
	Text   string `json:"text"`
}

// Delays in virtual time.
const (
	firstVictimDelay = 12 * time.Second // the first victim ends by itself
	gracePeriodDelay = 18 * time.Second // the other victims are killed when their grace period of 30 s ends
)

// RunPreemption runs the preemption in a cluster of its own. The error names the step that failed.
func RunPreemption() (*Preemption, error) { return runPreemption(PreemptionConfig) }

func runPreemption(config string) (*Preemption, error) {
	c, err := newCluster(config)
	if err != nil {
		return nil, err
	}
	p := &Preemption{
		Nodes: demoNodes, Filling: demoNodes * demoNodeCores, Ask: urgentKey, Queue: demoQueue, Priority: urgentPriority,
		Wants: coresOf(urgentCores).Map(),
	}
	if err := p.fill(c); err != nil {
		return nil, fmt.Errorf("filling the cluster: %w", err)
	}
	if err := p.submitUrgent(c); err != nil {
		return nil, fmt.Errorf("submitting %s: %w", urgentKey, err)
	}
	for i, v := range c.victims {
		p.explain(c)
		c.now = c.now.Add([]time.Duration{firstVictimDelay, gracePeriodDelay}[min(i, 1)])
		if err := c.confirm(v); err != nil {
			return nil, fmt.Errorf("after %s has ended: %w", v.Ask.Key, err)
		}
		p.add(c, "confirmed", "%s has ended, and the resource manager confirms the release", v.Ask.Key)
	}
	p.PlacedOn = c.running[urgentKey].Node
	if p.PlacedOn != p.NominatedNode {
		return nil, fmt.Errorf("%s was nominated for node %q, and is on node %q", urgentKey, p.NominatedNode, p.PlacedOn)
	}
	p.add(c, "placed", "%s is placed on %s", urgentKey, p.PlacedOn)
	return p, c.check()
}

// add adds an event to the timeline.
func (p *Preemption) add(c *cluster, kind, format string, args ...any) {
	p.Timeline = append(p.Timeline, Event{int64(c.now.Sub(epoch) / time.Second), kind, fmt.Sprintf(format, args...)})
}

// explain adds the explanation of the pending ask.
func (p *Preemption) explain(c *cluster) {
	p.add(c, "explained", "%s is pending: %s", urgentKey, c.core.Explain(urgentKey, c.now))
}

// fill fills every node.
func (p *Preemption) fill(c *cluster) error {
	var nodes []scheduler.AddNode
	for i := range demoNodes {
		nodes = append(nodes, scheduler.AddNode{Node: objects.NodeID(fmt.Sprintf("node-%d", i+1)),
			Total: coresOf(demoNodeCores), Schedulable: true})
	}
	var asks []*objects.Ask
	for i := range p.Filling {
		asks = append(asks, preemptionAsk(objects.AllocationKey(fmt.Sprintf("batch-%02d", i+1)), "batch", 1,
			int32(i%lowPriorityCount*10)))
	}
	if err := c.add(nodes, []scheduler.AddApplication{
		{App: "batch", Queue: string(demoQueue), User: security.User{Name: "bob"}},
		{App: "important", Queue: string(demoQueue), User: security.User{Name: "ann"}},
	}); err != nil {
		return err
	}
	if err := c.submit(asks); err != nil {
		return err
	}
	if n := len(c.running); n != p.Filling {
		return fmt.Errorf("%d of %d are placed", n, p.Filling)
	}
	return nil
}

// submitUrgent submits the ask of high priority, and records what was preempted for it.
func (p *Preemption) submitUrgent(c *cluster) error {
	p.add(c, "asked", "ask %s is submitted: %d vcore, priority %d; it fits on no node", urgentKey, urgentCores,
		urgentPriority)
	if err := c.submit([]*objects.Ask{preemptionAsk(urgentKey, "important", urgentCores, urgentPriority)}); err != nil {
		return err
	}
	if len(c.victims) == 0 {
		return errors.New("nothing was preempted")
	}
	p.NominatedNode = c.core.Explain(urgentKey, c.now).Node
	for _, v := range c.victims {
		p.Victims = append(p.Victims, Victim{v.Ask.Key, v.Ask.Priority, v.Node})
		p.add(c, "preempted", "%s on %s is preempted for it: priority %d is the lowest", v.Ask.Key, v.Node, v.Ask.Priority)
	}
	return nil
}

// Lines returns the preemption as text.
func (p *Preemption) Lines() []string {
	lines := []string{
		fmt.Sprintf("%d nodes of %d vcore are full of %d allocations of 1 vcore, of priority 0, 10 and 20, in the leaf",
			p.Nodes, demoNodeCores, p.Filling),
		fmt.Sprintf("%s. There, preemption.priority: leaf lets an ask preempt allocations of lower priority.", p.Queue),
		"",
	}
	for _, e := range p.Timeline {
		lines = append(lines, fmt.Sprintf("%4d s  %s", e.Second, e.Text))
	}
	return lines
}

// preemptionAsk returns an ask that may preempt and be preempted.
func preemptionAsk(key objects.AllocationKey, app objects.AppID, cores resources.Quantity,
	priority int32) *objects.Ask {
	return &objects.Ask{
		Key: key, App: app, Amounts: coresOf(cores), Priority: priority,
		Policy: objects.PolicySent | objects.PolicyAllowPreemptSelf | objects.PolicyAllowPreemptOther,
	}
}

// coresOf returns n cores with a gibibyte each.
func coresOf(n resources.Quantity) resources.Amounts {
	return resources.FromMap(map[string]resources.Quantity{resources.VCore: n * millicoresPerCore, "memory": n * gibibyte})
}
