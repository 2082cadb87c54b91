package rmproxy

import (
	"context"
	"slices"
	"sync/atomic"

	"go.uber.org/zap"

	"github.com/canopy-scheduler/canopy/pkg/objects"
	"github.com/canopy-scheduler/canopy/pkg/scheduler"
)

// maxHeldCommands is how many commands may wait in a lobby before streams are not read any more,
// and linked shims are refused what would have to wait. It is for a peer that sends without
// end while a Directory gives no answer; what waits is answered within the time-out of the
// Directory.
const maxHeldCommands = 65536

// pendingLookups is where the applications of a session wait until their users are known, each
// with all that the RM says about it meanwhile, in the order in which it was said: an RM
// need not know that users are looked up. What is about other applications goes on.
//
// Guarded by session.mu, held apart.
type pendingLookups struct {
	byApplication map[waitingApplication][]*heldCommand
	count         atomic.Int64  // errands of all lines; changed under session.mu
	drained       chan struct{} // closed when some have left; nil: nobody cares
}

// waitingApplication is an application that waits.
type waitingApplication struct {
	partition string
	app       objects.AppID
}

// heldCommand is a command that waits. Invariant: the first of a line is open.
type heldCommand struct {
	cmd       scheduler.Command
	resolving bool // an AddApplication whose user is being asked about
}

func (p *pendingLookups) isFull() bool { return p.count.Load() >= maxHeldCommands }

// wouldHold reports whether some commands of a lot will have to wait. Requires: s.mu.
func (s *session) wouldHold(batch *partitionBatch) bool {
	return len(batch.unresolvedUsers) > 0 || slices.ContainsFunc(batch.cmds, func(cmd scheduler.Command) bool {
		return len(s.lookups.byApplication[waitingApplication{batch.partition, applicationOf(cmd)}]) > 0
	})
}

// dispatchOrHold gives a lot to its partition, all but what has to wait. Requires: s.mu.
func (s *session) dispatchOrHold(batch *partitionBatch) {
	if len(batch.unresolvedUsers) == 0 && len(s.lookups.byApplication) == 0 {
		s.dispatch(batch.partition, batch.loop, batch.cmds)
		return
	}
	var ready []scheduler.Command
	for i, cmd := range batch.cmds {
		app, directory := waitingApplication{batch.partition, applicationOf(cmd)}, batch.unresolvedUsers[i]
		held, waits := s.lookups.byApplication[app]
		if !waits && directory == nil {
			ready = append(ready, cmd)
			continue
		}
		if s.lookups.byApplication == nil {
			s.lookups.byApplication = map[waitingApplication][]*heldCommand{}
		}
		e := &heldCommand{cmd, directory != nil}
		s.lookups.byApplication[app] = append(held, e)
		s.lookups.count.Add(1)
		if directory != nil {
			// At once, also for one that is not the first: each waits for its own answer only, so
			// the time-out of a Directory is the longest that a whole line waits.
			directory.Resolve(cmd.(scheduler.AddApplication).User.Name, func(groups []string, err error) {
				s.userResolved(app, e, groups, err)
			})
		}
	}
	s.dispatch(batch.partition, batch.loop, ready)
}

// userResolved completes an application whose user is known now, or known to nobody, and lets go
// on what waits for nothing else: it, if it is the first of its line, and those behind it up
// to another one whose user is still asked about. A session that is over has nothing to say
// to anybody.
func (s *session) userResolved(app waitingApplication, e *heldCommand, groups []string, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ended() {
		return
	}
	add := e.cmd.(scheduler.AddApplication)
	if err != nil {
		s.log.Warn("user not resolved", zap.String("application", string(add.App)), zap.Error(err))
	}
	setGroups(&add, groups, err)
	e.cmd, e.resolving = add, false
	held := s.lookups.byApplication[app]
	var ready []scheduler.Command
	for _, e := range held {
		if e.resolving {
			break
		}
		ready = append(ready, e.cmd)
	}
	if len(ready) == 0 {
		return
	}
	// Who waits for room in the lobby goes on when these have been sent, and not before.
	if to, ok := s.p.cluster.Partition(app.partition); ok {
		s.dispatch(app.partition, to, ready)
	} else {
		s.rejectCommands(app.partition, ready)
	}
	s.releaseHeld(app, held, len(ready))
}

// releaseHeld takes so many errands off a line. Requires: s.mu.
func (s *session) releaseHeld(app waitingApplication, held []*heldCommand, n int) {
	s.lookups.count.Add(-int64(n))
	if s.lookups.drained != nil {
		close(s.lookups.drained)
		s.lookups.drained = nil
	}
	if n == len(held) {
		delete(s.lookups.byApplication, app)
		return
	}
	clear(held[:n]) // the line may be long, and live long
	s.lookups.byApplication[app] = held[n:]
}

// waitForLookups blocks while too much waits for users to be known.
func (s *session) waitForLookups(ctx context.Context) error {
	for s.lookups.isFull() {
		s.mu.Lock()
		if !s.lookups.isFull() {
			s.mu.Unlock()
			return nil
		}
		if s.lookups.drained == nil {
			s.lookups.drained = make(chan struct{})
		}
		drained := s.lookups.drained
		s.mu.Unlock()
		select {
		case <-drained:
		case <-ctx.Done():
			return ctx.Err()
		case <-s.ctx.Done():
			return context.Cause(s.ctx)
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
	case scheduler.SubmitAskWithClass:
		return m.Ask.App
	case scheduler.ReportAllocation:
		return m.Ask.App
	case scheduler.Release:
		return m.App
	}
	return ""
}
