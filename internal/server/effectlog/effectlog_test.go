package effectlog

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"
	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
	"gotest.tools/v3/assert"

	"github.com/canopy-scheduler/canopy/internal/server/logging"
	"github.com/canopy-scheduler/canopy/pkg/lifecycle"
	"github.com/canopy-scheduler/canopy/pkg/objects"
	"github.com/canopy-scheduler/canopy/pkg/preemption"
	"github.com/canopy-scheduler/canopy/pkg/preemption/victim"
	"github.com/canopy-scheduler/canopy/pkg/resources"
	"github.com/canopy-scheduler/canopy/pkg/scheduler"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// encoder writes lines as serve does, without their time.
func encoder() zapcore.Encoder {
	c := zap.NewProductionEncoderConfig()
	c.NameKey = zapcore.OmitKey // TestLog_LinesHaveTheLoggerOfTheirSubject
	c.TimeKey, c.EncodeTime = "", zapcore.RFC3339TimeEncoder
	c.EncodeDuration = zapcore.StringDurationEncoder
	return zapcore.NewJSONEncoder(c)
}

// syncBuffer is a buffer that is safe for concurrent use.
type syncBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (o *syncBuffer) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.b.Write(p)
}

func (o *syncBuffer) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.b.String()
}

func (o *syncBuffer) Len() int { return len(o.String()) }

func (o *syncBuffer) Reset() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.b.Reset()
}

// newRecordedLog returns a Log at a level, and its output.
func newRecordedLog(level zapcore.Level) (*Log, *syncBuffer) {
	out := new(syncBuffer)
	return New(zap.New(zapcore.NewCore(encoder(), zapcore.AddSync(out), level))), out
}

func outputLines(out *syncBuffer) []string {
	text := strings.TrimSuffix(out.String(), "\n")
	if text == "" {
		return nil
	}
	return strings.Split(text, "\n")
}

var (
	noon = time.Date(2026, 1, 2, 12, 0, 0, 0, time.UTC)
	two  = resources.FromMap(map[string]resources.Quantity{"vcore": 2000, "memory": 1 << 30})
	low  = scheduler.AllocationRef{Key: "low", App: "a", Queue: "root.a"}
	low2 = scheduler.AllocationRef{Key: "low2", App: "a", Queue: "root.a"}
	high = scheduler.AllocationRef{Key: "high", App: "b", Queue: "root.b"}
)

// delivery is a delivery of effects, and the lines that it writes.
type delivery struct {
	effects []scheduler.Effect
	want    []string
}

