package scheduler_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"gotest.tools/v3/assert"

	"github.com/canopy-scheduler/canopy/pkg/configs"
	"github.com/canopy-scheduler/canopy/pkg/configs/queuesyaml"
	"github.com/canopy-scheduler/canopy/pkg/limits"
	"github.com/canopy-scheduler/canopy/pkg/objects"
	"github.com/canopy-scheduler/canopy/pkg/policies"
	"github.com/canopy-scheduler/canopy/pkg/preemption"
	"github.com/canopy-scheduler/canopy/pkg/preemption/victim"
	"github.com/canopy-scheduler/canopy/pkg/resources"
	"github.com/canopy-scheduler/canopy/pkg/scheduler"
	"github.com/canopy-scheduler/canopy/pkg/security"
)

// expectedCandidates are the candidates of some scenarios and why they are eligible or not, on the node of
// the plan or, without a plan, the first node that was searched.
var expectedCandidates = map[string]map[string]string{
	"SC-001": {"r0": "eligible", "r1": "eligible", "r2": "victim", "r3": "eligible"},
	"SC-011": {"v-old": "is protected by a queue guarantee", "v-new": "victim"},
	"SC-013": {"peer": "has too high a priority"},
	"SC-041": {"low": "eligible", "high": "has too high a priority"},
	"SC-043": {"v1": "is in a queue with preemption disabled", "v2": "is in a queue with preemption disabled"},
	"SC-085": {"vip": "has too high a priority", "old": "eligible", "young": "victim"},
	"SC-099": {"v1": "has too high a priority", "v2": "has too high a priority"},
	"CX-01": {"own": "is in the queue whose guarantee is enforced", "sib": "is protected by a queue guarantee",
		"sib2": "victim"},
	"CX-02": {"own": "eligible", "sib": "is in another leaf queue", "sib2": "is in another leaf queue"},
	"CX-06": {"own": "has too high a priority", "sib": "is protected by a queue guarantee",
		"sib2": "is protected by a queue guarantee"},
	"CX-07": {"own": "has too high a priority", "sib": "is beyond a preemption fence",
		"sib2": "is beyond a preemption fence"},
	"CX-11": {"sys": "has system priority"},
}

// checkDryRun compares the dry run of the ask of a scenario with what the Core then did. A dry run is about
// one ask as things are: it does not foresee that nominations end, nor that a gang is evaluated together
// (PRE-117).
func checkDryRun(t *testing.T, s preemptScenario, c *scheduler.Core, got *scheduler.DryRunResult) {
	t.Helper()
	if s.Given.Gang != nil || s.Given.Nominated != nil || s.Given.Ask.NominatedNode != "" {
		return
	}
	if want, ok := expectedCandidates[s.ID]; ok {
		assert.DeepEqual(t, candidateReasons(got.Candidates), want)
	}
	if s.Expect.Action == "none" {
		assert.Equal(t, got.Outcome, scheduler.WouldNotFit)
		return
	}
	last := c.Preemptions().Last
	logged := last[len(last)-1]
	assert.Equal(t, got.Outcome, scheduler.WouldPreempt)
	assert.Equal(t, got.Node, logged.Node)
	assert.DeepEqual(t, keysOfVictims(got.Victims), keysOfVictims(logged.Victims))
	assert.DeepEqual(t, got.Candidates, logged.Candidates)
	assert.Equal(t, got.CandidatesNode, logged.Node)
	search := got.Searches[len(got.Searches)-1]
	assert.Equal(t, search.Reason, logged.Reason)
	assert.DeepEqual(t, search.NodeOutcomes, logged.NodeOutcomes)
	assert.Equal(t, len(got.Searches), len(logged.TriedReasons)+1)
	assert.Equal(t, search.BestPlans[0].Node, got.Node)
	assert.Equal(t, search.BestPlans[0].BudgetViolations, s.Expect.BudgetViolations)
	if s.Expect.By != "" {
		assert.Equal(t, logged.Reason.String(), s.Expect.By)
	}
}

func keysOfVictims(list []preemption.Victim) (keys []string) {
	for _, v := range list {
		keys = append(keys, string(v.Key))
	}
	slices.Sort(keys)
	return keys
}

