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

// kind is what a stream is about; each has its own answers.
type kind uint8

const (
	nodes kind = iota
	applications
	allocations
	kinds
)

// maxReason bounds a reason that quotes what the RM sent.
const maxReason = 4 << 10

// list is a part of a message. A message holds one list only: how the effects of two
// lists were ordered could not be seen in it.
type list uint8

const (
	nodeAnswers list = iota // accepted and rejected: each is about another request
	applicationAnswers
	applicationUpdates
	placed
	released
	refusedAsks
)

// listOf says in which list an effect is told.
func listOf(e scheduler.Effect) list {
	switch e.(type) {
	case scheduler.NodeAccepted, scheduler.NodeRejected:
		return nodeAnswers
	case scheduler.ApplicationAccepted, scheduler.ApplicationRejected:
		return applicationAnswers
	case scheduler.ApplicationUpdated:
		return applicationUpdates
	case scheduler.Allocated:
		return placed
	case scheduler.Released:
		return released
	case scheduler.AskRejected:
		return refusedAsks
	}
	panic(fmt.Sprintf("rmproxy: no message for %T", e))
}

func (l list) kind() kind {
	switch l {
	case nodeAnswers:
		return nodes
	case applicationAnswers, applicationUpdates:
		return applications
	}
	return allocations
}

// weight is about how many bytes an effect takes on the wire, and not less.
func weight(e scheduler.Effect) int {
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
func (s *session) message(batch []saying) proto.Message {
	switch listOf(batch[0].effect).kind() {
	case nodes:
		return nodeResponse(batch)
	case applications:
		return applicationResponse(batch)
	default:
		return s.allocationResponse(batch)
	}
}

func nodeResponse(batch []saying) *si.NodeResponse {
	r := &si.NodeResponse{}
	for _, said := range batch {
		switch e := said.effect.(type) {
		case scheduler.NodeAccepted:
			r.Accepted = append(r.Accepted, &si.AcceptedNode{NodeID: string(e.Node)})
		case scheduler.NodeRejected:
			r.Rejected = append(r.Rejected, &si.RejectedNode{NodeID: string(e.Node), Reason: reason(e.Reason)})
		}
	}
	return r
}

func applicationResponse(batch []saying) *si.ApplicationResponse {
	r := &si.ApplicationResponse{}
	for _, said := range batch {
		switch e := said.effect.(type) {
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
				Message:                  e.String() + ": " + e.Why.String(),
			})
		}
	}
	return r
}

func (s *session) allocationResponse(batch []saying) *si.AllocationResponse {
	if len(batch) == 1 {
		if e, ok := batch[0].effect.(scheduler.Allocated); ok {
			return oneAllocation(e)
		}
	}
	r := &si.AllocationResponse{}
	for _, said := range batch {
		switch e := said.effect.(type) {
		case scheduler.Allocated:
			r.New = append(r.New, allocation(e.Ask, e.Node))
		case scheduler.Released:
			r.Released = append(r.Released, &si.AllocationRelease{
				PartitionName:   s.partitionName(said.partition),
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

// oneAllocation is the message about one placement, which a linked shim hears of each. It
// is made in one piece.
func oneAllocation(e scheduler.Allocated) *si.AllocationResponse {
	m := &struct {
		response si.AllocationResponse
		list     [1]*si.Allocation
		wired    wired
	}{}
	m.list[0] = m.wired.from(e.Ask, e.Node)
	m.response.New = m.list[:]
	return &m.response
}

// allocation is an ask with its node.
func allocation(ask *objects.Ask, on objects.NodeID) *si.Allocation {
	return new(wired).from(ask, on)
}

// wired is an allocation together with what it always points to.
type wired struct {
	allocation si.Allocation
	resource   si.Resource
	room       [2]si.Quantity // most asks are for processors and memory
}

// from says which ask it is. There is neither priority nor tags nor partition
// (behaviour.md 10.8).
func (w *wired) from(ask *objects.Ask, on objects.NodeID) *si.Allocation {
	x := &w.allocation
	x.AllocationKey = string(ask.Key)
	x.ApplicationID = string(ask.App)
	x.NodeID = string(on)
	x.ResourcePerAlloc = &w.resource
	x.TaskGroupName = ask.TaskGroup
	x.Placeholder = ask.Placeholder
	x.Originator = ask.Originator
	w.resource.Resources = quantities(ask.Amounts, w.room[:])
	if ask.Policy.Sent() {
		x.PreemptionPolicy = &si.PreemptionPolicy{
			AllowPreemptSelf: ask.Policy.Self(), AllowPreemptOther: ask.Policy.Other(),
		}
	}
	return x
}

// quantities belong to the RM, which may change them. They are in room as far as it goes.
func quantities(a resources.Amounts, room []si.Quantity) map[string]*si.Quantity {
	n := a.Len()
	if n > len(room) {
		room = make([]si.Quantity, n)
	}
	m := make(map[string]*si.Quantity, n)
	for name, q := range a.All() {
		n--
		room[n].Value = int64(q)
		m[name] = &room[n]
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