func deliveries() []delivery {
	preempted := func(subject scheduler.AllocationRef, by scheduler.AllocationRef, reason victim.Reason,
		text string) scheduler.Effect {
		return scheduler.Event{Kind: scheduler.EventPreempted, Subject: subject, Preemptor: by, Reason: reason, Message: text,
			Node: "n1", Amounts: two}
	}
	ended := func(n scheduler.Event) scheduler.Effect {
		n.Kind, n.Subject, n.Priority, n.Node, n.Since = scheduler.EventNominationEnded, high, 7, "n1", noon
		return n
	}
	const preemptor = `"partition":"p","key":"high","application":"b","queue":"root.b","priority":7,"node":"n1"`
	nominated := scheduler.Event{Kind: scheduler.EventNominated, Subject: high, Priority: 7, Node: "n1", Amounts: two,
		Reason: victim.ReasonPriority}
	return []delivery{
		{[]scheduler.Effect{scheduler.NodeAccepted{Node: "n1", Total: two, Schedulable: true}},
			[]string{`{"level":"info","msg":"node added","partition":"p","node":"n1","capacity":"memory=1Gi ` +
				`vcore=2","schedulable":true}`}},
		{[]scheduler.Effect{scheduler.NodeRejected{Node: "n1", Reason: "it exists"}},
			[]string{`{"level":"warn","msg":"node refused","partition":"p","node":"n1","reason":"it exists"}`}},
		{[]scheduler.Effect{scheduler.NodeChanged{Node: "n1", Change: scheduler.NodeResized, After: two}},
			[]string{`{"level":"info","msg":"node resized","partition":"p","node":"n1","before":"","capacity":"memory=1Gi ` +
				`vcore=2"}`}},
		{[]scheduler.Effect{scheduler.NodeChanged{Node: "n1", Change: scheduler.NodeOvercommitted,
			After: resources.FromMap(map[string]resources.Quantity{"vcore": 2000}), Excess: two, Allocations: 1}},
			[]string{`{"level":"warn","msg":"node overcommitted: its allocations exceed its ` +
				`capacity","partition":"p","node":"n1","capacity":"vcore=2","excess":"memory=1Gi vcore=2","allocations":1}`}},
		{[]scheduler.Effect{scheduler.NodeChanged{Node: "n1", Change: scheduler.NodeNotOvercommitted, After: two}},
			[]string{`{"level":"info","msg":"node no longer overcommitted","partition":"p","node":"n1","capacity":"memory=1Gi ` +
				`vcore=2","allocations":0}`}},
		{[]scheduler.Effect{scheduler.NodeChanged{Node: "n1", Change: scheduler.NodeMadeUnschedulable, Allocations: 3}},
			[]string{`{"level":"info","msg":"node made unschedulable","partition":"p","node":"n1","allocations":3}`}},
		{[]scheduler.Effect{scheduler.NodeChanged{Node: "n1", Change: scheduler.NodeMadeSchedulable}},
			[]string{`{"level":"info","msg":"node made schedulable","partition":"p","node":"n1","allocations":0}`}},
		{[]scheduler.Effect{scheduler.NodeChanged{Node: "n1", Change: scheduler.NodeRemoved, Before: two, Allocations: 1}},
			[]string{`{"level":"info","msg":"node removed","partition":"p","node":"n1","capacity":"memory=1Gi ` +
				`vcore=2","allocations":1}`}},
		{[]scheduler.Effect{scheduler.OperatorActed{Action: scheduler.HoldApplication, App: "a", By: "ann"}},
			[]string{`{"level":"info","msg":"operator acted","partition":"p","action":"hold","application":"a","by":"ann"}`}},
		{[]scheduler.Effect{scheduler.OperatorActed{Action: scheduler.MoveApplication, App: "a", Queue: "root.b",
			From: "root.a", By: "ann"}},
			[]string{`{"level":"info","msg":"operator acted","partition":"p","action":"move","application":"a",` +
				`"queue":"root.b","from":"root.a","by":"ann"}`}},
		{[]scheduler.Effect{scheduler.OperatorActed{Action: scheduler.DrainQueue, Queue: "root.a", By: "ann"}},
			[]string{`{"level":"info","msg":"operator acted","partition":"p","action":"drain","queue":"root.a","by":"ann"}`}},
		{[]scheduler.Effect{scheduler.OperatorActed{Action: scheduler.UncordonNode, Node: "n1", By: "ann"}},
			[]string{`{"level":"info","msg":"operator acted","partition":"p","action":"uncordon","node":"n1","by":"ann"}`}},
		{[]scheduler.Effect{scheduler.ApplicationAccepted{App: "a"}},
			[]string{`{"level":"debug","msg":"application accepted","partition":"p","application":"a"}`}},
		{[]scheduler.Effect{scheduler.ApplicationRejected{App: "a", Queue: "root.x", User: "ann", Reason: "no"}},
			[]string{`{"level":"info","msg":"application ` +
				`rejected","partition":"p","application":"a","queue":"root.x","user":"ann","reason":"no"}`}},
		{[]scheduler.Effect{scheduler.ApplicationUpdated{App: "a", Queue: "root.a", State: lifecycle.Failed,
			Reason: lifecycle.ReasonRemoved}},
			[]string{`{"level":"warn","msg":"application ` +
				`failed","partition":"p","application":"a","queue":"root.a","reason":"the resource manager removed it"}`}},
		{[]scheduler.Effect{scheduler.ApplicationUpdated{App: "a", Queue: "root.a", State: lifecycle.Running,
			Reason: lifecycle.ReasonAllocated}},
			[]string{`{"level":"debug","msg":"application entered a state",` +
				`"partition":"p","application":"a","queue":"root.a","state":"Running","reason":"the first ask was placed"}`}},
		{[]scheduler.Effect{scheduler.QueueChanged{Queue: "root.a", Change: objects.QueueDraining}},
			[]string{`{"level":"info","msg":"queue draining: the configuration does not have it any ` +
				`more","partition":"p","queue":"root.a"}`}},
		{[]scheduler.Effect{scheduler.QueueChanged{Queue: "root.a", Change: objects.QueueRestored}},
			[]string{`{"level":"info","msg":"queue restored: the configuration has it again",` +
				`"partition":"p","queue":"root.a"}`}},
		{[]scheduler.Effect{scheduler.QueueChanged{Queue: "root.a", Change: objects.QueueRemoved}},
			[]string{`{"level":"info","msg":"queue removed","partition":"p","queue":"root.a"}`}},
		{[]scheduler.Effect{scheduler.QueueChanged{Queue: "root.d", Change: objects.QueueCreated, Dynamic: true}},
			[]string{`{"level":"debug","msg":"dynamic queue changed","partition":"p","queue":"root.d","change":"created"}`}},
		{[]scheduler.Effect{scheduler.Allocated{Binding: &scheduler.Binding{Ask: &objects.Ask{Key: "low", App: "a",
			Amounts: two, Priority: 3}, Node: "n1"}}},
			[]string{`{"level":"debug","msg":"ask ` +
				`placed","partition":"p","application":"a","key":"low","node":"n1","priority":3,"amounts":"memory=1Gi vcore=2"}`}},
		{[]scheduler.Effect{scheduler.Released{Key: "low", App: "a", Type: scheduler.StoppedByRM, Message: "gone"}},
			[]string{`{"level":"debug","msg":"allocation ` +
				`released","partition":"p","application":"a","key":"low","type":"stopped by rm","reason":"gone"}`}},
		{[]scheduler.Effect{scheduler.AskTimedOut{Key: "low", App: "a", Message: "gone"}},
			[]string{`{"level":"debug","msg":"ask cancelled","partition":"p","application":"a","key":"low","reason":"gone"}`}},
		{[]scheduler.Effect{scheduler.AskCancelled{Key: "low", App: "a", Reason: "gone"}},
			[]string{`{"level":"debug","msg":"ask cancelled","partition":"p","application":"a","key":"low","reason":"gone"}`}},
		{[]scheduler.Effect{scheduler.PartitionReset{}},
			[]string{`{"level":"info","msg":"partition emptied: a resource manager registered","partition":"p"}`}},
		{[]scheduler.Effect{scheduler.PartitionReset{Reason: "b replaced a"}},
			[]string{`{"level":"info","msg":"partition emptied: a resource manager registered","partition":"p","reason":"b ` +
				`replaced a"}`}},
		{[]scheduler.Effect{scheduler.Refused{Subject: "x"}}, nil}, // the API has a line for it

		// Victims and preemptor are one line, and so are the victims of one max.
		{[]scheduler.Effect{preempted(low, high, victim.ReasonPriority, ""), preempted(low2, high, victim.ReasonPriority, ""),
			nominated},
			[]string{`{"level":"info","msg":"preemption for an ask",` + preemptor +
				`,"amounts":"memory=1Gi vcore=2","preemptionReason":"priority","victims":2,"victimKeys":["low in root.a","low2 ` +
				`in root.a"]}`}},
		{[]scheduler.Effect{nominated},
			[]string{`{"level":"info","msg":"ask nominated: it waits for a node without victims of its own",` + preemptor +
				`,"amounts":"memory=1Gi vcore=2","preemptionReason":"priority"}`}},
		{[]scheduler.Effect{
			preempted(low, scheduler.AllocationRef{}, victim.ReasonQuota, "queue root.a is above its max"),
			preempted(low2, scheduler.AllocationRef{}, victim.ReasonNodePressure, "node n1 has less"),
			preempted(low, high, victim.ReasonPriority, ""), nominated,
		}, []string{
			`{"level":"info","msg":"preemption for a queue above its ` +
				`max","partition":"p","preemptionReason":"quota","nodes":["n1"],"reason":"queue root.a is above its ` +
				`max","victims":1,"victimKeys":["low in root.a"]}`,
			`{"level":"info","msg":"preemption for a node that has less than its allocations ` +
				`hold","partition":"p","preemptionReason":"pressure","nodes":["n1"],"reason":"node n1 has ` +
				`less","victims":1,"victimKeys":["low2 in root.a"]}`,
			`{"level":"info","msg":"preemption for an ask",` + preemptor +
				`,"amounts":"memory=1Gi vcore=2","preemptionReason":"priority","victims":1,"victimKeys":["low in root.a"]}`,
		}},
		{[]scheduler.Effect{preempted(low, scheduler.AllocationRef{}, victim.ReasonQuota, "above"), nominated}, []string{
			`{"level":"info","msg":"preemption for a queue above its ` +
				`max","partition":"p","preemptionReason":"quota","nodes":["n1"],"reason":"above","victims":1,"victimKeys":["low ` +
				`in root.a"]}`,
			`{"level":"info","msg":"ask nominated: it waits for a node without victims of its own",` + preemptor +
				`,"amounts":"memory=1Gi vcore=2","preemptionReason":"priority"}`,
		}},
		{[]scheduler.Effect{preempted(low, scheduler.AllocationRef{}, victim.ReasonOperator, "cancelled")}, []string{
			`{"level":"info","msg":"preemption as an operator ` +
				`ordered","partition":"p","preemptionReason":"operator","nodes":["n1"],"reason":"cancelled","victims":1,` +
				`"victimKeys":["low in root.a"]}`,
		}},
		{[]scheduler.Effect{ended(scheduler.Event{NominationEnd: preemption.NominationPlaced, Message: "placed on node n2"})},
			[]string{`{"level":"info","msg":"nominated ask placed",` + preemptor +
				`,"since":"2026-01-02T12:00:00Z","reason":"placed on node n2"}`}},
		{[]scheduler.Effect{ended(scheduler.Event{NominationEnd: preemption.NominationTimedOut})},
			[]string{`{"level":"warn","msg":"nomination timed out: the victims have not ended",` + preemptor +
				`,"since":"2026-01-02T12:00:00Z"}`}},
		{[]scheduler.Effect{ended(scheduler.Event{NominationEnd: preemption.NominationLost, Preemptor: low})},
			[]string{`{"level":"info","msg":"nomination ended without placement",` + preemptor +
				`,"since":"2026-01-02T12:00:00Z","end":"lost to another ask","by":"low","byQueue":"root.a"}`}},
		{[]scheduler.Effect{ended(scheduler.Event{NominationEnd: preemption.NominationGivenUp, Message: "no room"})},
			[]string{`{"level":"info","msg":"nomination ended without placement",` + preemptor +
				`,"since":"2026-01-02T12:00:00Z","reason":"no room","end":"given up"}`}},
		{[]scheduler.Effect{scheduler.Event{Kind: scheduler.EventOverdue, Subject: low, Priority: 1, Node: "n1", Amounts: two,
			Since: noon}},
			[]string{`{"level":"warn","msg":"victim overdue: it was preempted long ago, and still ` +
				`runs","partition":"p","key":"low","application":"a","queue":"root.a","priority":1,"node":"n1",` +
				`"amounts":"memory=1Gi vcore=2","since":"2026-01-02T12:00:00Z"}`}},
		{[]scheduler.Effect{scheduler.Event{Kind: scheduler.EventPreemptionCycle,
			Cycle: preemption.Cycle{"root.a", "root.b"}}},
			[]string{`{"level":"warn","msg":"preemption cycle","partition":"p","queues":"root.a -> root.b -> root.a"}`}},
		{[]scheduler.Effect{scheduler.Event{Kind: scheduler.EventPreemptionCycle, Cycle: preemption.Cycle{"root.a", "root.b"},
			Until: noon}},
			[]string{`{"level":"warn","msg":"preemption cycle: its queues are in cool-down","partition":"p","queues":"root.a ` +
				`-> root.b -> root.a","coolDownUntil":"2026-01-02T12:00:00Z"}`}},
		{[]scheduler.Effect{scheduler.Event{Kind: scheduler.EventCoolDownEnded, Cycle: preemption.Cycle{"root.a", "root.b"},
			Since: noon}},
			[]string{`{"level":"info","msg":"preemption cycle: the cool-down has ended","partition":"p","queues":"root.a -> ` +
				`root.b -> root.a","since":"2026-01-02T12:00:00Z"}`}},
		{[]scheduler.Effect{scheduler.Event{Kind: scheduler.EventIgnored, Subject: low}}, nil}, // the API has a line for it
	}
}