// dryRunOf makes a dry run of an ask of an application that does not exist.
func (r *preemptCore) dryRunOf(t *testing.T, h scheduler.DryRunRequest) *scheduler.DryRunResult {
	t.Helper()
	if h.Applicant.Queue == "" {
		h.Applicant = objects.HypotheticalOwner{User: security.User{Name: "eve"}, Queue: "root.a"}
	}
	got, err := r.DryRun(h, r.now)
	assert.NilError(t, err)
	assert.NilError(t, r.Check())
	assert.Equal(t, r.Preemptions().Total, uint64(0))
	return got
}

func TestDryRun_Outcomes(t *testing.T) {
	full := func(t *testing.T) *preemptCore {
		r := newPreemptCore(t, objects.DefaultOptions(), nil, "n1", "n2")
		r.runAllocation("low", "n1", 0, 4)
		r.runAllocation("mid", "n2", 10, 3)
		return r
	}
	for _, c := range []struct {
		name     string
		priority int32
		vcore    int64
		node     objects.NodeID // required
		never    bool           // it may not preempt
		outcome  scheduler.DryRunOutcome
		on       objects.NodeID
		verdict  string
		victims  []string
	}{
		{"it fits", 0, 1, "", false, scheduler.WouldFit, "n2", "waits for its turn", nil},
		{"no allocation has lower priority", 0, 2, "", false, scheduler.WouldNotFit, "", "no headroom in the cluster", nil},
		{"an allocation has lower priority", 5, 2, "", false, scheduler.WouldPreempt, "n1", "no headroom in the cluster",
			[]string{"low"}},
		{"it may not preempt", 5, 2, "", true, scheduler.WouldNotFit, "", "no headroom in the cluster", nil},
		{"it requires a node", 20, 2, "n2", false, scheduler.WouldPreempt, "n2", "no headroom in the cluster",
			[]string{"mid"}},
		{"it requires a node that does not exist", 20, 1, "n9", false, scheduler.WouldNotFit, "",
			"its required node n9 does not exist", nil},
		{"it is larger than any node", 20, 5, "", false, scheduler.WouldNotFit, "",
			"more than any schedulable node has in all", nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := full(t)
			ask := r.ask("new", c.priority, c.vcore)
			ask.Details = objects.NewAskDetails(objects.AskDetails{RequiredNode: c.node})
			ask.Policy = ask.Policy.With(objects.PolicyAllowPreemptOther, !c.never)
			got := r.dryRunOf(t, scheduler.DryRunRequest{Ask: ask})
			assert.Equal(t, got.Outcome, c.outcome)
			assert.Equal(t, got.Node, c.on)
			assert.Equal(t, got.Verdict, c.verdict)
			assert.DeepEqual(t, keysOfVictims(got.Victims), c.victims)
			assert.Assert(t, !got.Pending)
			assert.Equal(t, got.Ask.User, "eve")
			_, known := r.Partition().Allocation("new")
			_, created := r.Partition().Application("of-new")
			assert.Assert(t, !known && !created)

			// A submission of the ask has the same result.
			r.Step(r.now, scheduler.AddApplication{App: "of-new", User: security.User{Name: "eve"}, Queue: "root.a"})
			r.Step(r.now, scheduler.SubmitAsk{Ask: ask})
			r.scheduleAll()
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

// Nodes without a plan are counted by reason, and the candidates of any node can be requested.
func TestDryRun_NoPlanReasonsAreCounted(t *testing.T) {
	r := newPreemptCore(t, objects.DefaultOptions(), nil, "n1", "n2", "n3", "n4")
	r.runAllocation("vip", "n1", 100, 4)
	r.runAllocation("half", "n2", 100, 3) // the rest is too little
	r.runAllocation("low2", "n2", 0, 1)
	r.runAllocation("bound", "n3", 0, 4)
	r.Step(r.now, scheduler.SetSchedulable{Node: "n4"})
	got := r.dryRunOf(t, scheduler.DryRunRequest{Ask: r.ask("new", 50, 4), Node: "n2"})
	assert.Equal(t, got.Outcome, scheduler.WouldPreempt)
	assert.Equal(t, got.Node, objects.NodeID("n3"))
	assert.Equal(t, got.CandidatesNode, objects.NodeID("n2"))
	assert.DeepEqual(t, candidateReasons(got.Candidates),
		map[string]string{"half": "has too high a priority", "low2": "eligible"})

	r.release(0, "bound", scheduler.StoppedByRM)
	r.runAllocation("now-vip", "n3", 70, 4)
	got = r.dryRunOf(t, scheduler.DryRunRequest{Ask: r.ask("new", 50, 4)})
	assert.Equal(t, got.Outcome, scheduler.WouldNotFit)
	search := got.Searches[0]
	assert.Equal(t, search.NoPlanReasons[victim.NoEligibleVictim], 2)
	assert.Equal(t, search.NoPlanReasons[victim.TooLittleFreed], 1)
	assert.Equal(t, search.Infeasible, 1) // n4 is unschedulable
	assert.Equal(t, search.TotalNodes, 4)
}

// What protects the allocations of one node does not count for the next node.
func TestDryRun_GuaranteeIsNoPlanReasonPerNode(t *testing.T) {
	r := guaranteedQueueCore(t)
	conf := r.Partition().Config()
	conf.Root.Children = slices.Clone(conf.Root.Children) // configurations in force are immutable
	conf.Root.Children[1].Guaranteed = guaranteeOf(8)     // root.a, which uses all of n1
	r.Step(r.now, scheduler.UseConfig{Partition: conf})
	for _, n := range []objects.NodeID{"n2", "n3"} {
		r.Step(r.now, scheduler.AddNode{Node: n, Total: amountsFromMap(map[string]int64{"vcore": 8}), Schedulable: true})
	}
	r.Step(r.now, scheduler.AddApplication{App: "of-rock", User: security.User{Name: "ann"}, Queue: "root.short"})
	r.Step(r.now, scheduler.AddApplication{App: "of-sand", User: security.User{Name: "ann"}, Queue: "root.short"})
	r.Step(r.now, scheduler.ReportAllocation{Ask: r.ask("rock", 60, 7), Node: "n2"})
	r.Step(r.now, scheduler.ReportAllocation{Ask: r.ask("sand", 0, 1), Node: "n2"})
	r.Step(r.now, scheduler.SetSchedulable{Node: "n3"})
	got := r.dryRunOf(t, scheduler.DryRunRequest{
		Ask: r.ask("new", 50, 3), AssumeDelayPassed: true,
		Applicant: objects.HypotheticalOwner{User: security.User{Name: "eve"}, Queue: "root.guaranteed"},
	})
	assert.Equal(t, got.Outcome, scheduler.WouldNotFit)
	assert.DeepEqual(t, got.Searches[0].NoPlanReasons,
		map[victim.NoPlanReason]int{victim.BlockedByGuarantee: 1, victim.TooLittleFreed: 1})
}

// Each search has its own counts of nodes.
func TestDryRun_SearchesCountNodesEachForItself(t *testing.T) {
	r := guaranteedQueueCore(t)
	conf := r.Partition().Config()
	conf.Root.Children = slices.Clone(conf.Root.Children) // configurations in force are immutable
	conf.Root.Children[0].PriorityPreemption = policies.PriorityPreemptionFence
	conf.Root.Children[1].Guaranteed = guaranteeOf(8) // root.a, which uses all of n1
	r.Step(r.now, scheduler.UseConfig{Partition: conf})
	r.Step(r.now, scheduler.AddNode{Node: "n2", Total: amountsFromMap(map[string]int64{"vcore": 1}), Schedulable: true})
	r.Step(r.now, scheduler.AddApplication{App: "of-own", User: security.User{Name: "ann"}, Queue: "root.guaranteed"})
	r.Step(r.now, scheduler.ReportAllocation{Ask: r.ask("own", 0, 1), Node: "n2"})
	got := r.dryRunOf(t, scheduler.DryRunRequest{
		Ask: r.ask("new", 50, 1), AssumeDelayPassed: true,
		Applicant: objects.HypotheticalOwner{User: security.User{Name: "eve"}, Queue: "root.guaranteed"},
	})
	assert.Equal(t, len(got.Searches), 2)
	assert.DeepEqual(t, got.Searches[0].NodeOutcomes, &victim.NodeOutcomes{NoPlan: 2})
	assert.DeepEqual(t, got.Searches[1].NodeOutcomes, &victim.NodeOutcomes{NoPlan: 1, Compared: 1})
}

// What has just begun is no victim until the time that search and candidate say (PRE-124), or the last one (PRE-123).
func TestDryRun_MinimumRunTimes(t *testing.T) {
	r := newPreemptCore(t, objects.DefaultOptions(), nil, "n1", "n2")
	setMinRuntime := func(strict bool) {
		conf := r.Partition().Config()
		conf.Root.Children = slices.Clone(conf.Root.Children) // configurations in force are immutable
		conf.Root.Children[0].MinRuntime, conf.Root.Children[0].MinRuntimeStrict = 90*time.Second, strict
		r.Step(r.now, scheduler.UseConfig{Partition: conf})
	}
	r.runAllocation("first", "n1", 0, 4)
	r.now = r.now.Add(10 * time.Second)
	r.runAllocation("second", "n2", 0, 4)

	setMinRuntime(true)
	got := r.dryRunOf(t, scheduler.DryRunRequest{Ask: r.ask("new", 50, 4), Node: "n2"})
	search, end := got.Searches[0], objects.TimestampOf(epoch.Add(30*time.Second))
	assert.Equal(t, got.Outcome, scheduler.WouldNotFit)
	assert.DeepEqual(t, search.NoPlanReasons, map[victim.NoPlanReason]int{victim.BlockedByMinRuntime: 2})
	assert.Equal(t, search.YoungUntil, end)
	assert.DeepEqual(t, candidateReasons(got.Candidates),
		map[string]string{"second": "has run for less than its minimum run time"})
	assert.Equal(t, got.Candidates[0].YoungUntil, objects.TimestampOf(epoch.Add(40*time.Second)))

	setMinRuntime(false)
	got = r.dryRunOf(t, scheduler.DryRunRequest{Ask: r.ask("new", 50, 4)})
	assert.Equal(t, got.Searches[0].BestPlans[0].Young, 1)
	r.now = end.Time()
	got = r.dryRunOf(t, scheduler.DryRunRequest{Ask: r.ask("new", 50, 4)})
	assert.Equal(t, got.Node, objects.NodeID("n1"))
	assert.Equal(t, got.Searches[0].BestPlans[0].Young, 0)
}

// The best plans are listed in order, ten at most.
func TestDryRun_BestPlansAreListed(t *testing.T) {
	r := newPreemptCore(t, objects.DefaultOptions(), nil)
	for i := range 15 {
		n := objects.NodeID(rune('a' + i))
		r.Step(r.now, scheduler.AddNode{Node: n, Total: amountsFromMap(map[string]int64{"vcore": 4}), Schedulable: true})
		r.runAllocation("of-"+string(n), n, 7, int64(4-i%2)) // equal costs
	}
	got := r.dryRunOf(t, scheduler.DryRunRequest{Ask: r.ask("new", 50, 4)}).Searches[0]
	assert.Equal(t, len(got.BestPlans), victim.MaxBestPlans)
	assert.Equal(t, got.NodeOutcomes.Compared, 15)
	assert.Assert(t, slices.IsSortedFunc(got.BestPlans, func(a, b preemption.Plan) int {
		return compareStrings(string(a.Node), string(b.Node)) // the nodes differ by name only
	}))
	assert.Equal(t, got.BestPlans[0].Node, objects.NodeID("a"))
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

// guaranteedQueueCore is a core with the leaf root.guaranteed, which is guaranteed 4 vcores, and other leaves
// that use the whole cluster.
func guaranteedQueueCore(t *testing.T) *preemptCore {
	queue := func(name string, guaranteed int64, rules ...limits.Limit) configs.Queue {
		q := configs.Queue{Name: name, Settings: configs.DefaultSettings(), Limits: rules}
		q.Guaranteed = guaranteeOf(guaranteed)
		return q
	}
	limited := queue("limited", 0, limits.Limit{Users: []string{"eve"}, MaxResources: limitOf(2)})
	limited.PriorityPreemption = policies.PriorityPreemptionFence
	short := queue("short", 0)
	short.Max, short.MaxApplications, short.PriorityPreemption = limitOf(2), 1, policies.PriorityPreemptionFence
	r := &preemptCore{now: epoch,
		Core: scheduler.New(configs.Partition{Name: "default", PreemptionEnabled: true, Root: configs.Queue{
			Name: "root", Parent: true, SubmitACL: security.Everyone(), Settings: configs.DefaultSettings(),
			Children: []configs.Queue{queue("guaranteed", 4), queue("a", 0), limited, short},
		}}, nil)}
	r.Step(r.now, scheduler.AddNode{Node: "n1", Total: amountsFromMap(map[string]int64{"vcore": 8}), Schedulable: true})
	r.runAllocation("one", "n1", 0, 4)
	r.runAllocation("two", "n1", 0, 4)
	return r
}

// A dry run reports why an ask is not entitled, with the quotas and limits that block it.
func TestDryRun_Entitlements(t *testing.T) {
	for _, c := range []struct {
		name, queue string
		vcore       int64
		waited      bool
		never       bool
		outcome     scheduler.DryRunOutcome
		guarantee   preemption.NotEntitledReason
		of          objects.QueuePath // the queue of the guarantee or the delay
		priority    preemption.NotEntitledReason
	}{
		{"its queue is below its guarantee", "root.guaranteed", 4, true, false, scheduler.WouldPreempt, preemption.Entitled,
			"root.guaranteed", preemption.NotEntitledPriorityDisabled},
		{"its delay has not ended", "root.guaranteed", 4, false, false, scheduler.WouldNotFit, preemption.NotEntitledDelay,
			"root.guaranteed", preemption.NotEntitledPriorityDisabled},
		{"it exceeds the guarantee", "root.guaranteed", 5, true, false, scheduler.WouldNotFit,
			preemption.NotEntitledAboveGuarantee, "root.guaranteed", preemption.NotEntitledPriorityDisabled},
		{"nothing is guaranteed", "root.a", 1, true, false, scheduler.WouldNotFit, preemption.NotEntitledNoGuarantee, "",
			preemption.NotEntitledPriorityDisabled},
		{"it may not preempt", "root.guaranteed", 1, true, true, scheduler.WouldNotFit, preemption.NotEntitledPolicy, "",
			preemption.NotEntitledPolicy},
		{"its limit blocks it", "root.limited", 3, true, false, scheduler.WouldNotFit, preemption.NotEntitledNoGuarantee, "",
			preemption.Entitled},
		{"its limit allows it", "root.limited", 2, true, false, scheduler.WouldPreempt, preemption.NotEntitledNoGuarantee, "",
			preemption.Entitled},
		{"another application of the user blocks it", "root.limited", 1, true, false, scheduler.WouldNotFit,
			preemption.NotEntitledNoGuarantee, "", preemption.Entitled},
		{"the max of its queue blocks it", "root.short", 3, true, false, scheduler.WouldNotFit,
			preemption.NotEntitledNoGuarantee, "", preemption.Entitled},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := guaranteedQueueCore(t)
			if strings.HasPrefix(c.name, "another") { // it uses the whole limit, and has higher priority
				r.Step(r.now, scheduler.AddApplication{App: "eve", User: security.User{Name: "eve"}, Queue: "root.limited"})
				held := r.ask("held", 60, 2)
				held.App = "eve"
				r.Step(r.now, scheduler.ReportAllocation{Ask: held, Node: "n1"})
			}
			ask := r.ask("new", 50, c.vcore)
			ask.Created, ask.Policy = 0, ask.Policy.With(objects.PolicyAllowPreemptOther, !c.never)
			applicant := objects.HypotheticalOwner{User: security.User{Name: "eve"}, Queue: objects.QueuePath(c.queue)}
			got := r.dryRunOf(t, scheduler.DryRunRequest{Ask: ask, Applicant: applicant, AssumeDelayPassed: c.waited})
			assert.Equal(t, got.Outcome, c.outcome)
			assert.Equal(t, len(got.Entitlements), 3)
			assert.Equal(t, got.Entitlements[1].NotEntitled, c.guarantee)
			assert.Equal(t, got.Entitlements[1].Queue, c.of)
			assert.Equal(t, got.Entitlements[2].NotEntitled, c.priority)
			var over []preemption.OverGuarantee
			if c.guarantee == preemption.NotEntitledAboveGuarantee {
				over = []preemption.OverGuarantee{{Resource: "vcore", Requested: 5, Guaranteed: 4}}
			}
			assert.DeepEqual(t, got.Entitlements[1].Over, over)
			if c.guarantee == preemption.NotEntitledDelay {
				assert.Equal(t, got.Entitlements[1].Due.Time(), epoch.Add(configs.DefaultSettings().PreemptionDelay))
			}
			// a quota blocks it on every node
			if c.outcome == scheduler.WouldNotFit && c.priority == preemption.Entitled && c.vcore > 2 {
				tried := got.Searches[0]
				assert.Equal(t, tried.NoPlanReasons[victim.BlockedByQuota], 1)
				assert.Equal(t, len(tried.BlockingQuotas) > 0, true)
				last := tried.BlockingQuotas[0]
				assert.DeepEqual(t, last.Shortfall.Map(), amountsFromMap(map[string]int64{"vcore": c.vcore - 2}).Map())
			}
		})
	}
}

// An application that does not exist may not start either where maxapplications is reached (PRE-4).
func TestDryRun_ApplicationThatMayNotStart(t *testing.T) {
	r := guaranteedQueueCore(t)
	r.Step(r.now, scheduler.AddApplication{App: "first", User: security.User{Name: "ann"}, Queue: "root.short"})
	ask := r.ask("runs", 0, 1)
	ask.App = "first"
	r.Step(r.now, scheduler.ReportAllocation{Ask: ask, Node: "n1"})
	got := r.dryRunOf(t, scheduler.DryRunRequest{
		Ask: r.ask("new", 50, 1), Applicant: objects.HypotheticalOwner{User: security.User{Name: "eve"}, Queue: "root.short"},
	})
	assert.Equal(t, got.Outcome, scheduler.WouldNotStart)
	assert.Equal(t, got.Verdict, "queue root.short runs as many applications as it may")
	assert.Equal(t, len(got.Searches), 0)
}

func TestDryRun_Errors(t *testing.T) {
	r := guaranteedQueueCore(t)
	eve := security.User{Name: "eve"}
	for _, c := range []struct {
		name, want string
		h          scheduler.DryRunRequest
	}{
		{"an unknown ask", "unknown pending ask k", scheduler.DryRunRequest{Key: "k"}},
		{"an ask that runs", "unknown pending ask one", scheduler.DryRunRequest{Key: "one"}},
		{"an unknown queue", "the ask would be rejected: unknown queue root.x",
			scheduler.DryRunRequest{Ask: r.ask("new", 0, 1), Applicant: objects.HypotheticalOwner{User: eve, Queue: "root.x"}}},
		{"a parent queue", "the ask would be rejected: queue root is not a leaf queue",
			scheduler.DryRunRequest{Ask: r.ask("new", 0, 1), Applicant: objects.HypotheticalOwner{User: eve, Queue: "root"}}},
		{"no resources", "the ask would be rejected: contains no resources",
			scheduler.DryRunRequest{Ask: r.ask("new", 0, 0), Applicant: objects.HypotheticalOwner{User: eve, Queue: "root.a"}}},
		{"negative resources", "the ask would be rejected: contains negative resources",
			scheduler.DryRunRequest{Ask: r.ask("new", 0, -1), Applicant: objects.HypotheticalOwner{User: eve, Queue: "root.a"}}},
		{"an unknown node", "unknown node n9", scheduler.DryRunRequest{Key: "one", Node: "n9"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := r.DryRun(c.h, r.now)
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

// A dry run rejects what a submission would reject (PRE-116).
func TestDryRun_RejectsAClassWherePrioritiesAreOff(t *testing.T) {
	conf, problems := queuesyaml.Load([]byte("partitions: [{priority: disabled, queues: [{name: root, submitacl: '*', " +
		"queues: [{name: a}]}]}]"))
	assert.Assert(t, conf != nil, "%v", problems)
	core := scheduler.New(conf.Partitions[0], nil)
	core.Step(epoch, scheduler.AddApplication{App: "x", Queue: "root.a"})
	h := scheduler.DryRunRequest{Ask: &objects.Ask{Key: "k", App: "x", Amounts: vcores(1)}, Class: "high"}
	_, err := core.DryRun(h, epoch)
	assert.NilError(t, err, "the ask does not name the default class")
	h.NamedClass = "high"
	_, err = core.DryRun(h, epoch)
	assert.ErrorIs(t, err, scheduler.ErrWouldBeRejected)
	assert.ErrorContains(t, err, "priority-disabled")
}
