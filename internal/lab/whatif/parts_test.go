package whatif

import (
	"bytes"
	"slices"
	"strings"
	"testing"
	"time"

	"gotest.tools/v3/assert"

	"github.com/canopy-scheduler/canopy/internal/testing/randomrun"
	"github.com/canopy-scheduler/canopy/pkg/objects"
	"github.com/canopy-scheduler/canopy/pkg/scheduler"
)

func at(seconds int) time.Time {
	return randomrun.StartTime().Add(time.Duration(seconds) * time.Second)
}

// ranFrom returns a request that was submitted at 0, and started and ended at other seconds; below 0: it has not.
func ranFrom(key string, started, ended int) *request {
	r := &request{key: objects.AllocationKey(key), app: "app", submitted: at(0)}
	if started >= 0 {
		r.started = at(started)
	}
	if ended >= 0 {
		r.ended = at(ended)
	}
	return r
}

func trackerOf(requests ...*request) *tracker {
	t := newTracker()
	t.apps["app"] = &application{queue: "root.a", user: "u"}
	t.all = requests
	return t
}

// The recorded duration is taken where the end was seen. Otherwise it is what was seen, and the median of the rest of
// those that ran as long.
func TestHistory_EstimatesWhatWasNotSeen(t *testing.T) {
	var list []*request
	for i := range 11 {
		list = append(list, ranFrom("k", 10, 10+100*(i+1))) // 100 to 1100 s
	}
	victim, runs, lost, never := ranFrom("victim", 0, 505), ranFrom("runs", 1000, -1), ranFrom("lost", 0, 700),
		ranFrom("never", -1, -1)
	victim.releasing, victim.reason = at(500), scheduler.PreemptedByScheduler
	lost.lost = true
	p := newHistory(trackerOf(append(list, victim, runs, lost, never)...), at(2000))
	assert.Equal(t, p.confirm[scheduler.PreemptedByScheduler], 5*time.Second)
	for _, x := range []struct {
		r         *request
		least     time.Duration
		most      time.Duration
		estimated bool
	}{
		{list[3], 400 * time.Second, 400 * time.Second, false}, {victim, 600 * time.Second, 1100 * time.Second, true},
		{runs, 1100 * time.Second, 1200 * time.Second, true}, {lost, 800 * time.Second, 1100 * time.Second, true},
		{never, 400 * time.Second, 800 * time.Second, true},
	} {
		d, estimated, ok := p.duration(x.r, "root.a", at(2000))
		assert.Assert(t, ok && estimated == x.estimated && d >= x.least && d <= x.most, "%s: %v", x.r.key, d)
	}
	other, _, ok := p.duration(nil, "root.b", at(2000)) // of all queues
	assert.Assert(t, ok && other > 0)
	_, _, ok = newHistory(trackerOf(ranFrom("runs", 0, -1)), at(2000)).duration(nil, "root.a", at(2000))
	assert.Assert(t, !ok, "no end is known")
}

// Copies of a node get what it gets until it is schedulable, with their own name in the attributes.
func TestNodes_CopiesFollowUntilSchedulable(t *testing.T) {
	n := newNodes([]NodeChange{{2, "gpu"}})
	got := n.translate(scheduler.AddNode{Node: "n1", Total: amounts(4),
		Attributes: map[string]string{"type": "gpu", "host": "n1"}})
	assert.Equal(t, len(got), 3)
	last := got[2].(scheduler.AddNode)
	assert.Equal(t, last.Node, objects.NodeID("what-if-gpu-1"))
	assert.DeepEqual(t, last.Attributes, map[string]string{"type": "gpu", "host": "what-if-gpu-1"})
	assert.Equal(t, len(n.translate(scheduler.SetCapacity{Node: "n1", Total: amounts(8)})), 3)
	assert.Equal(t, len(n.translate(scheduler.SetAttributes{Node: "n1", Attributes: last.Attributes})), 3)
	assert.Equal(t, len(n.translate(scheduler.SetSchedulable{Node: "n1"})), 1)
	assert.Equal(t, len(n.translate(scheduler.SetSchedulable{Node: "n1", Schedulable: true})), 3)
	for _, cmd := range []scheduler.Command{scheduler.SetSchedulable{Node: "n1", Schedulable: true},
		scheduler.SetCapacity{Node: "n1"}, scheduler.RemoveNode{Node: "n1"},
		scheduler.AddNode{Node: "n2", Attributes: last.Attributes}} {
		assert.Equal(t, len(n.translate(cmd)), 1)
	}
	assert.NilError(t, n.unmatched())

	n = newNodes([]NodeChange{{-1, "n1"}})
	for _, cmd := range []scheduler.Command{
		scheduler.AddNode{Node: "n1"}, scheduler.SetCapacity{Node: "n1"}, scheduler.SetAttributes{Node: "n1"},
		scheduler.SetSchedulable{Node: "n1", Schedulable: true}, scheduler.RemoveNode{Node: "n1"},
		scheduler.ReportAllocation{Ask: &objects.Ask{}, Node: "n1"},
		scheduler.ReportForeign{Foreign: objects.Foreign{Node: "n1"}},
		scheduler.Operate{Action: scheduler.CordonNode, Node: "n1"},
	} {
		assert.Equal(t, len(n.translate(cmd)), 0, "%T", cmd)
		assert.Equal(t, len(n.translate(scheduler.AddNode{Node: "n2"})), 1)
	}
	assert.Equal(t, n.skipped, 1)
}

