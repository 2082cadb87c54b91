package rmproxy

import (
	"errors"
	"fmt"

	"github.com/canopy-scheduler/canopy/internal/loop"
	"github.com/canopy-scheduler/canopy/pkg/objects"
	"github.com/canopy-scheduler/canopy/pkg/scheduler"
)

// post gives commands to a partition. It may have gone since somebody looked it up, and may
// have a successor by now; without one, the commands are answered as those to a partition
// that never was. Requires: s.mu.
func (s *session) post(partition string, to *loop.Loop, cmds []scheduler.Command) {
	for !to.Send(cmds...) {
		next, ok := s.p.cluster.Partition(partition)
		if !ok || next == to {
			s.turnAway(partition, cmds)
			return
		}
		to = next
	}
}

// turnAway answers commands to a partition that has been left out of the configuration
// meanwhile. Requires: s.mu.
func (s *session) turnAway(partition string, cmds []scheduler.Command) {
	ask := func(key objects.AllocationKey, app objects.AppID) {
		s.reply(scheduler.AskRejected{Key: key, App: app, Kind: scheduler.RejectedPartition, Reason: noPartitionFor(app, key, partition).Error()})
	}
	s.p.ignored[ignoredPartition].Add(uint64(len(cmds)))
	unknown := errors.New("unknown partition " + clip(partition))
	for _, cmd := range cmds {
		switch m := cmd.(type) {
		case scheduler.AddApplication:
			s.reply(scheduler.ApplicationRejected{App: m.App, Queue: m.Queue, User: m.User.Name, Reason: noPartition(m.App, partition).Error()})
		case scheduler.SubmitAsk:
			ask(m.Ask.Key, m.Ask.App)
		case scheduler.SubmitClassed:
			ask(m.Ask.Key, m.Ask.App)
		case scheduler.ReportAllocation:
			ask(m.Ask.Key, m.Ask.App)
		case scheduler.ReportForeign:
			ask(m.Foreign.Key, "")
		case scheduler.AddNode:
			s.reply(scheduler.NodeRejected{Node: m.Node, Reason: noPartitionForNode(m.Node, partition).Error()})
		case scheduler.RemoveApplication:
			s.refused("removal of application", string(m.App), unknown)
		case scheduler.Release:
			s.refused("release of", string(m.Key), unknown)
		case scheduler.ReleaseForeign:
			s.refused("release of", string(m.Key), unknown)
		case scheduler.SetCapacity:
			s.refused("capacity of node", string(m.Node), unknown)
		case scheduler.SetSchedulable:
			s.refused("draining of node", string(m.Node), unknown)
		case scheduler.RemoveNode:
			s.refused("removal of node", string(m.Node), unknown)
		default:
			panic(fmt.Sprintf("rmproxy: a %T that no door sends", cmd))
		}
	}
}

// unknownPartitionError is why an ask or an allocation is for no partition.
type unknownPartitionError string

// Error is part of error.
func (e unknownPartitionError) Error() string { return string(e) }

// rejectionAtAPI is the kind of reason for which an ask or an allocation does not become a command.
func rejectionAtAPI(err error) scheduler.Rejection {
	if errors.As(err, new(unknownPartitionError)) {
		return scheduler.RejectedPartition
	}
	return scheduler.RejectedMalformed
}

func noPartition(app objects.AppID, partition string) error {
	return fmt.Errorf("failed to add application %s to partition %s, partition doesn't exist", app, clip(partition))
}

func noPartitionFor(app objects.AppID, key objects.AllocationKey, partition string) error {
	return unknownPartitionError(fmt.Sprintf("failed to find partition %s, for application %s and allocation %s", clip(partition), app, key))
}

func noPartitionForNode(node objects.NodeID, partition string) error {
	return fmt.Errorf("failed to find partition %s for node %s", clip(partition), node)
}