func TestLog_EachEffectHasALine(t *testing.T) {
	for _, c := range deliveries() {
		l, out := newRecordedLog(zapcore.DebugLevel)
		l.OnEffects("p", c.effects)
		l.Close()
		assert.DeepEqual(t, outputLines(out), c.want)

		// Lines of level debug are written at no other level.
		l, out = newRecordedLog(zapcore.InfoLevel)
		l.OnEffects("p", c.effects)
		l.Close()
		want := slices.DeleteFunc(slices.Clone(c.want),
			func(line string) bool { return strings.Contains(line, `"level":"debug"`) })
		assert.DeepEqual(t, outputLines(out), slices.Clip(append([]string(nil), want...)))
	}
}

func TestLog_NamesTheFirstVictimsAndCountsAll(t *testing.T) {
	l, out := newRecordedLog(zapcore.InfoLevel)
	var effects []scheduler.Effect
	for i := range 1000 {
		subject := scheduler.AllocationRef{Key: objects.AllocationKey(fmt.Sprint("v", i)), App: "a", Queue: "root.a"}
		effects = append(effects,
			scheduler.Event{Kind: scheduler.EventPreempted, Subject: subject, Reason: victim.ReasonQuota,
				Node: objects.NodeID(fmt.Sprint("n", i))})
	}
	l.OnEffects("p", effects)
	assert.Equal(t, len(outputLines(out)), 1)
	assert.Assert(t, strings.Contains(out.String(), `"victims":1000,"victimKeys":["v0 in root.a",`), out)
	assert.Assert(t, strings.Contains(out.String(), `"v19 in root.a"]`) && !strings.Contains(out.String(), `"v20 in`), out)
	assert.Assert(t, strings.Contains(out.String(), `"n19"]`), out)
}