// Waits are those of what has started; what never ran and what was cancelled is counted apart, and placeholders and
// what ran before are not.
func TestOutcome_CountsAndQuantiles(t *testing.T) {
	var list []*request
	for i := range 100 {
		list = append(list, ranFrom("k", i+1, 500))
	}
	list[7].releasing, list[7].reason = at(400), scheduler.PreemptedByScheduler
	rejected, placeholder, reported, unknown := ranFrom("r", -1, 0), ranFrom("p", 3, 4), ranFrom("b", 0, -1),
		ranFrom("x", -1, -1)
	rejected.rejected, placeholder.placeholder, reported.reported, unknown.app = true, true, true, "unknown"
	list = append(list, rejected, placeholder, reported, unknown, ranFrom("waits", -1, -1), ranFrom("cancelled", -1, 9))
	got := outcomeOf(trackerOf(list...), newSamples(at(0), at(1)))
	waits := []time.Duration{9 * time.Second} // until it was cancelled
	for i := range 100 {
		waits = append(waits, time.Duration(i+1)*time.Second)
	}
	slices.Sort(waits)
	waits = append(waits, Forever)
	want := Group{Name: "all", Asks: 102, Started: 100, Waiting: 1, Cancelled: 1, Rejected: 1, Preempted: 1,
		Wait: Wait{50, 95, 100}, Waits: waits}
	assert.DeepEqual(t, got.All, want)
	want.Name = "root.a"
	assert.DeepEqual(t, got.Queues, []Group{want})
	want.Name = "u"
	assert.DeepEqual(t, got.Users, []Group{want})
	assert.Equal(t, Quantile(nil, 0.5), time.Duration(0))
	assert.Equal(t, Quantile(waits, 0.5), 50*time.Second) // of 102, the 51st
	assert.Equal(t, Quantile(waits, 1), Forever)
}

// A registration begins a session, and each is compared for itself.
func TestCompare_EachSession(t *testing.T) {
	r := record(t, config(t, 4, "1s").Partitions[0], objects.DefaultOptions())
	second := 0
	step := func(cmd scheduler.Command) {
		second++
		r.step(at(second), cmd)
		r.schedule(at(second), decisions)
	}
	for _, asks := range []int{2, 5, 3} {
		step(scheduler.ResetPartition{})
		step(scheduler.AddNode{Node: "n", Total: amounts(8), Schedulable: true})
		step(scheduler.AddApplication{App: "app", Queue: "root.b"})
		for i := range asks {
			step(scheduler.SubmitAsk{Ask: &objects.Ask{Key: objects.AllocationKey(string(rune('a' + i))), App: "app",
				Amounts: amounts(1)}})
		}
	}
	sessions := r.sessions()
	assert.Equal(t, len(sessions), 3)
	got, err := Compare(sessions[1], &Scenario{}, nil)
	assert.NilError(t, err)
	assert.Equal(t, got.Recorded.All.Asks, 5)
	assert.Assert(t, got.Same)
	assert.Equal(t, got.From, at(6))
	assert.Equal(t, got.To, at(13))
}

// A step in which the recording ends is left out: the scheduler may have panicked in it, and would again.
func TestCompare_LeavesOutTheStepOfAPanic(t *testing.T) {
	r := simulate(t, config(t, 4, "1s").Partitions[0], three[:1], randomJobs(1, 2))
	last := at(4 * 3600)
	r.to.Command(last, scheduler.Wake{}) // and no effects
	got, err := r.compare(&Scenario{WithoutPreemption: true})
	assert.NilError(t, err)
	assert.Assert(t, got.To.Before(last) && got.Recorded.All.Asks > 0, "%v", got.To)
}

