package scheduler_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"gotest.tools/v3/assert"

	"github.com/canopy-scheduler/canopy/pkg/configs"
	"github.com/canopy-scheduler/canopy/pkg/limits"
	"github.com/canopy-scheduler/canopy/pkg/objects"
	"github.com/canopy-scheduler/canopy/pkg/policies"
	"github.com/canopy-scheduler/canopy/pkg/preemption"
	"github.com/canopy-scheduler/canopy/pkg/resources"
	"github.com/canopy-scheduler/canopy/pkg/scheduler"
	"github.com/canopy-scheduler/canopy/pkg/security"
)

// scenarioFates says of everybody on a node of some scenarios what becomes of them: the node of
// the plan or, where there is none, the first that was looked at.
var scenarioFates = map[string]map[string]string{
	"SC-001": {"r0": "may be taken", "r1": "may be taken", "r2": "victim", "r3": "may be taken"},
	"SC-011": {"v-old": "is guaranteed its place", "v-new": "victim"},
	"SC-013": {"peer": "is too important"},
	"SC-041": {"low": "may be taken", "high": "is too important"},
	"SC-043": {"v1": "is in a queue that gives up no work", "v2": "is in a queue that gives up no work"},
	"SC-085": {"vip": "is too important", "old": "may be taken", "young": "victim"},
	"SC-099": {"v1": "is too important", "v2": "is too important"},
	"CX-01":  {"own": "is in the queue that is owed room", "sib": "is guaranteed its place", "sib2": "victim"},
	"CX-02":  {"own": "may be taken", "sib": "is in another leaf", "sib2": "is in another leaf"},
	"CX-06":  {"own": "is too important", "sib": "is guaranteed its place", "sib2": "is guaranteed its place"},
	"CX-07":  {"own": "is too important", "sib": "is beyond a fence", "sib2": "is beyond a fence"},
	"P7":     {"sys": "is system work"},
}

// supposedRight compares what was supposed of the ask of a scenario with what then happened. A
// supposition is about one ask as things are: it does not foresee that nominations end, nor
// that a gang looks together.
func supposedRight(t *testing.T, s preemptScenario, c *scheduler.Core, got *scheduler.Supposition) {
	t.Helper()
	if s.Given.Gang != nil || s.Given.Nominated != nil || s.Given.Ask.NominatedNode != "" {
		return
	}
	if want, ok := scenarioFates[s.ID]; ok {
		assert.DeepEqual(t, fates(got.Candidates), want)
	}
	if s.Expect.Action == "none" {
		assert.Equal(t, got.Outcome, scheduler.WouldNotFit)
		return
	}
	last := c.Preemptions().Last
	record := last[len(last)-1]
	assert.Equal(t, got.Outcome, scheduler.WouldPreempt)
	assert.Equal(t, got.Node, record.Node)
	assert.DeepEqual(t, keysOfVictims(got.Victims), keysOfVictims(record.Victims))
	assert.DeepEqual(t, got.Candidates, record.Candidates)
	assert.Equal(t, got.CandidatesNode, record.Node)
	tried := got.Tried[len(got.Tried)-1]
	assert.Equal(t, tried.Right, record.Right)
	assert.Equal(t, tried.Seen, record.Seen)
	assert.Equal(t, len(got.Tried), len(record.Vain)+1)
	assert.Equal(t, tried.Best[0].Node, got.Node)
	assert.Equal(t, tried.Best[0].BeyondBudgets, s.Expect.BudgetViolations)
	if s.Expect.By != "" {
		assert.Equal(t, record.Right.String(), s.Expect.By)
	}
}

func keysOfVictims(list []scheduler.Victim) (keys []string) {
	for _, v := range list {
		keys = append(keys, string(v.Key))
	}
	slices.Sort(keys)
	return keys
}

// supposed is what would become of an ask of an application that is not there.
func (r *ranked) supposed(t *testing.T, h scheduler.Hypothesis) *scheduler.Supposition {
	t.Helper()
	if h.Who.Queue == "" {
		h.Who = objects.Applicant{User: security.User{Name: "eve"}, Queue: "root.a"}
	}
	got, err := r.Suppose(h, r.now)
	assert.NilError(t, err)
	assert.NilError(t, r.Check())
	assert.Equal(t, r.Preemptions().Made, uint64(0))
	return got
}

