package rmproxy

import (
	"fmt"
	"strings"

	"github.com/apache/yunikorn-scheduler-interface/lib/go/si"
	"google.golang.org/protobuf/proto"

	"github.com/canopy-scheduler/canopy/pkg/lifecycle"
	"github.com/canopy-scheduler/canopy/pkg/objects"
	"github.com/canopy-scheduler/canopy/pkg/resources"
	"github.com/canopy-scheduler/canopy/pkg/scheduler"
)

// streamKind is the kind of a stream; each has its own answers.
type streamKind uint8

const (
	nodeStream streamKind = iota
	applicationStream
	allocationStream
	streamKinds
)

// maxReason is the maximum length in bytes of a reason, which may quote the RM.
const maxReason = 4 << 10

// responseList is a list of a message to the RM. A message holds one list only, because the order
// of effects in two lists would be lost.
type responseList uint8

const (
	nodeAnswers responseList = iota // accepted and rejected together: each is about another request
	applicationAnswers
	applicationUpdates
	newAllocations
	releasedAllocations
	rejectedAsks
)

// listOf returns the list in which an effect is delivered (RMI-33).
func listOf(e scheduler.Effect) responseList {
	switch e.(type) {
	case scheduler.NodeAccepted, scheduler.NodeRejected:
		return nodeAnswers
	case scheduler.ApplicationAccepted, scheduler.ApplicationRejected:
		return applicationAnswers
	case scheduler.ApplicationUpdated:
		return applicationUpdates
	case scheduler.Allocated:
		return newAllocations
	case scheduler.Released, scheduler.AskTimedOut:
		return releasedAllocations
	case scheduler.AskRejected:
		return rejectedAsks
	}
	panic(fmt.Sprintf("rmproxy: no message for %T", e))
}

func (l responseList) kind() streamKind {
	switch l {
	case nodeAnswers:
		return nodeStream
	case applicationAnswers, applicationUpdates:
		return applicationStream
	}
	return allocationStream
}

// wireSize is an upper bound of the bytes that an effect takes on the wire (RMI-34).
func wireSize(e scheduler.Effect) int {
	const framing = 64
	switch e := e.(type) {
	case scheduler.Allocated:
		// the key is the UUID in 1.0 to 1.5
		n := framing + len(e.Node) + len(e.Ask.App) + 3*len(e.Ask.Key) + len(e.Ask.TaskGroup())
		for name := range e.Ask.Amounts.All() {
			n += framing + len(name)
		}
		return n
	case scheduler.Released:
		return framing + 3*len(e.Key) + 2*maxID + len(e.App) + min(len(e.Message), maxReason)
	case scheduler.AskTimedOut:
		return wireSize(askRelease(e))
	case scheduler.AskRejected:
		return framing + len(e.Key) + len(e.App) + min(len(e.Reason), maxReason)
	case scheduler.ApplicationRejected:
		return framing + len(e.App) + min(len(e.Reason), maxReason)
	case scheduler.NodeRejected:
		return framing + len(e.Node) + min(len(e.Reason), maxReason)
	}
	return framing + 3*maxID
}

// message makes one message of effects of one list.
func (s *session) message(batch []outboundEffect) proto.Message {
	switch listOf(batch[0].effect).kind() {
	case nodeStream:
		return nodeResponse(batch)
	case applicationStream:
		return applicationResponse(batch)
	default:
		return s.allocationResponse(batch)
	}
}

func nodeResponse(batch []outboundEffect) *si.NodeResponse {
	r := &si.NodeResponse{}
	for _, o := range batch {
		switch e := o.effect.(type) {
		case scheduler.NodeAccepted:
			r.Accepted = append(r.Accepted, &si.AcceptedNode{NodeID: string(e.Node)})
		case scheduler.NodeRejected:
			r.Rejected = append(r.Rejected, &si.RejectedNode{NodeID: string(e.Node), Reason: reason(e.Reason)})
		}
	}
	return r
}

func applicationResponse(batch []outboundEffect) *si.ApplicationResponse {
	r := &si.ApplicationResponse{}
	for _, o := range batch {
		switch e := o.effect.(type) {
		case scheduler.ApplicationAccepted:
			r.Accepted = append(r.Accepted, &si.AcceptedApplication{ApplicationID: string(e.App)})
		case scheduler.ApplicationRejected:
			r.Rejected = append(r.Rejected, &si.RejectedApplication{
				ApplicationID: string(e.App), Reason: reason(e.Reason),
			})
		case scheduler.ApplicationUpdated:
			r.Updated = append(r.Updated, &si.UpdatedApplication{
				ApplicationID:            string(e.App),
				State:                    e.State.String(),
				StateTransitionTimestamp: e.At.UnixNano(),
				Message:                  stateMessage(e),
			})
		}
	}
	return r
}

