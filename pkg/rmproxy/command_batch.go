package rmproxy

import (
	"context"
	"slices"

	"go.uber.org/zap"

	"github.com/canopy-scheduler/canopy/internal/server/cpushare"
	"github.com/canopy-scheduler/canopy/internal/server/engine"
	"github.com/canopy-scheduler/canopy/internal/server/loop"
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
	slot     *cpushare.Slot       // of a batch of many elements; nil: of few
}

// fewElements bounds the elements of a message that is turned into commands without a slot: this
// takes about as long as a time slice.
const fewElements = 256

// newBatch returns an empty batch for a message of so many elements. The caller must call step before
// each element, and send or discard at the end. Turning many elements into commands takes
// milliseconds, in which the goroutine would leave no processor to scheduling (RMI-42).
func (s *session) newBatch(elements int) *commandBatch {
	return &commandBatch{s: s, maxCommands: elements, slot: elementsSlot(elements)}
}

// elementsSlot returns a slot for handling so many elements; nil: for few.
func elementsSlot(elements int) *cpushare.Slot {
	if elements <= fewElements {
		return nil
	}
	return cpushare.Senders.Acquire(context.Background())
}

// step lets other goroutines run now and then.
func (b *commandBatch) step() { b.slot.Yield() }

// discard ends the batch, also after a panic. After send it does nothing.
func (b *commandBatch) discard() {
	b.slot.Release()
	b.slot = nil
}

type partitionBatch struct {
	partition       string
	loop            *loop.Loop
	cmds            []scheduler.Command
	unresolvedUsers map[int]engine.Directory // by index in cmds: the Directory that must resolve the user first
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

// partitionOrDefault returns the commands for a partition that exists, else those for the default partition, which
// lists and records what is rejected for an unknown one (APP-48); nil: it does not exist either.
func (b *commandBatch) partitionOrDefault(name string) *partitionBatch {
	if batch := b.forPartition(name); batch != nil {
		return batch
	}
	return b.forPartition("")
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
func (p *partitionBatch) addUnresolved(cmd scheduler.AddApplication, directory engine.Directory) {
	if p.unresolvedUsers == nil {
		p.unresolvedUsers = map[int]engine.Directory{}
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
	b.discard() // what follows may wait
	sent, err := b.apply()
	if sent {
		b.s.reportRejections(b.rejections)
	}
	return err
}

// apply queues the rejections and passes the commands to the partitions; false: neither.
func (b *commandBatch) apply() (bool, error) {
	s := b.s
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ended() {
		return false, nil
	}
	if s.shim != nil && s.lookups.isFull() && slices.ContainsFunc(b.partitions, s.wouldHold) {
		return false, ErrPendingLookupsFull
	}
	s.queue(apiOrigin, b.rejections)
	for _, p := range b.partitions {
		s.dispatchOrHold(p)
	}
	return true, nil
}

// reportRejections tells OnAPIRejected, without the lock of the session: there may be as many as
// elements in a message (OBS-74).
func (s *session) reportRejections(rejections []scheduler.Effect) {
	if s.p.opt.OnAPIRejected == nil {
		return
	}
	slot := elementsSlot(len(rejections))
	defer slot.Release()
	for _, e := range rejections {
		slot.Yield()
		s.p.opt.OnAPIRejected(e)
	}
}

// reply queues an answer of the API itself, and reports it (OBS-74).
func (s *session) reply(e scheduler.Effect) {
	if s.p.opt.OnAPIRejected != nil {
		s.p.opt.OnAPIRejected(e)
	}
	s.outboxes[listOf(e).kind()].put(apiOrigin, e)
}

// queue puts effects of a partition into the outboxes. It returns what put returned for the last ones
// about allocations; 0: there are none.
func (s *session) queue(partition string, effects []scheduler.Effect) (in uint64) {
	for len(effects) > 0 {
		kind, n := listOf(effects[0]).kind(), 1
		for n < len(effects) && listOf(effects[n]).kind() == kind {
			n++
		}
		count := s.outboxes[kind].put(partition, effects[:n]...)
		if kind == allocationStream {
			in = count
		}
		effects = effects[n:]
	}
	return in
}