func TestWhatWouldBecomeOfAnAsk(t *testing.T) {
	full := func(t *testing.T) *ranked {
		r := newRanked(t, objects.DefaultOptions(), nil, "n1", "n2")
		r.run("low", "n1", 0, 4)
		r.run("mid", "n2", 10, 3)
		return r
	}
	for _, c := range []struct {
		name     string
		priority int32
		vcore    int64
		node     objects.NodeID // required
		never    bool           // it may not preempt
		outcome  scheduler.SupposedOutcome
		on       objects.NodeID
		verdict  string
		victims  []string
	}{
		{"it fits", 0, 1, "", false, scheduler.WouldFit, "n2", "waits for its turn", nil},
		{"nobody is less important", 0, 2, "", false, scheduler.WouldNotFit, "", "no headroom in the cluster", nil},
		{"somebody is", 5, 2, "", false, scheduler.WouldPreempt, "n1", "no headroom in the cluster", []string{"low"}},
		{"it may not", 5, 2, "", true, scheduler.WouldNotFit, "", "no headroom in the cluster", nil},
		{"it accepts one node", 20, 2, "n2", false, scheduler.WouldPreempt, "n2", "no headroom in the cluster", []string{"mid"}},
		{"it accepts a node that is not there", 20, 1, "n9", false, scheduler.WouldNotFit, "", "its required node n9 does not exist", nil},
		{"it is larger than any node", 20, 5, "", false, scheduler.WouldNotFit, "", "more than any schedulable node has in all", nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := full(t)
			ask := r.ask("new", c.priority, c.vcore)
			ask.RequiredNode = c.node
			ask.Policy = ask.Policy.With(objects.PolicyOther, !c.never)
			got := r.supposed(t, scheduler.Hypothesis{Ask: ask})
			assert.Equal(t, got.Outcome, c.outcome)
			assert.Equal(t, got.Node, c.on)
			assert.Equal(t, got.Verdict.String(), c.verdict)
			assert.DeepEqual(t, keysOfVictims(got.Victims), c.victims)
			assert.Assert(t, !got.Pending)
			assert.Equal(t, got.Ask.User, "eve")
			_, known := r.Partition().Allocation("new")
			_, born := r.Partition().Application("of-new")
			assert.Assert(t, !known && !born)

			// And so it is, when it is submitted.
			r.Step(r.now, scheduler.AddApplication{App: "of-new", User: security.User{Name: "eve"}, Queue: "root.a"})
			r.Step(r.now, scheduler.SubmitAsk{Ask: ask})
			r.decide()
			x, _ := r.Partition().Allocation("new")
			var victims []string
			for _, p := range r.Preemptions().Last {
				victims = append(victims, keysOfVictims(p.Victims)...)
			}
			assert.DeepEqual(t, victims, c.victims)
			if c.outcome == scheduler.WouldFit {
				assert.Equal(t, x.Node().ID(), c.on)
			}
		})
	}
}

// Each obstacle of a node is counted, and the candidates of any node can be asked for.
func TestWhyNoNodeCanBeCleared(t *testing.T) {
	r := newRanked(t, objects.DefaultOptions(), nil, "n1", "n2", "n3", "n4")
	r.run("vip", "n1", 100, 4)  // hopeless by rank? no: its rank is 100
	r.run("half", "n2", 100, 3) // the rest is too little
	r.run("low2", "n2", 0, 1)
	r.run("bound", "n3", 0, 4)
	r.Step(r.now, scheduler.SetSchedulable{Node: "n4"})
	got := r.supposed(t, scheduler.Hypothesis{Ask: r.ask("new", 50, 4), Node: "n2"})
	assert.Equal(t, got.Outcome, scheduler.WouldPreempt)
	assert.Equal(t, got.Node, objects.NodeID("n3"))
	assert.Equal(t, got.CandidatesNode, objects.NodeID("n2"))
	assert.DeepEqual(t, fates(got.Candidates), map[string]string{"half": "is too important", "low2": "may be taken"})

	r.release(0, "bound", scheduler.StoppedByRM)
	r.run("now-vip", "n3", 70, 4)
	got = r.supposed(t, scheduler.Hypothesis{Ask: r.ask("new", 50, 4)})
	assert.Equal(t, got.Outcome, scheduler.WouldNotFit)
	tried := got.Tried[0]
	assert.Equal(t, tried.Obstacles[preemption.NobodyMayGo], 2)
	assert.Equal(t, tried.Obstacles[preemption.TooLittle], 1)
	assert.Equal(t, tried.Hopeless, 1) // it drains
	assert.Equal(t, tried.Nodes, 4)
}

