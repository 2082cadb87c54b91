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

// clientState is the client's own accounting. It follows from the messages alone, so that it can be
// compared with the state of the scheduler.
type clientState struct {
	numbers        int // given to nodes, applications and asks
	machines       map[objects.NodeID]*machine
	apps           map[objects.AppID]*submission
	askStates      map[objects.AllocationKey]*askState // pending and placed
	releasing      map[objects.AllocationKey]bool      // release requested and not confirmed
	barriers       map[objects.AllocationKey]uint64    // answered ones, with eventCount at that time
	duplicateNodes int                                 // nodes rejected because they exist already
	eventCount     uint64                              // allocations and releases received
	counts         Counts
	log            []Event
	rejections     []Rejection     // of asks, in the order of arrival
	victims        []Victim        // all victims, in the order of preemption
	delays         []time.Duration // from an ask to its allocation
	started        time.Time       // when the registration was accepted
	lastAnswer     time.Time       // time of the last answer
	excluded       time.Duration   // time that ExcludeFromTiming excludes
}

type machine struct {
	Node
	number   int // in the order of registration
	accepted bool
	used     resources.Amounts
}

type submission struct {
	Application
	number   int // in the order of submission
	accepted bool
}

type askState struct {
	Ask
	sentAt     time.Time      // time of sending
	node       objects.NodeID // empty: pending
	preempting bool           // marked for preemption
	number     int            // in the order of submission
	reported   bool           // it was reported to a restarted scheduler, whose answer is outstanding
}

// Counts are totals of messages sent and received.
type Counts struct {
	Nodes, Applications, Asks                int // sent
	Allocated, Preempted, Released, Rejected int // received
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

// Counts returns the totals so far.
func (c *Client) Counts() Counts {
	c.mu.Lock()
	defer c.mu.Unlock()
	n := c.counts
	n.Nodes, n.Applications = len(c.machines), len(c.apps)
	return n
}

// ExcludeFromTiming calls something and excludes its duration from the wall time and from the latency
// of pending asks. No answers may be outstanding.
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

// Running returns the keys of the allocations, in key order.
func (c *Client) Running() []objects.AllocationKey {
	return c.keys(func(t *askState) bool { return t.node != "" })
}

// Waiting returns the keys of the asks that are pending, in key order.
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

// sortedMachines returns the nodes in ID order. The caller must hold the lock.
func (b *clientState) sortedMachines() []*machine {
	out := make([]*machine, 0, len(b.machines))
	for _, m := range b.machines {
		out = append(out, m)
	}
	slices.SortFunc(out, func(x, y *machine) int { return cmp.Compare(x.ID, y.ID) })
	return out
}

// sortedAskStates returns the asks and allocations in key order. The caller must hold the lock.
func (b *clientState) sortedAskStates() []*askState {
	out := make([]*askState, 0, len(b.askStates))
	for _, t := range b.askStates {
		out = append(out, t)
	}
	slices.SortFunc(out, func(x, y *askState) int { return cmp.Compare(x.Key, y.Key) })
	return out
}

// nextNumber numbers what the client submits. The caller must hold the lock.
func (b *clientState) nextNumber() int {
	b.numbers++
	return b.numbers
}

func (c *Client) recordAsks(asks []Ask) error {
	now := time.Now()
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, a := range asks {
		if _, ok := c.askStates[a.Key]; ok {
			return fmt.Errorf("ask %s is known already", a.Key)
		}
		c.askStates[a.Key] = &askState{Ask: a, sentAt: now, number: c.nextNumber()}
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

// release returns a message that releases an allocation or an ask.
func (t *askState) release(how si.TerminationType, why string) *si.AllocationRelease {
	return &si.AllocationRelease{
		PartitionName: Partition, ApplicationID: string(t.App), AllocationKey: string(t.Key),
		TerminationType: how, Message: why,
	}
}

// removeRunning removes an allocation from its node. The caller must hold the lock.
func (b *clientState) removeRunning(t *askState, how EventKind) {
	n := b.machines[t.node]
	n.used = n.used.Sub(t.Amounts)
	delete(b.askStates, t.Key)
	delete(b.releasing, t.Key)
	b.log = append(b.log, Event{how, t.Key, t.node, t.Amounts})
}

// forgetWithdrawn removes the asks that were released before they were placed: the interface does not
// confirm these. The caller must hold the lock; a barrier sent after the releases must have been
// answered.
func (b *clientState) forgetWithdrawn() error {
	for key := range b.releasing {
		if t := b.askStates[key]; t.node != "" {
			return fmt.Errorf("allocation %s on node %s was released and the scheduler did not confirm it", key, t.node)
		}
		delete(b.askStates, key)
	}
	clear(b.releasing)
	return nil
}
