package webservice

import (
	"fmt"
	"strings"
	"time"

	"github.com/canopy-scheduler/canopy/internal/cpushare"
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
	{"Orphan allocation on node check", "Check that every allocation on a node is known to its application", false, orphansOnNodes},
	{"Orphan allocation on app check", "Check that every allocation of an application is known to its node", false, orphansOfApplications},
	{"Paused queues", "Name leaves that may not take each other's place, as room went round between them too often; a warning", true, ofSnapshot(pausedLeaves)},
	{"Overdue victims", "Name those who were told to leave longer ago than anybody waits, and have not left; a warning", true, overdueVictims},
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
	partition string         // that is looked at
	turn      *cpushare.Turn // of looking
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
	refuseNegative(f, "%s%s %v", "", "capacity", s.Capacity)
	eachQueue(s.Root, f.turn, func(q *scheduler.QueueView) {
		refuseNegative(f, "queue %s has %s %v", string(q.Path), "allocated", q.Allocated)
		refuseNegative(f, "queue %s has %s %v", string(q.Path), "pending", q.Pending)
	})
}

// negativeOnNodes does not mind what is available: a node that shrank may have less than its
// work holds.
func negativeOnNodes(s *scheduler.Snapshot, f *findings) {
	for n := range s.Nodes.All() {
		f.turn.Yield()
		refuseNegative(f, "node %s has%s %v", string(n.ID), "", n.Total)
		refuseNegative(f, "node %s has %s %v", string(n.ID), "allocated", n.Allocated)
		refuseNegative(f, "node %s has %s %v", string(n.ID), "occupied", n.Occupied)
	}
}

// refuseNegative reports amounts of something by a format, which is filled in only then.
func refuseNegative(f *findings, format, of, what string, a resources.Amounts) {
	if a.HasNegative() {
		f.add(format, of, what, a)
	}
}

func capacityAddsUp(s *scheduler.Snapshot, f *findings) {
	var sum resources.Amounts
	for n := range s.Nodes.All() {
		f.turn.Yield()
		sum = sum.Add(n.Total)
	}
	if !sum.Equal(s.Capacity) {
		f.add("it has %v, its nodes have %v", s.Capacity, sum)
	}
}

func nodesAddUp(s *scheduler.Snapshot, f *findings) {
	for n := range s.Nodes.All() {
		f.turn.Yield()
		if left := n.Total.Sub(n.Allocated).Sub(n.Occupied); !left.Equal(n.Available) {
			f.add("node %s has %v available, and should have %v", n.ID, n.Available, left)
		}
	}
}

func pausedLeaves(s *scheduler.Snapshot, f *findings) {
	for _, p := range s.Pauses {
		f.add("queues %s and %s until %s", p.A, p.B, p.Until.UTC().Format(time.RFC3339))
	}
}

func eachQueue(q *scheduler.QueueView, turn *cpushare.Turn, do func(*scheduler.QueueView)) {
	turn.Yield()
	do(q)
	for child := range q.Children.All() {
		eachQueue(child, turn, do)
	}
}