// What keeps one node does not count for the next.
func TestGuaranteesAreBlamedWhereTheyAreInTheWay(t *testing.T) {
	r := guarded(t)
	conf := r.Partition().Config()
	conf.Root.Children = slices.Clone(conf.Root.Children) // what is in force never changes
	conf.Root.Children[1].Guaranteed = guaranteeOf(8)     // root.a, which holds all of n1
	r.Step(r.now, scheduler.UseConfig{Partition: conf})
	for _, n := range []objects.NodeID{"n2", "n3"} {
		r.Step(r.now, scheduler.AddNode{Node: n, Total: plain(map[string]int64{"vcore": 8}), Schedulable: true})
	}
	r.Step(r.now, scheduler.AddApplication{App: "of-rock", User: security.User{Name: "ann"}, Queue: "root.short"})
	r.Step(r.now, scheduler.AddApplication{App: "of-sand", User: security.User{Name: "ann"}, Queue: "root.short"})
	r.Step(r.now, scheduler.ReportAllocation{Ask: r.ask("rock", 60, 7), Node: "n2"})
	r.Step(r.now, scheduler.ReportAllocation{Ask: r.ask("sand", 0, 1), Node: "n2"})
	r.Step(r.now, scheduler.SetSchedulable{Node: "n3"})
	got := r.supposed(t, scheduler.Hypothesis{
		Ask: r.ask("new", 50, 3), Waited: true, Who: objects.Applicant{User: security.User{Name: "eve"}, Queue: "root.owed"},
	})
	assert.Equal(t, got.Outcome, scheduler.WouldNotFit)
	want := preemption.Obstacles{}
	want[preemption.Guarantees], want[preemption.TooLittle] = 1, 1
	assert.Equal(t, got.Tried[0].Obstacles, want)
}

// The best plans are listed in order, and no more than ten.
func TestTheBestPlansAreListed(t *testing.T) {
	r := newRanked(t, objects.DefaultOptions(), nil)
	for i := range 15 {
		n := objects.NodeID(rune('a' + i))
		r.Step(r.now, scheduler.AddNode{Node: n, Total: plain(map[string]int64{"vcore": 4}), Schedulable: true})
		r.run("of-"+string(n), n, 7, int64(4-i%2)) // all have the same rank
	}
	got := r.supposed(t, scheduler.Hypothesis{Ask: r.ask("new", 50, 4)}).Tried[0]
	assert.Equal(t, len(got.Best), preemption.BestPlans)
	assert.Equal(t, got.Seen[preemption.Compared], 15)
	assert.Assert(t, slices.IsSortedFunc(got.Best, func(a, b scheduler.SupposedPlan) int {
		return compareStrings(string(a.Node), string(b.Node)) // nothing else is different
	}))
	assert.Equal(t, got.Best[0].Node, objects.NodeID("a"))
}

func compareStrings(a, b string) int {
	switch {
	case a < b:
		return -1
	case a > b:
		return 1
	}
	return 0
}

