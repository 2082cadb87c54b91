package effectlog

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
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

	"github.com/canopy-scheduler/canopy/internal/logging"
	"github.com/canopy-scheduler/canopy/pkg/objects"
	"github.com/canopy-scheduler/canopy/pkg/preemption"
	"github.com/canopy-scheduler/canopy/pkg/resources"
	"github.com/canopy-scheduler/canopy/pkg/scheduler"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// encoder writes lines as serve does, without their time.
func encoder() zapcore.Encoder {
	c := zap.NewProductionEncoderConfig()
	c.TimeKey, c.EncodeTime = "", zapcore.RFC3339TimeEncoder
	c.EncodeDuration = zapcore.StringDurationEncoder
	return zapcore.NewJSONEncoder(c)
}

// output is a buffer that a window may write to while a test reads it.
type output struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (o *output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.b.Write(p)
}

func (o *output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.b.String()
}

func (o *output) Len() int { return len(o.String()) }

func (o *output) Reset() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.b.Reset()
}

// written is a Log from a level on, and what it has written.
func written(level zapcore.Level) (*Log, *output) {
	out := new(output)
	return New(zap.New(zapcore.NewCore(encoder(), zapcore.AddSync(out), level))), out
}

func lines(out *output) []string {
	text := strings.TrimSuffix(out.String(), "\n")
	if text == "" {
		return nil
	}
	return strings.Split(text, "\n")
}

var (
	noon = time.Date(2026, 1, 2, 12, 0, 0, 0, time.UTC)
	two  = resources.FromMap(map[string]resources.Quantity{"vcore": 2000, "memory": 1 << 30})
	low  = scheduler.Party{Key: "low", App: "a", Queue: "root.a"}
	low2 = scheduler.Party{Key: "low2", App: "a", Queue: "root.a"}
	high = scheduler.Party{Key: "high", App: "b", Queue: "root.b"}
)

// heard is a delivery, and the lines that it makes.
type heard struct {
	effects []scheduler.Effect
	want    []string
}

