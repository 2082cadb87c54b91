package demo

import (
	"sync"

	"github.com/apache/yunikorn-scheduler-interface/lib/go/api"
	"github.com/apache/yunikorn-scheduler-interface/lib/go/si"
)

// liveInbox is the callback of a LiveDemo. It keeps what arrives until it is taken, and never waits.
type liveInbox struct {
	wake chan struct{} // has a value when something has arrived since the last take

	mu       sync.Mutex // guards the following
	messages []*si.AllocationResponse
	nodes    int
}

var _ api.ResourceManagerCallback = (*liveInbox)(nil)

func newLiveInbox() liveInbox { return liveInbox{wake: make(chan struct{}, 1)} }

// take returns what has arrived, in order.
func (b *liveInbox) take() []*si.AllocationResponse {
	b.mu.Lock()
	defer b.mu.Unlock()
	all := b.messages
	b.messages = nil
	return all
}

// nodesAccepted returns the number of nodes that were accepted.
func (b *liveInbox) nodesAccepted() int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.nodes
}

func (b *liveInbox) arrived() {
	select {
	case b.wake <- struct{}{}:
	default:
	}
}

// UpdateAllocation and the following methods implement api.ResourceManagerCallback.
func (b *liveInbox) UpdateAllocation(m *si.AllocationResponse) error {
	b.mu.Lock()
	b.messages = append(b.messages, m)
	b.mu.Unlock()
	b.arrived()
	return nil
}

func (b *liveInbox) UpdateNode(m *si.NodeResponse) error {
	b.mu.Lock()
	b.nodes += len(m.Accepted)
	b.mu.Unlock()
	b.arrived()
	return nil
}

func (b *liveInbox) UpdateApplication(*si.ApplicationResponse) error { return nil }

func (b *liveInbox) Predicates(*si.PredicatesArgs) error { return nil }

func (b *liveInbox) PreemptionPredicates(*si.PreemptionPredicatesArgs) *si.PreemptionPredicatesResponse {
	return &si.PreemptionPredicatesResponse{Success: true}
}

func (b *liveInbox) SendEvent([]*si.EventRecord) {}

func (b *liveInbox) UpdateContainerSchedulingState(*si.UpdateContainerSchedulingStateRequest) {}
