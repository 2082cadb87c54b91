package objects

import (
	"github.com/canopy-scheduler/canopy/pkg/lifecycle"
	"github.com/canopy-scheduler/canopy/pkg/quota"
)

// snapshotChanges records what changed while snapshots are watched. Without a watch a change costs a
// comparison.
type snapshotChanges struct {
	watch *Changes // nil: changes are not recorded
}

// maxUntakenChanges is how many changes of allocations are recorded, at least, before recording
// ends.
const maxUntakenChanges = 10_000

// allocation records that x was added, changed or removed. Its application, leaf and node changed with it.
func (s *snapshotChanges) allocation(x *Allocation) {
	c := s.watch
	if c == nil {
		return
	}
	if _, listed := c.recorded[x]; !listed {
		if len(c.allocations) > 2*c.p.allocations.len()+maxUntakenChanges {
			s.unwatch() // not taken for long, and most are removed by now
			return
		}
		c.recorded[x] = struct{}{}
		c.allocations = append(c.allocations, x)
	}
	c.addApp(x.app)
	c.addQueue(x.app.queue)
	if x.node != nil {
		c.addNode(x.node)
	}
}

func (s *snapshotChanges) application(a *Application) {
	if s.watch != nil {
		s.watch.addApp(a)
		s.watch.addQueue(a.queue)
	}
}

func (s *snapshotChanges) node(n *Node) {
	if s.watch != nil {
		s.watch.addNode(n)
	}
}

func (s *snapshotChanges) queue(q *Queue) {
	if s.watch != nil {
		s.watch.addQueue(q)
	}
}

func (s *snapshotChanges) account(x *quota.Account) {
	if s.watch != nil {
		s.watch.addAccount(x)
	}
}

func (s *snapshotChanges) askAdded(x *Allocation, _ groupPosition)  { s.allocation(x) }
func (s *snapshotChanges) askRemoved(x *Allocation, _ *AskGroup)    { s.allocation(x) }
func (s *snapshotChanges) nominationAdded(x *Allocation, _ *Node)   { s.allocation(x) }
func (s *snapshotChanges) nominationRemoved(x *Allocation, _ *Node) { s.allocation(x) }

// and its node: nodeUsageChanged
func (s *snapshotChanges) reservationAdded(x *Allocation, _ *Node)            { s.allocation(x) }
func (s *snapshotChanges) reservationEnded(x *Allocation, _ EndedReservation) { s.allocation(x) }
func (s *snapshotChanges) waitingStateChanged(x *Allocation)                  { s.allocation(x) }
func (s *snapshotChanges) allocationPosted(x *Allocation)                     { s.allocation(x) }
func (s *snapshotChanges) allocationUnposted(x *Allocation)                   { s.allocation(x) }
func (s *snapshotChanges) allocationResized(x *Allocation)                    { s.allocation(x) }
func (s *snapshotChanges) allocationTagged(x *Allocation)                     { s.allocation(x) }
func (s *snapshotChanges) preemptionMarked(x *Allocation)                     { s.allocation(x) }
func (s *snapshotChanges) preemptionUnmarked(x *Allocation)                   { s.allocation(x) }
func (s *snapshotChanges) placeholderEnding(y *Allocation)                    { s.allocation(y) }
func (s *snapshotChanges) replacementAdded(x, _ *Allocation)                  { s.allocation(x) }
func (s *snapshotChanges) replacementEnded(x, _ *Allocation)                  { s.allocation(x) }
func (s *snapshotChanges) gangCountsChanged(a *Application)                   { s.application(a) }
func (*snapshotChanges) gangRefused(*Application, []MemberGroup)              {}
func (s *snapshotChanges) nodeAdded(n *Node)                                  { s.node(n) }
func (s *snapshotChanges) nodeRemoved(n *Node)                                { s.node(n) }
func (s *snapshotChanges) nodeUsageChanged(n *Node)                           { s.node(n) }
func (s *snapshotChanges) schedulabilityChanged(n *Node)                      { s.node(n) }
func (s *snapshotChanges) nodeAttributesChanged(n *Node)                      { s.node(n) }
func (s *snapshotChanges) nodeBudgetsChanged(n *Node)                         { s.node(n) }

// REST shows it as the max of root
func (s *snapshotChanges) capacityChanged(root *Queue)            { s.queue(root) }
func (s *snapshotChanges) queueSettingsChanged(q *Queue)          { s.queue(q) }
func (s *snapshotChanges) queueChanged(q *Queue)                  { s.queue(q) }
func (s *snapshotChanges) quotasChanged(q *Queue)                 { s.queue(q) }
func (s *snapshotChanges) accountMembersChanged(x *quota.Account) { s.account(x) }
func (s *snapshotChanges) accountUsageChanged(x *quota.Account)   { s.account(x) }
func (s *snapshotChanges) accountRunningChanged(x *quota.Account) { s.account(x) }
func (s *snapshotChanges) applicationAdded(a *Application)        { s.application(a) }
func (s *snapshotChanges) applicationRemoved(a *Application)      { s.application(a) }
func (s *snapshotChanges) applicationStateChanged(a *Application, _ lifecycle.Change) {
	s.application(a)
}

// rebuilding ends recording: all accounts are others now, and anything may have changed.
func (s *snapshotChanges) rebuilding() { s.unwatch() }

// The other changes show in no view, or in that of an object that changes with them.

func (*snapshotChanges) replaced(*Allocation)                         {}
func (*snapshotChanges) askGroupHeld(*AskGroup)                       {}
func (*snapshotChanges) nominationEnded(*Allocation, EndedNomination) {}
func (*snapshotChanges) nodeFreed(*Node)                              {}
func (*snapshotChanges) foreignAdded(*Node, *Foreign)                 {}
func (*snapshotChanges) foreignRemoved(*Node, *Foreign)               {}
func (*snapshotChanges) nodeRestored(*Node)                           {}
func (*snapshotChanges) queueUsageChanged(*Queue)                     {}
func (*snapshotChanges) queuePreemptingChanged(*Queue)                {}
func (*snapshotChanges) queueRunningChanged(*Queue)                   {}
func (*snapshotChanges) queueStateChanged(*Queue, QueueChange)        {}
func (*snapshotChanges) queueTreeChanged()                            {}
func (*snapshotChanges) runningChanged(*Application)                  {}
func (*snapshotChanges) firstStartingChanged(*Application)            {}
func (s *snapshotChanges) applicationMoved(a *Application, from *Queue) {
	s.application(a)
	s.queue(from)
}
func (*snapshotChanges) mayPreemptChanged(*Application)                        {}
func (s *snapshotChanges) mayBeAllocatedChanged(a *Application)                { s.application(a) }
func (*snapshotChanges) configurationChanged()                                 {}
func (*snapshotChanges) settingsApplied()                                      {}
func (*snapshotChanges) resourceAdded()                                        {}
func (*snapshotChanges) refusalsMayEnd()                                       {}
func (*snapshotChanges) applicationExpired(*lifecycle.Ended, lifecycle.Change) {}
