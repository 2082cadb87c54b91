package rmproxy

import (
	"context"
	"slices"
	"sync/atomic"

	"go.uber.org/zap"

	"github.com/canopy-scheduler/canopy/pkg/objects"
	"github.com/canopy-scheduler/canopy/pkg/scheduler"
)

// maxHeldCommands bounds the commands that wait for lookups (ACL-26). Beyond that, streams are not
// read, and linked shims get ErrPendingLookupsFull for messages that would have to wait. It bounds
// a client that sends without end while a Directory does not answer; each waiting command is
// released within the timeout of the Directory.
const maxHeldCommands = 65536

// pendingLookups holds the applications of a session whose users are being resolved, each with all
// later commands of the RM about it, in order: an RM need not know that users are resolved (ACL-24,
// RMI-48). Commands about other applications are not held.
//
// Guarded by session.mu, except where noted.
type pendingLookups struct {
	byApplication map[waitingApplication][]*heldCommand
	count         atomic.Int64  // held commands of all applications; changed under session.mu
	drained       chan struct{} // closed when commands are released; nil: no goroutine waits
}

// waitingApplication identifies an application with held commands.
type waitingApplication struct {
	partition string
	app       objects.AppID
}

// heldCommand is a command that waits. Invariant: the first command of an application is
// resolving.
type heldCommand struct {
	cmd       scheduler.Command
	resolving bool // an AddApplication whose user is being resolved
}

func (p *pendingLookups) isFull() bool { return p.count.Load() >= maxHeldCommands }

// wouldHold reports whether a command of the batch would have to wait. The caller must hold s.mu.
func (s *session) wouldHold(batch *partitionBatch) bool {
	return len(batch.unresolvedUsers) > 0 || slices.ContainsFunc(batch.cmds, func(cmd scheduler.Command) bool {
		return len(s.lookups.byApplication[waitingApplication{batch.partition, applicationOf(cmd)}]) > 0
	})
}

// dispatchOrHold sends the commands to the partition, except those that must wait (ACL-24, ACL-25,
// APP-23, RMI-48). The caller must hold s.mu.
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
			// The lookup starts now, even behind other commands: each waits for its own answer
			// only, so all commands of the application wait no longer than one timeout.
			directory.Resolve(cmd.(scheduler.AddApplication).User.Name, func(groups []string, err error) {
				s.userResolved(app, e, groups, err)
			})
		}
	}
	s.dispatch(batch.partition, batch.loop, ready)
}

// userResolved completes an application whose user was resolved, or could not be, and releases the
// commands that need not wait any more: those from the front up to the next one that is resolving
// (ACL-24, ACL-27, APP-23). After the end of the session it does nothing.
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
	// The commands are sent before their number is released: a stream that waits for it must come
	// after them.
	if to, ok := s.p.cluster.Partition(app.partition); ok {
		s.dispatch(app.partition, to, ready)
	} else {
		s.rejectCommands(app.partition, ready)
	}
	s.releaseHeld(app, held, len(ready))
}

// releaseHeld removes the first n held commands of an application. The caller must hold s.mu.
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
	clear(held[:n]) // so that a long list does not keep them in memory
	s.lookups.byApplication[app] = held[n:]
}

// waitForLookups blocks while too many commands wait for lookups (ACL-26).
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

// applicationOf is the application of a command; empty: none.
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
