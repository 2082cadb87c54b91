package webservice

import (
	"net/http"
	"time"

	"github.com/canopy-scheduler/canopy/internal/server/cpushare"
	"github.com/canopy-scheduler/canopy/pkg/lifecycle"
	"github.com/canopy-scheduler/canopy/pkg/resources"
	"github.com/canopy-scheduler/canopy/pkg/scheduler"
	"github.com/canopy-scheduler/canopy/pkg/webservice/dao"
)

// queues shows the whole queue tree.
func (s *service) queues(r *http.Request, snap *scheduler.Snapshot) (any, error) {
	return queueTree(snap, cpushare.Readers.Acquire(r.Context())), nil
}

// oneQueue shows one queue, and with the parameter subtree those below it (OBS-97).
func (s *service) oneQueue(r *http.Request, snap *scheduler.Snapshot) (any, error) {
	q, err := queueIn(r, snap)
	if err != nil {
		return nil, err
	}
	running := runningBelow(q, cpushare.Readers.Acquire(r.Context()))
	v := running.body(q, snap.Headroom(q.Path), snap.At, r.URL.Query().Has("subtree"))
	v.Partition = snap.Partition
	return v, nil
}

// queueTree returns the tree of all queues. Its slot is released.
func queueTree(snap *scheduler.Snapshot, slot *cpushare.Slot) dao.Queue {
	v := runningBelow(snap.Root, slot).body(snap.Root, snap.Root.HeadroomBelow(resources.Limit{}), snap.At, true)
	v.Partition = snap.Partition
	return v
}

// runningApplications counts the running applications of queues, with those of the queues below.
type runningApplications map[*scheduler.QueueView]uint64

// runningBelow counts the running applications of q and of each queue below it. It releases the slot.
func runningBelow(q *scheduler.QueueView, slot *cpushare.Slot) runningApplications {
	defer slot.Release()
	counts := runningApplications{}
	counts.add(q, slot)
	return counts
}

func (c runningApplications) add(q *scheduler.QueueView, slot *cpushare.Slot) (n uint64) {
	for a := range q.Applications.All() {
		slot.Yield()
		if a.State == lifecycle.Running {
			n++
		}
	}
	for child := range q.Children.All() {
		n += c.add(child, slot)
	}
	c[q] = n
	return n
}

// body returns q and, with subtree, the queues below it, which are made while they are written.
func (c runningApplications) body(q *scheduler.QueueView, headroom resources.Limit, at time.Time,
	subtree bool) dao.Queue {
	v := dao.NewQueue(q, headroom, at)
	v.RunningApps = c[q]
	for child := range q.Children.All() {
		v.ChildNames = append(v.ChildNames, string(child.Path))
	}
	if subtree && len(v.ChildNames) > 0 {
		v.Children = dao.ListOf(q.Children.All(), func(child *scheduler.QueueView) dao.Queue {
			return c.body(child, child.HeadroomBelow(headroom), at, true)
		})
	}
	return v
}