func deliveries() []heard {
	victim := func(who scheduler.Party, by scheduler.Party, right preemption.Right, why string) scheduler.Effect {
		return scheduler.Noted{What: scheduler.NotePreempted, Who: who, By: by, Right: right, Why: why, Node: "n1", Amounts: two}
	}
	ended := func(n scheduler.Noted) scheduler.Effect {
		n.What, n.Who, n.Priority, n.Node, n.Since = scheduler.NoteNominationEnded, high, 7, "n1", noon
		return n
	}
	const preemptor = `"partition":"p","key":"high","application":"b","queue":"root.b","priority":7,"node":"n1"`
	nominated := scheduler.Noted{What: scheduler.NoteNominated, Who: high, Priority: 7, Node: "n1", Amounts: two, Right: preemption.OfPriority}
	return []heard{
		{[]scheduler.Effect{scheduler.NodeAccepted{Node: "n1", Total: two, Schedulable: true}},
			[]string{`{"level":"info","msg":"node added","partition":"p","node":"n1","capacity":"memory=1Gi vcore=2","schedulable":true}`}},
		{[]scheduler.Effect{scheduler.NodeRejected{Node: "n1", Reason: "it exists"}},
			[]string{`{"level":"warn","msg":"node refused","partition":"p","node":"n1","reason":"it exists"}`}},
		{[]scheduler.Effect{scheduler.NodeChanged{Node: "n1", What: scheduler.NodeResized, Is: two}},
			[]string{`{"level":"info","msg":"node resized","partition":"p","node":"n1","before":"","capacity":"memory=1Gi vcore=2"}`}},
		{[]scheduler.Effect{scheduler.NodeChanged{Node: "n1", What: scheduler.NodeDrained, Allocations: 3}},
			[]string{`{"level":"info","msg":"node drained","partition":"p","node":"n1","allocations":3}`}},
		{[]scheduler.Effect{scheduler.NodeChanged{Node: "n1", What: scheduler.NodeUndrained}},
			[]string{`{"level":"info","msg":"node undrained","partition":"p","node":"n1","allocations":0}`}},
		{[]scheduler.Effect{scheduler.NodeChanged{Node: "n1", What: scheduler.NodeRemoved, Was: two, Allocations: 1}},
			[]string{`{"level":"info","msg":"node removed","partition":"p","node":"n1","capacity":"memory=1Gi vcore=2","allocations":1}`}},
		{[]scheduler.Effect{scheduler.ApplicationAccepted{App: "a"}}, []string{`{"level":"debug","msg":"application accepted","partition":"p","application":"a"}`}},
		{[]scheduler.Effect{scheduler.ApplicationRejected{App: "a", Queue: "root.x", User: "ann", Reason: "no"}},
			[]string{`{"level":"info","msg":"application rejected","partition":"p","application":"a","queue":"root.x","user":"ann","reason":"no"}`}},
		{[]scheduler.Effect{scheduler.ApplicationUpdated{App: "a", Queue: "root.a", State: objects.Failed, Why: objects.WasRemoved}},
			[]string{`{"level":"warn","msg":"application failed","partition":"p","application":"a","queue":"root.a","reason":"the resource manager removed it"}`}},
		{[]scheduler.Effect{scheduler.ApplicationUpdated{App: "a", Queue: "root.a", State: objects.Running, Why: objects.WasPlaced}},
			[]string{`{"level":"debug","msg":"application entered a state","partition":"p","application":"a","queue":"root.a","state":"Running","reason":"something was placed"}`}},
		{[]scheduler.Effect{scheduler.QueueChanged{Queue: "root.a", What: objects.QueueDraining}},
			[]string{`{"level":"info","msg":"queue draining: the configuration does not have it any more","partition":"p","queue":"root.a"}`}},
		{[]scheduler.Effect{scheduler.QueueChanged{Queue: "root.a", What: objects.QueueRestored}},
			[]string{`{"level":"info","msg":"queue restored: the configuration has it again","partition":"p","queue":"root.a"}`}},
		{[]scheduler.Effect{scheduler.QueueChanged{Queue: "root.a", What: objects.QueueRemoved}},
			[]string{`{"level":"info","msg":"queue removed","partition":"p","queue":"root.a"}`}},
		{[]scheduler.Effect{scheduler.QueueChanged{Queue: "root.d", What: objects.QueueCreated, Dynamic: true}},
			[]string{`{"level":"debug","msg":"dynamic queue changed","partition":"p","queue":"root.d","change":"created"}`}},
		{[]scheduler.Effect{scheduler.Allocated{Ask: &objects.Ask{Key: "low", App: "a", Amounts: two, Priority: 3}, Node: "n1"}},
			[]string{`{"level":"debug","msg":"ask placed","partition":"p","application":"a","key":"low","node":"n1","priority":3,"amounts":"memory=1Gi vcore=2"}`}},
		{[]scheduler.Effect{scheduler.Released{Key: "low", App: "a", Type: scheduler.StoppedByRM, Message: "gone"}},
			[]string{`{"level":"debug","msg":"allocation released","partition":"p","application":"a","key":"low","type":"stopped by rm","reason":"gone"}`}},
		{[]scheduler.Effect{scheduler.AskCancelled{Key: "low", App: "a", Why: "gone"}},
			[]string{`{"level":"debug","msg":"ask cancelled","partition":"p","application":"a","key":"low","reason":"gone"}`}},
		{[]scheduler.Effect{scheduler.Forgotten{}},
			[]string{`{"level":"info","msg":"partition emptied: the resource manager says everything again","partition":"p"}`}},
		{[]scheduler.Effect{scheduler.Refused{What: "x"}}, nil}, // the API has a line for it

		// Victims and preemptor are one line, and so are the victims of one max.
		{[]scheduler.Effect{victim(low, high, preemption.OfPriority, ""), victim(low2, high, preemption.OfPriority, ""), nominated},
			[]string{`{"level":"info","msg":"preemption for an ask",` + preemptor +
				`,"amounts":"memory=1Gi vcore=2","right":"priority","victims":2,"victimKeys":["low in root.a","low2 in root.a"]}`}},
		{[]scheduler.Effect{nominated}, []string{`{"level":"info","msg":"ask nominated: it waits for a node without victims of its own",` + preemptor +
			`,"amounts":"memory=1Gi vcore=2","right":"priority"}`}},
		{[]scheduler.Effect{
			victim(low, scheduler.Party{}, preemption.OfQuota, "queue root.a is above its max"),
			victim(low2, scheduler.Party{}, preemption.OfPressure, "node n1 has less"), victim(low, high, preemption.OfPriority, ""), nominated,
		}, []string{
			`{"level":"info","msg":"preemption for a queue above its max","partition":"p","right":"quota","nodes":["n1"],"reason":"queue root.a is above its max","victims":1,"victimKeys":["low in root.a"]}`,
			`{"level":"info","msg":"preemption for a node that has less than its allocations hold","partition":"p","right":"pressure","nodes":["n1"],"reason":"node n1 has less","victims":1,"victimKeys":["low2 in root.a"]}`,
			`{"level":"info","msg":"preemption for an ask",` + preemptor + `,"amounts":"memory=1Gi vcore=2","right":"priority","victims":1,"victimKeys":["low in root.a"]}`,
		}},
		{[]scheduler.Effect{victim(low, scheduler.Party{}, preemption.OfQuota, "above"), nominated}, []string{
			`{"level":"info","msg":"preemption for a queue above its max","partition":"p","right":"quota","nodes":["n1"],"reason":"above","victims":1,"victimKeys":["low in root.a"]}`,
			`{"level":"info","msg":"ask nominated: it waits for a node without victims of its own",` + preemptor + `,"amounts":"memory=1Gi vcore=2","right":"priority"}`,
		}},
		{[]scheduler.Effect{ended(scheduler.Noted{End: scheduler.NominationKept, Why: "placed on node n2"})},
			[]string{`{"level":"info","msg":"nominated ask placed",` + preemptor + `,"since":"2026-01-02T12:00:00Z","reason":"placed on node n2"}`}},
		{[]scheduler.Effect{ended(scheduler.Noted{End: scheduler.NominationTimedOut})},
			[]string{`{"level":"warn","msg":"nomination timed out: the victims have not made room",` + preemptor + `,"since":"2026-01-02T12:00:00Z"}`}},
		{[]scheduler.Effect{ended(scheduler.Noted{End: scheduler.NominationLost, By: low})},
			[]string{`{"level":"info","msg":"nomination ended without placement",` + preemptor +
				`,"since":"2026-01-02T12:00:00Z","end":"lost to another ask","by":"low","byQueue":"root.a"}`}},
		{[]scheduler.Effect{ended(scheduler.Noted{End: scheduler.NominationGivenUp, Why: "no room"})},
			[]string{`{"level":"info","msg":"nomination ended without placement",` + preemptor +
				`,"since":"2026-01-02T12:00:00Z","reason":"no room","end":"given up"}`}},
		{[]scheduler.Effect{scheduler.Noted{What: scheduler.NoteOverdue, Who: low, Priority: 1, Node: "n1", Amounts: two, Since: noon}},
			[]string{`{"level":"warn","msg":"victim overdue: it was preempted long ago, and still runs","partition":"p","key":"low","application":"a","queue":"root.a","priority":1,"node":"n1","amounts":"memory=1Gi vcore=2","since":"2026-01-02T12:00:00Z"}`}},
		{[]scheduler.Effect{scheduler.Noted{What: scheduler.NoteChurn, Cycle: preemption.Cycle{"root.a", "root.b"}}},
			[]string{`{"level":"warn","msg":"preemption cycle","partition":"p","queues":"root.a -> root.b -> root.a"}`}},
		{[]scheduler.Effect{scheduler.Noted{What: scheduler.NoteChurn, Cycle: preemption.Cycle{"root.a", "root.b"}, Until: noon}},
			[]string{`{"level":"warn","msg":"preemption cycle: its queues are paused","partition":"p","queues":"root.a -> root.b -> root.a","pausedUntil":"2026-01-02T12:00:00Z"}`}},
		{[]scheduler.Effect{scheduler.Noted{What: scheduler.NotePauseEnded, Cycle: preemption.Cycle{"root.a", "root.b"}, Since: noon}},
			[]string{`{"level":"info","msg":"preemption cycle: the pause has ended","partition":"p","queues":"root.a -> root.b -> root.a","since":"2026-01-02T12:00:00Z"}`}},
		{[]scheduler.Effect{scheduler.Noted{What: scheduler.NoteIgnored, Who: low}}, nil}, // the API has a line for it
	}
}

