package webservice

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/canopy-scheduler/canopy/internal/server/cpushare"
	"github.com/canopy-scheduler/canopy/pkg/scheduler"
)

// The checks of the health of a scheduler (OBS-51). They look at the state and keep none: a state that
// is right again is healthy again. The audit recounts what YuniKorn checks one by one: negative resources, capacities
// that do not add up, allocations that only a node or only an application knows. YuniKorn also checks counters of
// scheduling errors and failed nodes, which never decrease, so one bad request makes it unhealthy until the restart
// (OBS-53).

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

func queuesInCoolDown(s *scheduler.Snapshot, f *findings) {
	for _, p := range s.CoolDowns {
		f.add("queues %s and %s until %s", p.A, p.B, p.Until.UTC().Format(time.RFC3339))
	}
}

func overdueVictims(snap *scheduler.Snapshot, f *findings) {
	eachQueue(snap.Root, f.slot, func(q *scheduler.QueueView) {
		for a := range q.Applications.All() {
			f.slot.Yield()
			for w := range a.Allocations.All() {
				if w.Overdue {
					f.add("allocation %s of application %s was preempted at %s and is still on node %s", w.Ask.Key, a.ID,
						w.PreemptedAt.UTC().Format(time.RFC3339), w.Node)
				}
			}
		}
	})
}

func eachQueue(q *scheduler.QueueView, slot *cpushare.Slot, do func(*scheduler.QueueView)) {
	slot.Yield()
	do(q)
	for child := range q.Children.All() {
		eachQueue(child, slot, do)
	}
}
