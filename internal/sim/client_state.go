package sim

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/apache/yunikorn-scheduler-interface/lib/go/si"

	"github.com/canopy-scheduler/canopy/pkg/objects"
	"github.com/canopy-scheduler/canopy/pkg/resources"
)

// clientState are what a client has said and been told. They are kept from the messages
// alone, so that they can be held against what the scheduler believes.
type clientState struct {
	machines       map[objects.NodeID]*machine
	apps           map[objects.AppID]*submission
	askStates      map[objects.AllocationKey]*askState // pending and placed
	releasing      map[objects.AllocationKey]bool      // released, and nobody has answered
	barriers       map[objects.AllocationKey]uint64    // answered ones, and what had happened by then
	duplicateNodes int                                 // nodes rejected because they exist already
	eventCount     uint64                              // allocations and releases that were told
	counts         Counts
	log            []Event
	rejections     []Rejection     // of asks, in the order in which they came
	victims        []Victim        // all there were, in the order in which they were told to leave
	delays         []time.Duration // from an ask to its allocation
	started        time.Time       // when the registration was accepted
	lastAnswer     time.Time       // the last answer
	excluded       time.Duration   // spent on other things in between
}

type machine struct {
	Node
	accepted bool
	used     resources.Amounts
}

type submission struct {
	Application
	accepted bool
}

type askState struct {
	Ask
	sentAt     time.Time      // when it was sent
	node       objects.NodeID // empty: pending
	preempting bool           // to leave, by the scheduler
}

// Counts are what was said and told in total.
type Counts struct {
	Nodes, Applications, Asks                int // sent
	Allocated, Preempted, Released, Rejected int // told
}

func newClientState() clientState {
	return clientState{
		machines:  map[objects.NodeID]*machine{},
		apps:      map[objects.AppID]*submission{},
		askStates: map[objects.AllocationKey]*askState{},
		releasing: map[objects.AllocationKey]bool{},
		barriers:  map[objects.AllocationKey]uint64{},
	}
}

// Counts are the numbers so far.
func (c *Client) Counts() Counts {
	c.mu.Lock()
	defer c.mu.Unlock()
	n := c.counts
	n.Nodes, n.Applications = len(c.machines), len(c.apps)
	return n
}

// ExcludeFromTiming does something that is no part of the conversation. The time it takes is counted
// nowhere: not in the conversation, and not for the asks that wait meanwhile. Requires:
// no answers are to come.
func (c *Client) ExcludeFromTiming(something func() error) error {
	from := time.Now()
	err := something()
	took := time.Since(from)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.excluded += took
	for _, t := range c.askStates {
		if t.node == "" {
			t.sentAt = t.sentAt.Add(took)
		}
	}
	return err
}

// Running are the keys of the allocations that there are, in key order.
func (c *Client) Running() []objects.AllocationKey {
	return c.keys(func(t *askState) bool { return t.node != "" })
}

// Waiting are the keys of the asks that are pending, in key order.
func (c *Client) Waiting() []objects.AllocationKey {
	return c.keys(func(t *askState) bool { return t.node == "" })
}

func (c *Client) keys(which func(*askState) bool) []objects.AllocationKey {
	c.mu.Lock()
	defer c.mu.Unlock()
	var keys []objects.AllocationKey
	for key, t := range c.askStates {
		if which(t) {
			keys = append(keys, key)
		}
	}
	slices.Sort(keys)
	return keys
}

// sortedMachines are the nodes in ID order. Requires: the lock.
func (b *clientState) sortedMachines() []*machine {
	out := make([]*machine, 0, len(b.machines))
	for _, m := range b.machines {
		out = append(out, m)
	}
	slices.SortFunc(out, func(x, y *machine) int { return cmp.Compare(x.ID, y.ID) })
	return out
}

// sortedAskStates is everything pending or placed, in key order. Requires: the lock.
func (b *clientState) sortedAskStates() []*askState {
	out := make([]*askState, 0, len(b.askStates))
	for _, t := range b.askStates {
		out = append(out, t)
	}
	slices.SortFunc(out, func(x, y *askState) int { return cmp.Compare(x.Key, y.Key) })
	return out
}

func (c *Client) recordAsks(asks []Ask) error {
	now := time.Now()
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, a := range asks {
		if _, ok := c.askStates[a.Key]; ok {
			return fmt.Errorf("ask %s is known already", a.Key)
		}
		c.askStates[a.Key] = &askState{Ask: a, sentAt: now}
		c.counts.Asks++
	}
	return nil
}

func (c *Client) recordReleases(keys []objects.AllocationKey, to *si.AllocationReleasesRequest) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, key := range keys {
		t, ok := c.askStates[key]
		if !ok || c.releasing[key] {
			return fmt.Errorf("%s is neither pending nor placed and cannot be released", key)
		}
		c.releasing[key] = true
		to.AllocationsToRelease = append(to.AllocationsToRelease, t.release(si.TerminationType_STOPPED_BY_RM, "done"))
	}
	return nil
}

// release is a message that an allocation ends, or an ask.
func (t *askState) release(how si.TerminationType, why string) *si.AllocationRelease {
	return &si.AllocationRelease{
		PartitionName: Partition, ApplicationID: string(t.App), AllocationKey: string(t.Key),
		TerminationType: how, Message: why,
	}
}

// removeRunning takes an allocation off its node. Requires: the lock, and that it has one.
func (b *clientState) removeRunning(t *askState, how EventKind) {
	n := b.machines[t.node]
	n.used = n.used.Sub(t.Amounts)
	delete(b.askStates, t.Key)
	delete(b.releasing, t.Key)
	b.log = append(b.log, Event{how, t.Key, t.node, t.Amounts})
}

// forgetWithdrawn ends the asks that were released before they were placed: the
// interface has no answer for those. Requires: the lock, and that a barrier sent after
// the releases was answered.
func (b *clientState) forgetWithdrawn() error {
	for key := range b.releasing {
		if t := b.askStates[key]; t.node != "" {
			return fmt.Errorf("allocation %s on node %s was released and the scheduler never said so", key, t.node)
		}
		delete(b.askStates, key)
	}
	clear(b.releasing)
	return nil
}
