package rmproxy

import (
	"context"
	"slices"
	"sync/atomic"

	"go.uber.org/zap"

	"github.com/canopy-scheduler/canopy/pkg/objects"
	"github.com/canopy-scheduler/canopy/pkg/scheduler"
)

// mostHeld is how many commands may wait in a lobby before streams are not read any more,
// and linked shims are refused what would have to wait. It is for a peer that sends without
// end while a Directory gives no answer; what waits is answered within the time-out of the
// Directory.
const mostHeld = 65536

// lobby is where the applications of a session wait until their users are known, each
// with all that the RM says about it meanwhile, in the order in which it was said: an RM
// need not know that users are looked up. What is about other applications goes on.
//
// Guarded by session.mu, held apart.
type lobby struct {
	lines map[visitor][]*errand
	held  atomic.Int64  // errands of all lines; changed under session.mu
	ebb   chan struct{} // closed when some have left; nil: nobody cares
}

// visitor is an application that waits.
type visitor struct {
	partition string
	app       objects.AppID
}

// errand is a command that waits. Invariant: the first of a line is open.
type errand struct {
	cmd  scheduler.Command
	open bool // an AddApplication whose user is being asked about
}

func (y *lobby) isFull() bool { return y.held.Load() >= mostHeld }

// keepsSome reports whether some commands of a lot will have to wait. Requires: s.mu.
func (s *session) keepsSome(l *lot) bool {
	return len(l.strangers) > 0 || slices.ContainsFunc(l.cmds, func(cmd scheduler.Command) bool {
		return len(s.lobby.lines[visitor{l.partition, applicationOf(cmd)}]) > 0
	})
}

// admit gives a lot to its partition, all but what has to wait. Requires: s.mu.
func (s *session) admit(l *lot) {
	if len(l.strangers) == 0 && len(s.lobby.lines) == 0 {
		s.post(l.partition, l.loop, l.cmds)
		return
	}
	var pass []scheduler.Command
	for i, cmd := range l.cmds {
		who, ask := visitor{l.partition, applicationOf(cmd)}, l.strangers[i]
		line, waits := s.lobby.lines[who]
		if !waits && ask == nil {
			pass = append(pass, cmd)
			continue
		}
		if s.lobby.lines == nil {
			s.lobby.lines = map[visitor][]*errand{}
		}
		e := &errand{cmd, ask != nil}
		s.lobby.lines[who] = append(line, e)
		s.lobby.held.Add(1)
		if ask != nil {
			// At once, also for one that is not the first: each waits for its own answer only, so
			// the time-out of a Directory is the longest that a whole line waits.
			ask.Find(cmd.(scheduler.AddApplication).User.Name, func(groups []string, err error) {
				s.found(who, e, groups, err)
			})
		}
	}
	s.post(l.partition, l.loop, pass)
}

// found completes an application whose user is known now, or known to nobody, and lets go
// on what waits for nothing else: it, if it is the first of its line, and those behind it up
// to another one whose user is still asked about. A session that is over has nothing to say
// to anybody.
func (s *session) found(who visitor, e *errand, groups []string, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ended() {
		return
	}
	add := e.cmd.(scheduler.AddApplication)
	if err != nil {
		s.log.Warn("user not resolved", zap.String("application", string(add.App)), zap.Error(err))
	}
	resolve(&add, groups, err)
	e.cmd, e.open = add, false
	line := s.lobby.lines[who]
	var pass []scheduler.Command
	for _, e := range line {
		if e.open {
			break
		}
		pass = append(pass, e.cmd)
	}
	if len(pass) == 0 {
		return
	}
	// Who waits for room in the lobby goes on when these have been sent, and not before.
	if to, ok := s.p.cluster.Partition(who.partition); ok {
		s.post(who.partition, to, pass)
	} else {
		s.turnAway(who.partition, pass)
	}
	s.leaveLobby(who, line, len(pass))
}

// leaveLobby takes so many errands off a line. Requires: s.mu.
func (s *session) leaveLobby(who visitor, line []*errand, gone int) {
	s.lobby.held.Add(-int64(gone))
	if s.lobby.ebb != nil {
		close(s.lobby.ebb)
		s.lobby.ebb = nil
	}
	if gone == len(line) {
		delete(s.lobby.lines, who)
		return
	}
	clear(line[:gone]) // the line may be long, and live long
	s.lobby.lines[who] = line[gone:]
}

// waitInLobby blocks while too much waits for users to be known.
func (s *session) waitInLobby(ctx context.Context) error {
	for s.lobby.isFull() {
		s.mu.Lock()
		if !s.lobby.isFull() {
			s.mu.Unlock()
			return nil
		}
		if s.lobby.ebb == nil {
			s.lobby.ebb = make(chan struct{})
		}
		ebb := s.lobby.ebb
		s.mu.Unlock()
		select {
		case <-ebb:
		case <-ctx.Done():
			return ctx.Err()
		case <-s.over.Done():
			return context.Cause(s.over)
		}
	}
	return nil
}

// applicationOf is the application that a command is about; empty: it is about none.
func applicationOf(cmd scheduler.Command) objects.AppID {
	switch m := cmd.(type) {
	case scheduler.AddApplication:
		return m.App
	case scheduler.RemoveApplication:
		return m.App
	case scheduler.SubmitAsk:
		return m.Ask.App
	case scheduler.SubmitClassed:
		return m.Ask.App
	case scheduler.ReportAllocation:
		return m.Ask.App
	case scheduler.Release:
		return m.App
	}
	return ""
}
