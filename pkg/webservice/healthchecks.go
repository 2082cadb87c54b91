package webservice

import (
	"fmt"
	"strings"
	"time"

	"github.com/canopy-scheduler/canopy/pkg/objects"
	"github.com/canopy-scheduler/canopy/pkg/resources"
	"github.com/canopy-scheduler/canopy/pkg/scheduler"
)

// What is looked at for the health of a scheduler (behaviour.md 11.5). Nothing is remembered:
// what is right again is healthy again. Upstream also looks at counters of errors and of failed
// nodes, which never decrease, so one bad request makes it unhealthy for ever; these are not here.
// Nor are reservations, of which there are none.

// check is a question about one partition.
type check struct {
	name, description string
	warns             bool // what it finds is no fault of the scheduler
	look              func(*examined, *findings)
}

var checks = []check{
	{"Partitions answer", "Check that every partition answers in time", false, func(x *examined, f *findings) {
		if x.silent != nil {
			f.add("it does not answer: %v", x.silent)
		}
	}},
	{"Recount of the books", "Count the books of every partition again from the list of its allocations", false, func(x *examined, f *findings) {
		if x.health.Audit.Err != nil {
			f.add("%v", x.health.Audit.Err)
		}
	}},
	{"Negative resources", "Check for negative resources in the partitions", false, ofSnapshot(negativeInQueues)},
	{"Negative resources", "Check for negative resources in the nodes", false, ofSnapshot(negativeOnNodes)},
	{"Consistency of data", "Check that a partition has what its nodes have together", false, ofSnapshot(capacityAddsUp)},
	{"Consistency of data", "Check that what a node has is allocated, occupied or available", false, ofSnapshot(nodesAddUp)},
	{"Orphan allocation on node check", "Check that every allocation on a node is known to its application", false, ofSnapshot(orphansOnNodes)},
	{"Orphan allocation on app check", "Check that every allocation of an application is known to its node", false, ofSnapshot(orphansOfApplications)},
	{"Paused queues", "Name leaves that may not take each other's place, as room went round between them too often; a warning", true, ofSnapshot(pausedLeaves)},
	{"Overdue victims", "Name those who were told to leave longer ago than anybody waits, and have not left; a warning", true, ofSnapshot(overdueVictims)},
}

func ofSnapshot(look func(*scheduler.Snapshot, *findings)) func(*examined, *findings) {
	return func(x *examined, f *findings) {
		if x.snap != nil {
			look(x.snap, f)
		}
	}
}

// mostFindings is how many things a check names.
const mostFindings = 10

// findings are what a check has found, in words.
type findings struct {
	partition string // that is looked at
	named     []string
	count     int
}

func (f *findings) add(format string, about ...any) {
	if f.count++; f.count <= mostFindings {
		f.named = append(f.named, "partition "+f.partition+": "+fmt.Sprintf(format, about...))
	}
}

func (f *findings) String() string {
	text := strings.Join(f.named, "; ")
	if more := f.count - len(f.named); more > 0 {
		text += fmt.Sprintf("; and %d more", more)
	}
	return text
}

func negativeInQueues(s *scheduler.Snapshot, f *findings) {
	refuseNegative(f, "capacity", s.Capacity)
	eachQueue(s.Root, func(q *scheduler.QueueView) {
		refuseNegative(f, "queue "+string(q.Path)+" has allocated", q.Allocated)
		refuseNegative(f, "queue "+string(q.Path)+" has pending", q.Pending)
	})
}

// negativeOnNodes does not mind what is available: a node that shrank may have less than its
// work holds.
func negativeOnNodes(s *scheduler.Snapshot, f *findings) {
	for n := range s.Nodes.All() {
		refuseNegative(f, "node "+string(n.ID)+" has", n.Total)
		refuseNegative(f, "node "+string(n.ID)+" has allocated", n.Allocated)
		refuseNegative(f, "node "+string(n.ID)+" has occupied", n.Occupied)
	}
}

func refuseNegative(f *findings, what string, a resources.Amounts) {
	if a.HasNegative() {
		f.add("%s %v", what, a)
	}
}

func capacityAddsUp(s *scheduler.Snapshot, f *findings) {
	var sum resources.Amounts
	for n := range s.Nodes.All() {
		sum = sum.Add(n.Total)
	}
	if !sum.Equal(s.Capacity) {
		f.add("it has %v, its nodes have %v", s.Capacity, sum)
	}
}

func nodesAddUp(s *scheduler.Snapshot, f *findings) {
	for n := range s.Nodes.All() {
		if left := n.Total.Sub(n.Allocated).Sub(n.Occupied); !left.Equal(n.Available) {
			f.add("node %s has %v available, and should have %v", n.ID, n.Available, left)
		}
	}
}

// place is where an allocation is said to be.
type place struct {
	app  objects.AppID
	node objects.NodeID
}

// byApplications is where applications say that their allocations are.
func byApplications(s *scheduler.Snapshot) map[objects.AllocationKey]place {
	all := map[objects.AllocationKey]place{}
	eachAllocation(s.Root, func(a *scheduler.ApplicationView, w *scheduler.WorkView) {
		all[w.Ask.Key] = place{a.ID, w.Node}
	})
	return all
}

func orphansOnNodes(s *scheduler.Snapshot, f *findings) {
	known := byApplications(s)
	for n := range s.Nodes.All() {
		for w := range n.Work.All() {
			if known[w.Ask.Key] != (place{w.Ask.App, n.ID}) {
				f.add("allocation %s on node %s is not known to application %s", w.Ask.Key, n.ID, w.Ask.App)
			}
		}
	}
}

func orphansOfApplications(s *scheduler.Snapshot, f *findings) {
	there := map[objects.AllocationKey]objects.NodeID{}
	for n := range s.Nodes.All() {
		for w := range n.Work.All() {
			there[w.Ask.Key] = n.ID
		}
	}
	eachAllocation(s.Root, func(a *scheduler.ApplicationView, w *scheduler.WorkView) {
		if there[w.Ask.Key] != w.Node {
			f.add("allocation %s of application %s is not known to node %s", w.Ask.Key, a.ID, w.Node)
		}
	})
}

func overdueVictims(s *scheduler.Snapshot, f *findings) {
	eachAllocation(s.Root, func(a *scheduler.ApplicationView, w *scheduler.WorkView) {
		if w.Overdue {
			f.add("allocation %s of application %s was told at %s to leave node %s", w.Ask.Key, a.ID,
				w.ToldAt.UTC().Format(time.RFC3339), w.Node)
		}
	})
}

func pausedLeaves(s *scheduler.Snapshot, f *findings) {
	for _, p := range s.Pauses {
		f.add("queues %s and %s until %s", p.A, p.B, p.Until.UTC().Format(time.RFC3339))
	}
}

func eachQueue(q *scheduler.QueueView, do func(*scheduler.QueueView)) {
	do(q)
	for child := range q.Children.All() {
		eachQueue(child, do)
	}
}

// eachAllocation goes through what applications have on nodes.
func eachAllocation(q *scheduler.QueueView, do func(*scheduler.ApplicationView, *scheduler.WorkView)) {
	eachQueue(q, func(q *scheduler.QueueView) {
		for a := range q.Applications.All() {
			for w := range a.Work.All() {
				if w.Node != "" {
					do(a, w)
				}
			}
		}
	})
}
