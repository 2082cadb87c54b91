package webservice

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/canopy-scheduler/canopy/internal/server/cpushare"
	"github.com/canopy-scheduler/canopy/pkg/resources"
	"github.com/canopy-scheduler/canopy/pkg/scheduler"
)

// The checks of the health of a scheduler (OBS-51). They look at the state and keep none: a state that
// is right again is healthy again. YuniKorn also checks counters of scheduling errors and failed nodes,
// which never decrease, so one bad request makes it unhealthy until the restart (OBS-53). Canopy has no
// reservations to check.

// check is a check of one partition.
type check struct {
	name, description string
	warningOnly       bool // findings are not faults of the scheduler
	run               func(*partitionHealth, *findings)
}

var checks = []check{
	{"Partitions answer", "Check that every partition answers in time", false, func(x *partitionHealth, f *findings) {
		if x.answerErr != nil {
			f.add("it does not answer: %v", x.answerErr)
		}
	}},
	{"Accounting audit", "Recompute the accounting of every partition from the list of its allocations", false,
		func(x *partitionHealth, f *findings) {
			if x.health.Audit.Err != nil {
				f.add("%v", x.health.Audit.Err)
			}
		}},
	{"Negative resources", "Check for negative resources in the partitions", false, withSnapshot(negativeInQueues)},
	{"Negative resources", "Check for negative resources in the nodes", false, withSnapshot(negativeOnNodes)},
	{"Consistency of data", "Check that the capacity of a partition is the sum of its nodes", false,
		withSnapshot(capacityMismatch)},
	{"Consistency of data", "Check that the capacity of a node is allocated, occupied or available", false,
		withSnapshot(nodeMismatches)},
	{"Orphan allocation on node check", "Check that every allocation on a node is known to its application", false,
		orphansOnNodes},
	{"Orphan allocation on app check", "Check that every allocation of an application is known to its node", false,
		orphansOfApplications},
	{"Preemption cool-downs", "Name leaf queues that may not preempt each other because of a preemption cycle; a warning",
		true, withSnapshot(queuesInCoolDown)},
	{"Overdue victims", "Name victims whose termination is not confirmed within the nomination timeout; a warning", true,
		withSnapshot(overdueVictims)},
}

// recordingCheck is there if partitions are recorded (REC-6).
var recordingCheck = check{"Recording", "Say why a partition is not recorded any more; a warning", true,
	func(x *partitionHealth, f *findings) {
		if x.recordingErr != nil {
			f.add("%v", x.recordingErr)
		}
	}}

func (s *service) checks() []check {
	if s.opt.Recording == nil {
		return checks
	}
	return append(slices.Clip(checks), recordingCheck)
}

func withSnapshot(inspect func(*scheduler.Snapshot, *findings)) func(*partitionHealth, *findings) {
	return func(x *partitionHealth, f *findings) {
		if x.snap != nil {
			inspect(x.snap, f)
		}
	}
}

// maxFindings bounds the findings that a check names; it counts the others.
const maxFindings = 10

// findings are the findings of a check, as texts.
type findings struct {
	partition string         // that is checked
	slot      *cpushare.Slot // for readers
	messages  []string
	count     int
}

func (f *findings) add(format string, about ...any) {
	f.count++
	if f.count <= maxFindings {
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

// negativeOnNodes leaves out available resources: a node that shrank below its allocations has
// negative ones, which is no fault.
func negativeOnNodes(s *scheduler.Snapshot, f *findings) {
	for n := range s.Nodes.All() {
		f.slot.Yield()
		reportNegative(f, "node %s has%s %v", string(n.ID), "", n.Total)
		reportNegative(f, "node %s has %s %v", string(n.ID), "allocated", n.Allocated)
		reportNegative(f, "node %s has %s %v", string(n.ID), "occupied", n.Occupied)
	}
}

// reportNegative reports amounts that have a negative one. Only then is the format filled in.
func reportNegative(f *findings, format, of, what string, a resources.Amounts) {
	if a.HasNegative() {
		f.add(format, of, what, a)
	}
}

func capacityMismatch(s *scheduler.Snapshot, f *findings) {
	var sum resources.Total
	for n := range s.Nodes.All() {
		f.slot.Yield()
		sum.Add(n.Total)
	}
	if !sum.Equal(s.Capacity) {
		f.add("its capacity is %v, but its nodes have %v", s.Capacity, sum.Amounts())
	}
}

func nodeMismatches(s *scheduler.Snapshot, f *findings) {
	var left resources.Total
	for n := range s.Nodes.All() {
		f.slot.Yield()
		left.Reset()
		left.Add(n.Total)
		left.Sub(n.Allocated)
		left.Sub(n.Occupied)
		if !left.Equal(n.Available) {
			f.add("node %s has %v available, but should have %v", n.ID, n.Available, left.Amounts())
		}
	}
}

func queuesInCoolDown(s *scheduler.Snapshot, f *findings) {
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
