package effectlog

import (
	"maps"
	"slices"
	"testing"

	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
	"go.uber.org/zap/zaptest/observer"
	"gotest.tools/v3/assert"

	"github.com/canopy-scheduler/canopy/pkg/scheduler"
)

// Each line is of the logger of what it is about, for which an operator can set a level.
func TestLog_LinesHaveTheLoggerOfTheirSubject(t *testing.T) {
	core, lines := observer.New(zapcore.DebugLevel)
	l := New(zap.New(core))
	for _, c := range deliveries() {
		l.OnEffects("p", c.effects)
	}
	for _, action := range []scheduler.OperatorActed{
		{Action: scheduler.HoldApplication, App: "a"}, {Action: scheduler.StopQueue, Queue: "root.q"},
		{Action: scheduler.DrainNode, Node: "n"},
	} {
		l.OnEffects("p", []scheduler.Effect{action})
	}
	for _, kind := range []scheduler.EventKind{scheduler.EventReserved, scheduler.EventReservationEnded,
		scheduler.EventReservationsMoved} {
		l.OnEffects("p", []scheduler.Effect{scheduler.Event{Kind: kind}})
	}
	l.OnEffects("p", []scheduler.Effect{scheduler.AskRejected{Key: "k", App: "a"}})
	l.OnAudit("p", 1, 0, nil)
	l.Close()
	got := map[string]string{}
	for _, e := range lines.All() {
		if before, ok := got[e.Message]; ok {
			assert.Equal(t, e.LoggerName, before, e.Message)
		}
		got[e.Message] = e.LoggerName
	}
	for message, logger := range map[string]string{
		"ask placed": "allocation", "allocation released": "allocation", "ask cancelled": "allocation",
		"asks rejected":        "allocation",
		"application accepted": "application", "application failed": "application",
		"node added": "node", "node refused": "node", "node removed": "node",
		"node overcommitted: its allocations exceed its capacity": "node",
		"queue removed": "queue", "dynamic queue changed": "queue",
		"operator acted": "partition",
		"partition emptied: a resource manager registered": "partition", "audit passed": "partition",
		"preemption for an ask": "preemption", "preemption for a queue above its max": "preemption",
		"nominated ask placed": "preemption",
		"preemption cycle":     "preemption", "node reserved for an ask": "reservation", "reservation ended": "reservation",
		"reservations of a gang moved to better nodes": "reservation",
	} {
		assert.Equal(t, got[message], "scheduler."+logger, "%s, of %v", message, slices.Sorted(maps.Keys(got)))
	}
}
