package rmproxy

import (
	"errors"
	"fmt"

	"github.com/canopy-scheduler/canopy/internal/loop"
	"github.com/canopy-scheduler/canopy/pkg/objects"
	"github.com/canopy-scheduler/canopy/pkg/scheduler"
)

// dispatch gives commands to a partition. It may have gone since somebody looked it up, and may
// have a successor by now; without one, the commands are answered as those to a partition
// that never was. Requires: s.mu.
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

// rejectCommands answers commands to a partition that has been left out of the configuration
// meanwhile. Requires: s.mu.
func (s *session) rejectCommands(partition string, cmds []scheduler.Command) {
	rejectAsk := func(key objects.AllocationKey, app objects.AppID) {
		s.reply(scheduler.AskRejected{Key: key, App: app, Kind: scheduler.RejectedPartition, Reason: unknownPartitionForAsk(app, key, partition).Error()})
	}
	s.p.ignored[ignoredPartition].Add(uint64(len(cmds)))
	unknown := errors.New("unknown partition " + truncate(partition))
	for _, cmd := range cmds {
		switch m := cmd.(type) {
		case scheduler.AddApplication:
			s.reply(scheduler.ApplicationRejected{App: m.App, Queue: m.Queue, User: m.User.Name, Reason: unknownPartitionForApp(m.App, partition).Error()})
		case scheduler.SubmitAsk:
			rejectAsk(m.Ask.Key, m.Ask.App)
		case scheduler.SubmitAskWithClass:
			rejectAsk(m.Ask.Key, m.Ask.App)
		case scheduler.ReportAllocation:
			rejectAsk(m.Ask.Key, m.Ask.App)
		case scheduler.ReportForeign:
			rejectAsk(m.Foreign.Key, "")
		case scheduler.AddNode:
			s.reply(scheduler.NodeRejected{Node: m.Node, Reason: unknownPartitionForNode(m.Node, partition).Error()})
		case scheduler.RemoveApplication:
			s.logRefused("removal of application", string(m.App), unknown)
		case scheduler.Release:
			s.logRefused("release of", string(m.Key), unknown)
		case scheduler.ReleaseForeign:
			s.logRefused("release of", string(m.Key), unknown)
		case scheduler.SetCapacity:
			s.logRefused("capacity of node", string(m.Node), unknown)
		case scheduler.SetSchedulable:
			s.logRefused("draining of node", string(m.Node), unknown)
		case scheduler.RemoveNode:
			s.logRefused("removal of node", string(m.Node), unknown)
		default:
			panic(fmt.Sprintf("rmproxy: unknown command type %T", cmd))
		}
	}
}

// unknownPartitionError is why an ask or an allocation is for no partition.
type unknownPartitionError string

// Error is part of error.
func (e unknownPartitionError) Error() string { return string(e) }

// rejectionOf is the kind of reason for which an ask or an allocation does not become a command.
func rejectionOf(err error) scheduler.Rejection {
	if errors.As(err, new(unknownPartitionError)) {
		return scheduler.RejectedPartition
	}
	return scheduler.RejectedMalformed
}

func unknownPartitionForApp(app objects.AppID, partition string) error {
	return fmt.Errorf("failed to add application %s to partition %s, partition doesn't exist", app, truncate(partition))
}

func unknownPartitionForAsk(app objects.AppID, key objects.AllocationKey, partition string) error {
	return unknownPartitionError(fmt.Sprintf("failed to find partition %s, for application %s and allocation %s", truncate(partition), app, key))
}

func unknownPartitionForNode(node objects.NodeID, partition string) error {
	return fmt.Errorf("failed to find partition %s for node %s", truncate(partition), node)
}
