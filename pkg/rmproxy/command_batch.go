package rmproxy

import (
	"slices"

	"go.uber.org/zap"

	"github.com/canopy-scheduler/canopy/internal/loop"
	"github.com/canopy-scheduler/canopy/pkg/priorities"
	"github.com/canopy-scheduler/canopy/pkg/scheduler"
)

// commandBatch holds the commands of one message (RMI-31). Each partition gets its commands at
// once, so that nothing is scheduled between them: an RM relies on a message being applied as a
// whole.
type commandBatch struct {
	s           *session
	maxCommands int                // upper bound of the number of commands
	partitions  []*partitionBatch  // in the order in which the message names them
	rejections  []scheduler.Effect // answers to elements that do not become a command

	registry *priorities.Registry // use classes()
}

type partitionBatch struct {
	partition       string
	loop            *loop.Loop
	cmds            []scheduler.Command
	unresolvedUsers map[int]Directory // by index in cmds: the Directory that must resolve the user first
}

// forPartition returns the commands for a partition; nil: the partition does not exist.
func (b *commandBatch) forPartition(name string) *partitionBatch {
	bare := b.s.bareName(name)
	for _, p := range b.partitions {
		if p.partition == bare {
			return p
		}
	}
	bare, to, ok := b.s.partition(name)
	if !ok {
		return nil
	}
	p := &partitionBatch{partition: bare, loop: to, cmds: make([]scheduler.Command, 0, b.capacity())}
	b.partitions = append(b.partitions, p)
	return p
}

// capacity is the initial capacity of the next partitionBatch: nearly every message is about one
// partition.
func (b *commandBatch) capacity() int {
	if len(b.partitions) > 0 {
		return 0
	}
	return b.maxCommands
}

func (p *partitionBatch) add(cmd scheduler.Command) { p.cmds = append(p.cmds, cmd) }

// addUnresolved adds an application whose user must be resolved before the partition gets it.
func (p *partitionBatch) addUnresolved(cmd scheduler.AddApplication, directory Directory) {
	if p.unresolvedUsers == nil {
		p.unresolvedUsers = map[int]Directory{}
	}
	p.unresolvedUsers[len(p.cmds)] = directory
	p.add(cmd)
}

// reject answers an element of the message that cannot become a command.
func (b *commandBatch) reject(e scheduler.Effect) { b.rejections = append(b.rejections, e) }

// logRefused logs and counts an element that cannot become a command and that the interface has no
// answer for (RMI-51).
func (s *session) logRefused(what, name string, err error) {
	s.p.ignored[ignoredInvalid].Add(1)
	s.log.Warn("refused", zap.String("what", what+" "+truncate(name)), zap.String("reason", err.Error()))
}

// send passes the commands to the partitions; after the end of the session it does nothing (RMI-13,
// ORD-4). For a linked shim, which cannot be made to wait, it returns ErrPendingLookupsFull and
// sends nothing if a command would have to wait for a lookup and too many wait already.
func (b *commandBatch) send() error {
	s := b.s
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ended() {
		return nil
	}
	if s.shim != nil && s.lookups.isFull() && slices.ContainsFunc(b.partitions, s.wouldHold) {
		return ErrPendingLookupsFull
	}
	for _, e := range b.rejections {
		s.reply(e)
	}
	for _, p := range b.partitions {
		s.dispatchOrHold(p)
	}
	return nil
}

// reply queues an answer of the API itself (OBS-74).
func (s *session) reply(e scheduler.Effect) {
	if s.p.opt.OnAPIRejected != nil {
		s.p.opt.OnAPIRejected(e)
	}
	s.outboxes[listOf(e).kind()].put(apiOrigin, e)
}