func TestLog_HasALineForEachEffect(t *testing.T) {
	for _, c := range deliveries() {
		l, out := written(zapcore.DebugLevel)
		l.Hear("p", c.effects)
		l.Close()
		assert.DeepEqual(t, lines(out), c.want)

		// What is for debugging is written at no other level.
		l, out = written(zapcore.InfoLevel)
		l.Hear("p", c.effects)
		l.Close()
		want := slices.DeleteFunc(slices.Clone(c.want), func(line string) bool { return strings.Contains(line, `"level":"debug"`) })
		assert.DeepEqual(t, lines(out), slices.Clip(append([]string(nil), want...)))
	}
}

func TestLog_NamesTheFirstVictimsAndCountsAll(t *testing.T) {
	l, out := written(zapcore.InfoLevel)
	var effects []scheduler.Effect
	for i := range 1000 {
		who := scheduler.Party{Key: objects.AllocationKey(fmt.Sprint("v", i)), App: "a", Queue: "root.a"}
		effects = append(effects, scheduler.Noted{What: scheduler.NotePreempted, Who: who, Right: preemption.OfQuota, Node: objects.NodeID(fmt.Sprint("n", i))})
	}
	l.Hear("p", effects)
	assert.Equal(t, len(lines(out)), 1)
	assert.Assert(t, strings.Contains(out.String(), `"victims":1000,"victimKeys":["v0 in root.a",`), out)
	assert.Assert(t, strings.Contains(out.String(), `"v19 in root.a"]`) && !strings.Contains(out.String(), `"v20 in`), out)
	assert.Assert(t, strings.Contains(out.String(), `"n19"]`), out)
}