// guarded is a core whose leaf root.owed is guaranteed 4 vcores, and whose other leaves hold
// all there is.
func guarded(t *testing.T) *ranked {
	queue := func(name string, guaranteed int64, rules ...limits.Rule) configs.Queue {
		q := configs.Queue{Name: name, Settings: configs.DefaultSettings(), Limits: rules}
		q.Guaranteed = guaranteeOf(guaranteed)
		return q
	}
	limited := queue("limited", 0, limits.Rule{Users: []string{"eve"}, MaxResources: limitOf(2)})
	limited.PrioritySwap = policies.PrioritySwapFence
	short := queue("short", 0)
	short.Max, short.MaxApplications, short.PrioritySwap = limitOf(2), 1, policies.PrioritySwapFence
	r := &ranked{now: epoch, Core: scheduler.New(configs.Partition{Name: "default", Preemption: true, Root: configs.Queue{
		Name: "root", Parent: true, Submit: security.Everyone(), Settings: configs.DefaultSettings(),
		Children: []configs.Queue{queue("owed", 4), queue("a", 0), limited, short},
	}}, nil)}
	r.Step(r.now, scheduler.AddNode{Node: "n1", Total: plain(map[string]int64{"vcore": 8}), Schedulable: true})
	r.run("one", "n1", 0, 4)
	r.run("two", "n1", 0, 4)
	return r
}

// What keeps an ask from a right, and what a quota or a limit has to do with it.
func TestWhichRightsAnAskHas(t *testing.T) {
	for _, c := range []struct {
		name, queue string
		vcore       int64
		waited      bool
		never       bool
		outcome     scheduler.SupposedOutcome
		guarantee   preemption.Bar
		of          objects.QueuePath // whose guarantee or delay
		priority    preemption.Bar
	}{
		{"its queue is owed the room", "root.owed", 4, true, false, scheduler.WouldPreempt, preemption.HasRight, "root.owed", preemption.NoPriority},
		{"it has to wait first", "root.owed", 4, false, false, scheduler.WouldNotFit, preemption.IsYoung, "root.owed", preemption.NoPriority},
		{"it wants more than is guaranteed", "root.owed", 5, true, false, scheduler.WouldNotFit, preemption.PastGuarantee, "root.owed", preemption.NoPriority},
		{"nothing is guaranteed", "root.a", 1, true, false, scheduler.WouldNotFit, preemption.NoGuarantee, "", preemption.NoPriority},
		{"it may not preempt", "root.owed", 1, true, true, scheduler.WouldNotFit, preemption.MayNotPreempt, "", preemption.MayNotPreempt},
		{"its limit is in the way", "root.limited", 3, true, false, scheduler.WouldNotFit, preemption.NoGuarantee, "", preemption.HasRight},
		{"its limit is not", "root.limited", 2, true, false, scheduler.WouldPreempt, preemption.NoGuarantee, "", preemption.HasRight},
		{"another application of the user is", "root.limited", 1, true, false, scheduler.WouldNotFit, preemption.NoGuarantee, "", preemption.HasRight},
		{"the max of its queue is in the way", "root.short", 3, true, false, scheduler.WouldNotFit, preemption.NoGuarantee, "", preemption.HasRight},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := guarded(t)
			if strings.HasPrefix(c.name, "another") { // it holds what the limit allows, and is as important
				r.Step(r.now, scheduler.AddApplication{App: "eve", User: security.User{Name: "eve"}, Queue: "root.limited"})
				held := r.ask("held", 60, 2)
				held.App = "eve"
				r.Step(r.now, scheduler.ReportAllocation{Ask: held, Node: "n1"})
			}
			ask := r.ask("new", 50, c.vcore)
			ask.Created, ask.Policy = time.Time{}, ask.Policy.With(objects.PolicyOther, !c.never)
			who := objects.Applicant{User: security.User{Name: "eve"}, Queue: objects.QueuePath(c.queue)}
			got := r.supposed(t, scheduler.Hypothesis{Ask: ask, Who: who, Waited: c.waited})
			assert.Equal(t, got.Outcome, c.outcome)
			assert.Equal(t, len(got.Claims), 3)
			assert.Equal(t, got.Claims[1].Bar, c.guarantee)
			assert.Equal(t, got.Claims[1].Queue, c.of)
			assert.Equal(t, got.Claims[2].Bar, c.priority)
			if c.guarantee == preemption.IsYoung {
				assert.Equal(t, got.Claims[1].Due, epoch.Add(configs.DefaultSettings().PreemptionDelay))
			}
			if c.outcome == scheduler.WouldNotFit && c.priority == preemption.HasRight && c.vcore > 2 { // a quota is in the way on every node
				tried := got.Tried[0]
				assert.Equal(t, tried.Obstacles[preemption.QuotaInWay], 1)
				assert.Equal(t, len(tried.InTheWay) > 0, true)
				last := tried.InTheWay[0]
				assert.DeepEqual(t, last.Missing.Map(), plain(map[string]int64{"vcore": c.vcore - 2}).Map())
			}
		})
	}
}