// What a reservation holds of its node counts as far as it is free.
func TestHeldIdle(t *testing.T) {
	core := scheduler.NewWith(config(t, 100, "1h").Partitions[0], nil, objects.DefaultOptions())
	submit := func(key string, vcore int64) {
		ask := &objects.Ask{Key: objects.AllocationKey(key), App: "app", Amounts: amounts(vcore)}
		core.Step(at(0), scheduler.SubmitAsk{Ask: ask})
		core.Schedule(at(0), decisions)
	}
	core.Step(at(0), scheduler.AddNode{Node: "n", Total: amounts(8), Schedulable: true})
	core.Step(at(0), scheduler.AddApplication{App: "app", Queue: "root.b"})
	submit("runs", 5)
	submit("waits", 7)
	assert.DeepEqual(t, heldIdle(core.Partition()), map[string]int64{})
	core.Step(at(60), scheduler.Wake{})
	core.Schedule(at(60), decisions)
	assert.DeepEqual(t, heldIdle(core.Partition()), map[string]int64{"vcore": 3000}) // of 7, 4 are in use
	core.Step(at(61), scheduler.Release{App: "app", Key: "runs", Type: scheduler.StoppedByRM})
	assert.DeepEqual(t, heldIdle(core.Partition()), map[string]int64{"vcore": 7000})
}

// The text and the page have the figures of both runs, and texts of resource managers are escaped.
func TestComparison_TextAndPage(t *testing.T) {
	six, four := int64(6000), int64(4000)
	group := func(name string, started int, wait, starved float64, guaranteed *int64) Group {
		return Group{Name: name, Asks: 9, Started: started, Waiting: 9 - started, Wait: Wait{wait, 2 * wait, 3 * wait},
			Starved: starved, Usage: []Usage{{"vcore", 12345, guaranteed, nil}}}
	}
	c := &Comparison{
		Partition: "default", From: at(0), To: at(3600), Steps: 7, Changes: []string{"no preemption"},
		Assumptions: []string{"an assumption"},
		Recorded: Outcome{All: group("all", 9, 0.25, 0, nil),
			Queues: []Group{group("root.a", 9, 4, 0, &six), group("root.old", 9, 0, 0, nil)},
			Users:  []Group{group("<b>", 9, 4, 0, nil)}},
		Changed: Outcome{All: group("all", 8, 0.25, 0, nil),
			Queues: []Group{group("root.a", 8, 400, .5, &four), group("root.new", 9, 0, 0, nil)},
			Users:  []Group{group("<b>", 8, 40, 0, nil)}},
		Series: []Series{{"root.a", "vcore", []float64{0, .5, 1}, []float64{.5, .5, .5}}},
		Held:   []Series{{"", "vcore", []float64{.25, 0, .25}, []float64{0, 0, .25}}},
	}
	c.Recorded.Held, c.Changed.Held = []Usage{{"vcore", four, nil, nil}}, []Usage{{"vcore", 1000, nil, nil}}
	var text, page bytes.Buffer
	assert.NilError(t, c.WriteText(&text))
	for _, line := range []string{
		"partition default, 2023-11-14T22:13:20Z to 2023-11-14T23:13:20Z (1h0m0s), 7 steps", "changed: no preemption",
		"all       9      9 > 8    0 > 1      250ms",
		"root.a    9      9 > 8    0 > 1      4.00s > 6m40s  8.00s > 13m20s  0          0 % > 50 %       vcore 12 of 6 > " +
			"12 of 4",
		"root.new  0 > 9", "root.old  9 > 0", "held by reservations and idle: vcore 4 > 1", "  - an assumption",
	} {
		assert.Assert(t, strings.Contains(text.String(), line), "%q is not in\n%s", line, text.String())
	}
	assert.NilError(t, WriteHTML(&page, []*Comparison{c}))
	for _, part := range []string{"&lt;b&gt;", "4.00s &gt; 6m40s", `points="0.0,120.0 300.0,60.0 600.0,0.0"`,
		`width="100.0%"`, "On average vcore 4 &gt; 1.", `points="0.0,0.0 300.0,120.0 600.0,0.0"`, "an assumption"} {
		assert.Assert(t, strings.Contains(page.String(), part), "%q is not in the page", part)
	}
	assert.Assert(t, !strings.Contains(page.String(), "<b>"))
}