// stateMessage is the message of a state that was entered (APP-13). That of a gang that was not complete in time is
// the word alone, because shims compare it (GAN-10).
func stateMessage(e scheduler.ApplicationUpdated) string {
	if e.Reason == lifecycle.ReasonReservationTimeout {
		return e.Reason.String()
	}
	return e.String() + ": " + e.Reason.String()
}

func (s *session) allocationResponse(batch []outboundEffect) *si.AllocationResponse {
	if len(batch) == 1 {
		if e, ok := batch[0].effect.(scheduler.Allocated); ok {
			return singleAllocationResponse(e)
		}
	}
	r := &si.AllocationResponse{}
	for _, o := range batch {
		switch e := o.effect.(type) {
		case scheduler.Allocated:
			r.New = append(r.New, allocation(e.Ask, e.Node))
		case scheduler.Released:
			r.Released = append(r.Released, &si.AllocationRelease{
				PartitionName:   s.partitionName(o.partition),
				ApplicationID:   string(e.App),
				TerminationType: si.TerminationType(e.Type),
				Message:         reason(e.Message),
				AllocationKey:   string(e.Key),
			})
		case scheduler.AskRejected:
			r.RejectedAllocations = append(r.RejectedAllocations, &si.RejectedAllocation{
				AllocationKey: string(e.Key), ApplicationID: string(e.App), Reason: reason(e.Reason),
			})
		}
	}
	return r
}

// singleAllocationResponse is the message about one placement; a linked shim gets one for each.
// It is one object, to save allocations.
func singleAllocationResponse(e scheduler.Allocated) *si.AllocationResponse {
	m := &struct {
		response si.AllocationResponse
		list     [1]*si.Allocation
		wired    allocationMessage
	}{}
	m.list[0] = m.wired.fill(e.Ask, e.Node)
	m.response.New = m.list[:]
	return &m.response
}

// allocation returns the message about an ask that was placed on a node (ASK-37).
func allocation(ask *objects.Ask, node objects.NodeID) *si.Allocation {
	return new(allocationMessage).fill(ask, node)
}

// allocationMessage is an allocation with the messages that it always points to (ASK-37).
type allocationMessage struct {
	allocation si.Allocation
	resource   si.Resource
	quantities [2]si.Quantity // most asks request CPU and memory only
}

// fill sets the fields of the allocation. Priority, tags and partition are not sent, as in
// YuniKorn.
func (w *allocationMessage) fill(ask *objects.Ask, node objects.NodeID) *si.Allocation {
	x := &w.allocation
	x.AllocationKey = string(ask.Key)
	x.ApplicationID = string(ask.App)
	x.NodeID = string(node)
	x.ResourcePerAlloc = &w.resource
	x.TaskGroupName = ask.TaskGroup()
	x.Placeholder = ask.Placeholder
	x.Originator = ask.Originator
	w.resource.Resources = quantities(ask.Amounts, w.quantities[:])
	if ask.Policy.Sent() {
		x.PreemptionPolicy = &si.PreemptionPolicy{
			AllowPreemptSelf: ask.Policy.AllowPreemptSelf(), AllowPreemptOther: ask.Policy.AllowPreemptOther(),
		}
	}
	return x
}

// quantities returns the amounts as a map that the RM may change (RMI-64). The quantities use
// buffer if it is large enough.
func quantities(a resources.Amounts, buffer []si.Quantity) map[string]*si.Quantity {
	n := a.Len()
	if n > len(buffer) {
		buffer = make([]si.Quantity, n)
	}
	m := make(map[string]*si.Quantity, n)
	for i := range n {
		name, q := a.Entry(i)
		buffer[i].Value = int64(q)
		m[name] = &buffer[i]
	}
	return m
}

// reason makes a text fit for the wire: bounded, and valid UTF-8 (ASK-10, RMI-35).
func reason(text string) string {
	if len(text) > maxReason {
		text = text[:maxReason-len(ellipsis)] + ellipsis
	}
	return strings.ToValidUTF8(text, "?")
}

const ellipsis = "..."