func TestOnAPIRejected_LinesHaveNoPartition(t *testing.T) {
	l, out := newRecordedLog(zapcore.InfoLevel)
	l.OnAPIRejected(scheduler.NodeRejected{Node: "n1", Reason: "unknown partition"})
	l.OnAPIRejected(scheduler.AskRejected{Key: "k", App: "a", Kind: scheduler.RejectedMalformed, Reason: "no key"})
	l.Close()
	assert.DeepEqual(t, outputLines(out), []string{
		`{"level":"warn","msg":"node refused","node":"n1","reason":"unknown partition"}`,
		`{"level":"info","msg":"asks ` +
			`rejected","kind":"malformed","application":"a","count":1,"exampleKey":"k","reason":"no key"}`,
	})
}

// Placements are frequent: at level info they cost no allocation.
func TestLog_DebugLinesAreOnlyBuiltWhenTheyAreWritten(t *testing.T) {
	l, out := newRecordedLog(zapcore.InfoLevel)
	effects := []scheduler.Effect{
		scheduler.Allocated{Binding: &scheduler.Binding{Ask: &objects.Ask{Key: "low", App: "a", Amounts: two}, Node: "n1"}},
		scheduler.Released{Key: "low", App: "a"}, scheduler.AskCancelled{Key: "k", App: "a"},
		scheduler.ApplicationUpdated{App: "a", State: lifecycle.Running},
		scheduler.QueueChanged{Queue: "root.d", Dynamic: true},
	}
	assert.Equal(t, testing.AllocsPerRun(100, func() { l.OnEffects("p", effects) }), 0.0)
	assert.Equal(t, out.Len(), 0)
}

