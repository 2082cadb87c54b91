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
	warningOnly       bool // what it finds is no fault of the scheduler
	run               func(*partitionHealth, *findings)
}

var checks = []check{
	{"Partitions answer", "Check that every partition answers in time", false, func(x *partitionHealth, f *findings) {
		if x.answerErr != nil {
			f.add("it does not answer: %v", x.answerErr)
		}
	}},
	{"Accounting audit", "Recompute the accounting of every partition from the list of its allocations", false, func(x *partitionHealth, f *findings) {
		if x.health.Audit.Err != nil {
			f.add("%v", x.health.Audit.Err)
		}
	}},
	{"Negative resources", "Check for negative resources in the partitions", false, withSnapshot(negativeInQueues)},
	{"Negative resources", "Check for negative resources in the nodes", false, withSnapshot(negativeOnNodes)},
	{"Consistency of data", "Check that a partition has what its nodes have together", false, withSnapshot(capacityMismatch)},
	{"Consistency of data", "Check that what a node has is allocated, occupied or available", false, withSnapshot(nodeMismatches)},
	{"Orphan allocation on node check", "Check that every allocation on a node is known to its application", false, orphansOnNodes},
	{"Orphan allocation on app check", "Check that every allocation of an application is known to its node", false, orphansOfApplications},
	{"Preemption cool-downs", "Name leaf queues that may not preempt each other because of a preemption cycle; a warning", true, withSnapshot(pausedQueues)},
	{"Overdue victims", "Name victims whose termination is not confirmed within the nomination timeout; a warning", true, overdueVictims},
}

func withSnapshot(inspect func(*scheduler.Snapshot, *findings)) func(*partitionHealth, *findings) {
	return func(x *partitionHealth, f *findings) {
		if x.snap != nil {
			inspect(x.snap, f)
		}
	}
}

// maxFindings is how many things a check names.
const maxFindings = 10

// findings are what a check has found, in words.
type findings struct {
	partition string         // that is looked at
	slot      *cpushare.Slot // of looking
	messages  []string
	count     int
}

func (f *findings) add(format string, about ...any) {
	if f.count++; f.count <= maxFindings {
		f.messages = append(f.messages, "partition "+f.partition+": "+fmt.Sprintf(format, about...))
	}
}

func (f *findings) String() string {
	text := strings.Join(f.messages, "; ")
	if more := f.count - len(f.messages); more > 0 {
		text += fmt.Sprintf("; and %d more", more)
	}
	return text
}

func negativeInQueues(s *scheduler.Snapshot, f *findings) {
	reportNegative(f, "%s%s %v", "", "capacity", s.Capacity)
	eachQueue(s.Root, f.slot, func(q *scheduler.QueueView) {
		reportNegative(f, "queue %s has %s %v", string(q.Path), "allocated", q.Allocated)
		reportNegative(f, "queue %s has %s %v", string(q.Path), "pending", q.Pending)
	})
}

// negativeOnNodes does not mind what is available: a node that shrank may have less than its
// work holds.
func negativeOnNodes(s *scheduler.Snapshot, f *findings) {
	for n := range s.Nodes.All() {
		f.slot.Yield()
		reportNegative(f, "node %s has%s %v", string(n.ID), "", n.Total)
		reportNegative(f, "node %s has %s %v", string(n.ID), "allocated", n.Allocated)
		reportNegative(f, "node %s has %s %v", string(n.ID), "occupied", n.Occupied)
	}
}

// reportNegative reports amounts of something by a format, which is filled in only then.
func reportNegative(f *findings, format, of, what string, a resources.Amounts) {
	if a.HasNegative() {
		f.add(format, of, what, a)
	}
}

func capacityMismatch(s *scheduler.Snapshot, f *findings) {
	var sum resources.Amounts
	for n := range s.Nodes.All() {
		f.slot.Yield()
		sum = sum.Add(n.Total)
	}
	if !sum.Equal(s.Capacity) {
		f.add("it has %v, its nodes have %v", s.Capacity, sum)
	}
}

func nodeMismatches(s *scheduler.Snapshot, f *findings) {
	for n := range s.Nodes.All() {
		f.slot.Yield()
		if left := n.Total.Sub(n.Allocated).Sub(n.Occupied); !left.Equal(n.Available) {
			f.add("node %s has %v available, and should have %v", n.ID, n.Available, left)
		}
	}
}

func pausedQueues(s *scheduler.Snapshot, f *findings) {
	for _, p := range s.CoolDowns {
		f.add("queues %s and %s until %s", p.A, p.B, p.Until.UTC().Format(time.RFC3339))
	}
}

func eachQueue(q *scheduler.QueueView, slot *cpushare.Slot, do func(*scheduler.QueueView)) {
	slot.Yield()
	do(q)
	for child := range q.Children.All() {
		eachQueue(child, slot, do)
	}
}