func TestLog_AnswersOfTheAPIHaveNoPartition(t *testing.T) {
	l, out := written(zapcore.InfoLevel)
	l.HearAnswer(scheduler.NodeRejected{Node: "n1", Reason: "unknown partition"})
	l.HearAnswer(scheduler.AskRejected{Key: "k", App: "a", Kind: scheduler.RejectedMalformed, Reason: "no key"})
	l.Close()
	assert.DeepEqual(t, lines(out), []string{
		`{"level":"warn","msg":"node refused","node":"n1","reason":"unknown partition"}`,
		`{"level":"info","msg":"asks rejected","kind":"malformed","application":"a","count":1,"exampleKey":"k","reason":"no key"}`,
	})
}

// Placements are the hot path: at info they cost no allocation.
func TestLog_DebugLinesAreOnlyBuiltWhenTheyAreWritten(t *testing.T) {
	l, out := written(zapcore.InfoLevel)
	effects := []scheduler.Effect{
		scheduler.Allocated{Ask: &objects.Ask{Key: "low", App: "a", Amounts: two}, Node: "n1"},
		scheduler.Released{Key: "low", App: "a"}, scheduler.AskCancelled{Key: "k", App: "a"},
		scheduler.ApplicationUpdated{App: "a", State: objects.Running}, scheduler.QueueChanged{Queue: "root.d", Dynamic: true},
	}
	assert.Equal(t, testing.AllocsPerRun(100, func() { l.Hear("p", effects) }), 0.0)
	assert.Equal(t, out.Len(), 0)
}