// A log that is not read blocks no caller: the writer of package logging drops lines and counts
// them.
func TestLog_NeverBlocksAndLosesNoCount(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		in, pipe := io.Pipe() // the reader does not read yet
		log := logging.New(pipe, logging.Options{Encoder: encoder(), Level: zapcore.InfoLevel, Buffer: 64 << 10})
		l := New(log.Logger)
		for i := range 10_000 {
			l.OnEffects("p", []scheduler.Effect{
				scheduler.NodeAccepted{Node: objects.NodeID(fmt.Sprint("n", i))}, scheduler.AskRejected{Key: "k", App: "a"},
			})
		}
		l.Close()
		assert.Assert(t, log.Dropped() > 1000, log.Dropped())
		read := make(chan []byte)
		go func() {
			text, _ := io.ReadAll(in)
			read <- text
		}()
		assert.NilError(t, log.Close())
		assert.NilError(t, pipe.Close())
		text := <-read
		n := bytes.Count(text, []byte("\n")) - bytes.Count(text, []byte("log lines dropped"))
		assert.Equal(t, int64(n)+log.Dropped(), int64(10_001), "nodes, and one line about the rejections")
	})
}

func TestOnAudit_LogsFailureAndRecovery(t *testing.T) {
	l, out := newRecordedLog(zapcore.InfoLevel)
	l.OnAudit("p", 9, time.Second, nil)
	assert.Equal(t, out.Len(), 0)
	var all []error
	for i := range 7 {
		all = append(all, fmt.Errorf("fault %d", i))
	}
	l.OnAudit("p", 9, time.Second, errors.Join(errors.Join(all[:3]...), errors.Join(all[3:]...)))
	l.OnAudit("q", 9, time.Second, nil)
	l.OnAudit("p", 9, time.Second, errors.New("fault"))
	l.OnAudit("p", 9, time.Second, nil)
	l.OnAudit("p", 9, time.Second, nil)
	const size = `"partition":"p","checked":9,"took":"1s"`
	assert.DeepEqual(t, outputLines(out), []string{
		`{"level":"error","msg":"audit failed: the accounting of the partition is wrong",` + size +
			`,"violations":7,"first":["fault 0","fault 1","fault 2","fault 3","fault 4"]}`,
		`{"level":"error","msg":"audit failed: the accounting of the partition is wrong",` + size +
			`,"violations":1,"first":["fault"]}`,
		`{"level":"info","msg":"audit passed again",` + size + `}`,
	})
}

