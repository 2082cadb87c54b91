package rmproxy

import (
	"fmt"
	"strings"

	"github.com/apache/yunikorn-scheduler-interface/lib/go/si"
	"google.golang.org/protobuf/proto"

	"github.com/canopy-scheduler/canopy/pkg/objects"
	"github.com/canopy-scheduler/canopy/pkg/resources"
	"github.com/canopy-scheduler/canopy/pkg/scheduler"
)

// streamKind is what a stream is about; each has its own answers.
type streamKind uint8

const (
	nodeStream streamKind = iota
	applicationStream
	allocationStream
	streamKinds
)

// maxReason bounds a reason that quotes what the RM sent.
const maxReason = 4 << 10

// responseList is a part of a message. A message holds one list only: how the effects of two
// lists were ordered could not be seen in it.
type responseList uint8

const (
	nodeAnswers responseList = iota // accepted and rejected: each is about another request
	applicationAnswers
	applicationUpdates
	newAllocations
	releasedAllocations
	rejectedAsks
)

// listOf says in which list an effect is told.
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
	case scheduler.Released:
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

// wireSize is about how many bytes an effect takes on the wire, and not less.
func wireSize(e scheduler.Effect) int {
	const framing = 64
	switch e := e.(type) {
	case scheduler.Allocated:
		n := framing + len(e.Node) + len(e.Ask.App) + len(e.Ask.Key) + len(e.Ask.TaskGroup)
		for name := range e.Ask.Amounts.All() {
			n += framing + len(name)
		}
		return n
	case scheduler.Released:
		return framing + len(e.Key) + 2*maxID + len(e.App) + min(len(e.Message), maxReason)
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
				Message:                  e.String() + ": " + e.Reason.String(),
			})
		}
	}
	return r
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

// singleAllocationResponse is the message about one placement, which a linked shim hears of each. It
// is made in one piece.
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

// allocation is an ask with its node.
func allocation(ask *objects.Ask, node objects.NodeID) *si.Allocation {
	return new(allocationMessage).fill(ask, node)
}

// allocationMessage is an allocation together with what it always points to.
type allocationMessage struct {
	allocation si.Allocation
	resource   si.Resource
	quantities [2]si.Quantity // most asks are for processors and memory
}

// fill says which ask it is. There is neither priority nor tags nor partition
// (behaviour.md 10.8).
func (w *allocationMessage) fill(ask *objects.Ask, node objects.NodeID) *si.Allocation {
	x := &w.allocation
	x.AllocationKey = string(ask.Key)
	x.ApplicationID = string(ask.App)
	x.NodeID = string(node)
	x.ResourcePerAlloc = &w.resource
	x.TaskGroupName = ask.TaskGroup
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

// quantities belong to the RM, which may change them. They are in room as far as it goes.
func quantities(a resources.Amounts, buffer []si.Quantity) map[string]*si.Quantity {
	n := a.Len()
	if n > len(buffer) {
		buffer = make([]si.Quantity, n)
	}
	m := make(map[string]*si.Quantity, n)
	for name, q := range a.All() {
		n--
		buffer[n].Value = int64(q)
		m[name] = &buffer[n]
	}
	return m
}

// reason makes a text fit for the wire, which takes valid UTF-8 only.
func reason(text string) string {
	if len(text) > maxReason {
		text = text[:maxReason-len(ellipsis)] + ellipsis
	}
	return strings.ToValidUTF8(text, "?")
}

const ellipsis = "..."