// A log that no program reads blocks no caller: with the writer of package logging, which drops
// and counts.
func TestLog_NeverBlocksAndLosesNoCount(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		in, pipe := io.Pipe() // whose reader takes nothing yet
		log := logging.New(pipe, logging.Options{Encoder: encoder(), Level: zapcore.InfoLevel, Buffer: 64 << 10})
		l := New(log.Logger)
		for i := range 10_000 {
			l.Hear("p", []scheduler.Effect{
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

func TestAudited_SaysWhatIsWrongAndThatItIsNotAnyMore(t *testing.T) {
	l, out := written(zapcore.InfoLevel)
	l.Audited("p", 9, time.Second, nil)
	assert.Equal(t, out.Len(), 0)
	var all []error
	for i := range 7 {
		all = append(all, fmt.Errorf("fault %d", i))
	}
	l.Audited("p", 9, time.Second, errors.Join(errors.Join(all[:3]...), errors.Join(all[3:]...)))
	l.Audited("q", 9, time.Second, nil)
	l.Audited("p", 9, time.Second, errors.New("fault"))
	l.Audited("p", 9, time.Second, nil)
	l.Audited("p", 9, time.Second, nil)
	const size = `"partition":"p","checked":9,"took":"1s"`
	assert.DeepEqual(t, lines(out), []string{
		`{"level":"error","msg":"audit failed: the accounting of the partition is wrong",` + size +
			`,"violations":7,"first":["fault 0","fault 1","fault 2","fault 3","fault 4"]}`,
		`{"level":"error","msg":"audit failed: the accounting of the partition is wrong",` + size + `,"violations":1,"first":["fault"]}`,
		`{"level":"info","msg":"audit passed again",` + size + `}`,
	})
}

// The rows of docs/LOGGING.md have all fields that lines have, and no other.
func TestLoggingDoc_HasTheFieldsOfEachLine(t *testing.T) {
	text, err := os.ReadFile("../../docs/LOGGING.md")
	assert.NilError(t, err)
	fields := map[string]map[string]bool{} // by message
	l, out := written(zapcore.DebugLevel)
	for _, c := range deliveries() {
		l.Hear("p", c.effects)
	}
	for i := range mostRejections + 1 {
		l.Hear("p", []scheduler.Effect{scheduler.AskRejected{Key: "k", App: objects.AppID(fmt.Sprint(i)), Reason: "no"}})
	}
	l.Hear("p", []scheduler.Effect{scheduler.Noted{What: scheduler.NoteNominationEnded, End: scheduler.NominationTimedOut, Why: "no"}})
	l.Close()
	for _, err := range []error{nil, errors.New("fault"), nil} {
		l.Audited("p", 9, time.Second, err)
	}
	for _, line := range lines(out) {
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
		row := regexp.MustCompile("(?m)^\\| \\w+ \\| `" + regexp.QuoteMeta(message) + "` \\| ([^|]*) \\|").FindSubmatch(text)
		assert.Assert(t, row != nil, message)
		for _, f := range regexp.MustCompile("`([^`]+)`").FindAllSubmatch(row[1], -1) {
			assert.Check(t, names[string(f[1])], "%s: no line has the field %s", message, f[1])
			delete(names, string(f[1]))
		}
		delete(names, "level")
		delete(names, "msg")
		assert.Check(t, len(names) == 0, "%s: the row does not have the fields %v", message, names)
	}
}