// The items of docs/LOGGING.md have all fields of the lines, but for the names of what they are about, and no others.
func TestLoggingDoc_HasTheFieldsOfEachLine(t *testing.T) {
	text, err := os.ReadFile("../../../docs/LOGGING.md")
	assert.NilError(t, err)
	text = bytes.ReplaceAll(text, []byte("\n  "), []byte(" "))
	unlisted := strings.Fields("level msg partition rm node application queue key priority")
	fields := map[string]map[string]bool{} // by message
	l, out := newRecordedLog(zapcore.DebugLevel)
	for _, c := range deliveries() {
		l.OnEffects("p", c.effects)
	}
	for i := range maxRejectionLines + 1 {
		l.OnEffects("p", []scheduler.Effect{scheduler.AskRejected{Key: "k", App: objects.AppID(fmt.Sprint(i)), Reason: "no"}})
	}
	l.OnEffects("p",
		[]scheduler.Effect{scheduler.Event{Kind: scheduler.EventNominationEnded, NominationEnd: preemption.NominationTimedOut,
			Message: "no"}})
	l.Close()
	for _, err := range []error{nil, errors.New("fault"), nil} {
		l.OnAudit("p", 9, time.Second, err)
	}
	for _, line := range outputLines(out) {
		var entry map[string]any
		assert.NilError(t, json.Unmarshal([]byte(line), &entry))
		message := entry["msg"].(string)
		if fields[message] == nil {
			fields[message] = map[string]bool{}
		}
		for name := range entry {
			fields[message][name] = name != "level" && name != "msg"
		}
	}
	assert.Assert(t, len(fields) >= 30, "%d", len(fields))
	for message, names := range fields {
		item := regexp.MustCompile("(?m)^- `" + regexp.QuoteMeta(message) + "`(?: \\(([^)]*)\\))?").FindSubmatch(text)
		assert.Assert(t, item != nil, message)
		for _, f := range regexp.MustCompile("`([^`]+)`").FindAllSubmatch(item[1], -1) {
			assert.Check(t, names[string(f[1])], "%s: no line has the field %s", message, f[1])
			delete(names, string(f[1]))
		}
		maps.DeleteFunc(names, func(name string, _ bool) bool { return slices.Contains(unlisted, name) })
		assert.Check(t, len(names) == 0, "%s: the item does not have the fields %v", message, names)
	}
}
