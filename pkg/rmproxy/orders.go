package rmproxy

import (
	"slices"

	"go.uber.org/zap"

	"github.com/canopy-scheduler/canopy/internal/loop"
	"github.com/canopy-scheduler/canopy/pkg/priorities"
	"github.com/canopy-scheduler/canopy/pkg/scheduler"
)

// orders are the commands of one message. Each partition gets its part at once, so
// that nothing comes in between: an RM relies on a message being taken as a whole.
type orders struct {
	s     *session
	most  int                // commands there can be
	lots  []*lot             // in the order in which the message names them
	wrong []scheduler.Effect // answers to what no partition needs to hear

	registry *priorities.Registry // use classes()
}

type lot struct {
	partition string
	loop      *loop.Loop
	cmds      []scheduler.Command
	strangers map[int]Directory // by index in cmds: who must be asked about the user first
}

// lot finds the orders for a partition. nil: there is no such partition.
func (o *orders) lot(name string) *lot {
	bare := o.s.bareName(name)
	for _, l := range o.lots {
		if l.partition == bare {
			return l
		}
	}
	bare, to, ok := o.s.partition(name)
	if !ok {
		return nil
	}
	l := &lot{partition: bare, loop: to, cmds: make([]scheduler.Command, 0, o.room())}
	o.lots = append(o.lots, l)
	return l
}

// room is for how many commands the next lot should have room: nearly every message is
// about one partition.
func (o *orders) room() int {
	if len(o.lots) > 0 {
		return 0
	}
	return o.most
}

func (l *lot) add(cmd scheduler.Command) { l.cmds = append(l.cmds, cmd) }

// addStranger adds an application whose user must be looked up before anybody hears of it.
func (l *lot) addStranger(cmd scheduler.AddApplication, ask Directory) {
	if l.strangers == nil {
		l.strangers = map[int]Directory{}
	}
	l.strangers[len(l.cmds)] = ask
	l.add(cmd)
}

// refuse answers an element of the message that cannot become a command.
func (o *orders) refuse(e scheduler.Effect) { o.wrong = append(o.wrong, e) }

// refused logs an element that cannot become a command, and that the interface has no
// answer for.
func (s *session) refused(what, name string, err error) {
	s.p.ignored[ignoredUnnamed].Add(1)
	s.log.Warn("refused", zap.String("what", what+" "+clip(name)), zap.String("reason", err.Error()))
}

// send gives the orders to the partitions, unless the session is over. A door that cannot
// make its peer wait hands all of them back, with ErrFull, if some would have to wait in a
// lobby without room.
func (o *orders) send() error {
	s := o.s
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ended() {
		return nil
	}
	if s.caller != nil && s.lobby.isFull() && slices.ContainsFunc(o.lots, s.keepsSome) {
		return ErrFull
	}
	for _, e := range o.wrong {
		s.reply(e)
	}
	for _, l := range o.lots {
		s.admit(l)
	}
	return nil
}

// reply is an answer of the door itself.
func (s *session) reply(e scheduler.Effect) {
	if s.p.opt.Answered != nil {
		s.p.opt.Answered(e)
	}
	s.boxes[listOf(e).kind()].put(theDoor, e)
}
