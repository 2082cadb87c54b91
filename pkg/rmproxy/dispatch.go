package rmproxy

import (
	"errors"
	"fmt"

	"github.com/canopy-scheduler/canopy/internal/server/loop"
	"github.com/canopy-scheduler/canopy/pkg/objects"
	"github.com/canopy-scheduler/canopy/pkg/scheduler"
)

// dispatch sends commands to a partition (RMI-53). If the partition has been removed since it was
// looked up, the commands go to the partition that has its name now, and without one they are
// rejected like those for an unknown partition. The caller must hold s.mu.
func (s *session) dispatch(partition string, l *loop.Loop, cmds []scheduler.Command) {
	for !l.Send(cmds...) {
		next, ok := s.p.cluster.Partition(partition)
		if !ok || next == l {
			s.rejectCommands(partition, cmds)
			return
		}
		l = next
	}
}

// rejectCommands answers commands for a partition that has been removed from the configuration
// (ASK-19, RMI-53). The caller must hold s.mu.
func (s *session) rejectCommands(partition string, cmds []scheduler.Command) {
	unknown := s.unknownPartition(partition)
	rejectAsk := func(key objects.AllocationKey, app objects.AppID, reported bool) {
		s.reply(scheduler.AskRejected{
			Key: key, App: app, Kind: scheduler.RejectedPartition, Reason: unknownPartitionForAsk(app, key, unknown).Error(),
			Reported: reported,
		})
	}
	rejectNode := func(id objects.NodeID) {
		s.reply(scheduler.NodeRejected{Node: id, Reason: unknownPartitionForNode(id, unknown).Error()})
	}
	s.p.ignored[ignoredPartition].Add(uint64(len(cmds)))
	refused := errors.New("unknown partition " + unknown)
	for _, cmd := range cmds {
		switch m := cmd.(type) {
		case scheduler.AddApplication:
			s.reply(scheduler.ApplicationRejected{App: m.App, Queue: m.Queue, User: m.User.Name,
				Reason: unknownPartitionForApp(m.App, unknown).Error()})
		case scheduler.SubmitAsk:
			rejectAsk(m.Ask.Key, m.Ask.App, false)
		case scheduler.SubmitAskWithClass:
			rejectAsk(m.Ask.Key, m.Ask.App, false)
		case scheduler.ReportAllocation:
			rejectAsk(m.Ask.Key, m.Ask.App, true)
		case scheduler.RejectAsk:
			s.reply(m.Rejected)
		case scheduler.ReportForeign:
			rejectAsk(m.Foreign.Key, "", true)
		case scheduler.AddNode:
			rejectNode(m.Node)
		case scheduler.RemoveApplication:
			s.logRefused("removal of application", string(m.App), refused)
		case scheduler.Release:
			s.logRefused("release of", string(m.Key), refused)
		case scheduler.ReleaseForeign:
			s.logRefused("release of", string(m.Key), refused)
		case scheduler.SetCapacity:
			rejectNode(m.Node)
		case scheduler.SetAttributes:
			// the SetCapacity of the same update is answered
		case scheduler.SetSchedulable:
			rejectNode(m.Node)
		case scheduler.RemoveNode:
			rejectNode(m.Node)
		default:
			panic(fmt.Sprintf("rmproxy: unknown command type %T", cmd))
		}
	}
}

// unknownPartitionError is an ask, an allocation or a node for an unknown partition.
type unknownPartitionError string

// Error implements error.
func (e unknownPartitionError) Error() string { return string(e) }

// rejectionOf is the kind of rejection for an ask or an allocation that cannot become a command.
func rejectionOf(err error) scheduler.Rejection {
	if errors.As(err, new(unknownPartitionError)) {
		return scheduler.RejectedPartition
	}
	return scheduler.RejectedMalformed
}

// unknownPartition returns the name of an unknown partition for a rejection, with where it is served (HA-13).
func (s *session) unknownPartition(name string) string {
	name = s.bareName(name)
	if s.p.opt.Elsewhere == nil {
		return truncate(name)
	}
	return truncate(name) + s.p.opt.Elsewhere(name)
}

// unknownPartitionForApp is the reason of a rejection, with the text of YuniKorn (APP-18).
func unknownPartitionForApp(app objects.AppID, partition string) error {
	return fmt.Errorf("failed to add application %s to partition %s, partition doesn't exist", app, partition)
}

// unknownPartitionForAsk is the reason of a rejection, with the text of YuniKorn (ASK-19).
func unknownPartitionForAsk(app objects.AppID, key objects.AllocationKey, partition string) error {
	return unknownPartitionError(fmt.Sprintf("failed to find partition %s, for application %s and allocation %s",
		partition, app, key))
}

// unknownPartitionForNode is the reason of a rejection (NOD-3).
func unknownPartitionForNode(node objects.NodeID, partition string) error {
	return unknownPartitionError(fmt.Sprintf("failed to find partition %s for node %s", partition, node))
}
