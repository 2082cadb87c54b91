package rmproxy

import (
	"slices"

	"go.uber.org/zap"

	"github.com/canopy-scheduler/canopy/internal/loop"
	"github.com/canopy-scheduler/canopy/pkg/priorities"
	"github.com/canopy-scheduler/canopy/pkg/scheduler"
)

// commandBatch are the commands of one message. Each partition gets its part at once, so
// that nothing comes in between: an RM relies on a message being taken as a whole.
type commandBatch struct {
	s           *session
	maxCommands int                // commands there can be
	partitions  []*partitionBatch  // in the order in which the message names them
	rejections  []scheduler.Effect // answers to what no partition needs to hear

	registry *priorities.Registry // use classes()
}

type partitionBatch struct {
	partition       string
	loop            *loop.Loop
	cmds            []scheduler.Command
	unresolvedUsers map[int]Directory // by index in cmds: who must be asked about the user first
}

// forPartition finds the orders for a partition. nil: there is no such partition.
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

// capacity is for how many commands the next lot should have room: nearly every message is
// about one partition.
func (b *commandBatch) capacity() int {
	if len(b.partitions) > 0 {
		return 0
	}
	return b.maxCommands
}

func (p *partitionBatch) add(cmd scheduler.Command) { p.cmds = append(p.cmds, cmd) }

// addUnresolved adds an application whose user must be looked up before anybody hears of it.
func (p *partitionBatch) addUnresolved(cmd scheduler.AddApplication, directory Directory) {
	if p.unresolvedUsers == nil {
		p.unresolvedUsers = map[int]Directory{}
	}
	p.unresolvedUsers[len(p.cmds)] = directory
	p.add(cmd)
}

// reject answers an element of the message that cannot become a command.
func (b *commandBatch) reject(e scheduler.Effect) { b.rejections = append(b.rejections, e) }

// logRefused logs an element that cannot become a command, and that the interface has no
// answer for.
func (s *session) logRefused(what, name string, err error) {
	s.p.ignored[ignoredInvalid].Add(1)
	s.log.Warn("refused", zap.String("what", what+" "+truncate(name)), zap.String("reason", err.Error()))
}

// send gives the orders to the partitions, unless the session is over. A door that cannot
// make its peer wait hands all of them back, with ErrPendingLookupsFull, if some would have to wait in a
// lobby without room.
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

// reply is an answer of the door itself.
func (s *session) reply(e scheduler.Effect) {
	if s.p.opt.OnAPIRejected != nil {
		s.p.opt.OnAPIRejected(e)
	}
	s.outboxes[listOf(e).kind()].put(apiOrigin, e)
}