// Nobody starts more applications than may run, so an application that is not there may not.
func TestWhoMayNotStartIsToldSo(t *testing.T) {
	r := guarded(t)
	r.Step(r.now, scheduler.AddApplication{App: "first", User: security.User{Name: "ann"}, Queue: "root.short"})
	ask := r.ask("runs", 0, 1)
	ask.App = "first"
	r.Step(r.now, scheduler.ReportAllocation{Ask: ask, Node: "n1"})
	got := r.supposed(t, scheduler.Hypothesis{
		Ask: r.ask("new", 50, 1), Who: objects.Applicant{User: security.User{Name: "eve"}, Queue: "root.short"},
	})
	assert.Equal(t, got.Outcome, scheduler.WouldNotStart)
	assert.Equal(t, got.Verdict.String(), "queue root.short runs as many applications as it may")
	assert.Equal(t, len(got.Tried), 0)
}

func TestWhatCannotBeSupposed(t *testing.T) {
	r := guarded(t)
	someone := security.User{Name: "eve"}
	for _, c := range []struct {
		name, want string
		h          scheduler.Hypothesis
	}{
		{"an unknown ask", "unknown pending ask k", scheduler.Hypothesis{Key: "k"}},
		{"an ask that runs", "unknown pending ask one", scheduler.Hypothesis{Key: "one"}},
		{"an unknown queue", "the ask would be refused: unknown queue root.x", scheduler.Hypothesis{Ask: r.ask("new", 0, 1), Who: objects.Applicant{User: someone, Queue: "root.x"}}},
		{"a queue that is no leaf", "the ask would be refused: queue root is not a leaf queue", scheduler.Hypothesis{Ask: r.ask("new", 0, 1), Who: objects.Applicant{User: someone, Queue: "root"}}},
		{"nothing", "the ask would be refused: contains no resources", scheduler.Hypothesis{Ask: r.ask("new", 0, 0), Who: objects.Applicant{User: someone, Queue: "root.a"}}},
		{"less than nothing", "the ask would be refused: contains negative resources", scheduler.Hypothesis{Ask: r.ask("new", 0, -1), Who: objects.Applicant{User: someone, Queue: "root.a"}}},
		{"an unknown node", "unknown node n9", scheduler.Hypothesis{Key: "one", Node: "n9"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := r.Suppose(c.h, r.now)
			assert.Error(t, err, c.want)
		})
	}
}

func guaranteeOf(vcore int64) resources.Guarantee {
	if vcore == 0 {
		return resources.Guarantee{}
	}
	return resources.GuaranteeFromMap(map[string]resources.Quantity{"vcore": resources.Quantity(vcore)})
}

func limitOf(vcore int64) resources.Limit {
	return resources.LimitFromMap(map[string]resources.Quantity{"vcore": resources.Quantity(vcore)})
}

// A dry run refuses what would be refused.
func TestADryRunRefusesAClassWherePrioritiesAreOff(t *testing.T) {
	conf, problems := configs.Load([]byte("partitions: [{priority: disabled, queues: [{name: root, submitacl: '*', queues: [{name: a}]}]}]"))
	assert.Assert(t, conf != nil, "%v", problems)
	core := scheduler.New(conf.Partitions[0], nil)
	core.Step(epoch, scheduler.AddApplication{App: "x", Queue: "root.a"})
	h := scheduler.Hypothesis{Ask: &objects.Ask{Key: "k", App: "x", Amounts: vcores(1)}, Class: "high"}
	_, err := core.Suppose(h, epoch)
	assert.NilError(t, err, "it is of the default class")
	h.Named = "high"
	_, err = core.Suppose(h, epoch)
	assert.ErrorIs(t, err, scheduler.ErrWouldBeRefused)
	assert.ErrorContains(t, err, "priority-disabled")
}
