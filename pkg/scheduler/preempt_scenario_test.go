package scheduler_test

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"testing"
	"time"

	"gotest.tools/v3/assert"

	"github.com/canopy-scheduler/canopy/pkg/budgets"
	"github.com/canopy-scheduler/canopy/pkg/objects"
	"github.com/canopy-scheduler/canopy/pkg/priorities"
	"github.com/canopy-scheduler/canopy/pkg/resources"
	"github.com/canopy-scheduler/canopy/pkg/scheduler"
	"github.com/canopy-scheduler/canopy/pkg/security"
)

// preemptScenario is a scenario of preemption: one pending ask in a full cluster, and its victims. Without
// queues everything is in one leaf with preemption by priority.
type preemptScenario struct {
	scenarioHeader
	Given struct {
		Queues    []scenarioQueue
		Nodes     []scenarioNode
		Running   []scenarioAllocation
		Nominated []scenarioAllocation
		Ask       scenarioAllocation

		Budgets []struct {
			Name, Namespace string
			Selector        map[string]string
			Allowed         int32
		}
		Groups []struct {
			Name     string
			Priority int32
			Unit     string // all: a victim group; or single
		}
		Gang *struct {
			Name     string
			Priority int32
			Members  []scenarioAllocation
		}
	}
	Expect struct {
		Action  string // preempt or none
		Node    objects.NodeID
		Victims []string
		By      string // the preemption reason of the plan; empty: any
		Reason  string // of the system that the scenario was observed on, not checked

		BudgetViolations   int                     // victims beyond what a budget allows
		NominationsCleared []objects.AllocationKey // asks that lose their node to this ask
	}
}

type scenarioNode struct {
	Name          string
	Capacity      map[string]int64
	Labels        map[string]string
	Unschedulable bool
}

type scenarioAllocation struct {
	scenarioAsk
	Labels, NodeSelector map[string]string
	State                string // terminating-preempted, terminating or none
	Originator           bool
	AllowPreemptSelf     *bool // nil: true
	PreemptionPolicy     string
	RequiredNode         string
	Group                string
	Namespace, QoS       string
	NominatedNode        objects.NodeID
	Constraints          []struct {
		Type        string // affinity or anti-affinity
		MatchLabels map[string]string
		Scope       string // node
	}
}

func (v scenarioAllocation) ask() *objects.Ask {
	x := v.scenarioAsk.ask()
	amounts := map[string]resources.Quantity{"pods": 1}
	for name, n := range v.Request {
		amounts[name] = resources.Quantity(n)
	}
	x.Amounts = resources.FromMap(amounts)
	x.Policy = objects.PolicySent.With(objects.PolicyAllowPreemptSelf, v.AllowPreemptSelf == nil || *v.AllowPreemptSelf).
		With(objects.PolicyAllowPreemptOther, v.PreemptionPolicy != "Never")
	x.Originator = v.Originator
	tags := map[string]string{budgets.NamespaceTag: cmp.Or(v.Namespace, "default"), priorities.QoSTag: v.QoS}
	for key, value := range v.Labels {
		tags[budgets.LabelTag+key] = value
	}
	x.Details = &objects.AskDetails{TaskGroup: v.Group, RequiredNode: objects.NodeID(v.RequiredNode), Tags: tags}
	return x
}

// withQueueAndApp is v with a leaf and an application, its own application unless it names one.
func (v scenarioAllocation) withQueueAndApp() scenarioAllocation {
	if v.Queue == "" {
		v.Queue = "root.default"
	}
	switch {
	case v.App != "":
	case v.Group != "":
		v.App = "app-" + v.Group
	default:
		v.App = "app-" + v.Key
	}
	return v
}

// labelOracle is a resource manager with node selectors, affinity and anti-affinity.
type labelOracle struct {
	nodes   map[objects.NodeID]map[string]string
	asks    map[objects.AllocationKey]scenarioAllocation
	running []scenarioAllocation
	gone    map[objects.AllocationKey]bool
}

func (l labelOracle) Fits(ask objects.AllocationKey, node objects.NodeID) bool {
	return l.FitsWithout(ask, node, nil)
}

func (l labelOracle) FitsWithout(ask objects.AllocationKey, node objects.NodeID, victims []objects.AllocationKey) bool {
	if !matches(l.nodes[node], l.asks[ask].NodeSelector) {
		return false
	}
	for _, c := range l.asks[ask].Constraints {
		matched := slices.ContainsFunc(l.running, func(v scenarioAllocation) bool {
			return objects.NodeID(v.Node) == node && matches(v.Labels, c.MatchLabels) && !l.gone[objects.AllocationKey(v.Key)] &&
				!slices.Contains(victims, objects.AllocationKey(v.Key))
		})
		if matched != (c.Type == "affinity") {
			return false
		}
	}
	return true
}

func matches(labels, wanted map[string]string) bool {
	for name, value := range wanted {
		if labels[name] != value {
			return false
		}
	}
	return true
}

// preemptCase is a scenario that was set up, with its ask or the members of its gang pending.
type preemptCase struct {
	*scenarioCore
	oracle labelOracle
	asks   []*objects.Allocation
}

func runPreemptScenario(t *testing.T, s preemptScenario) {
	assert.Assert(t, s.Expect.Action == "preempt" || s.Expect.Action == "none")
	if s.Expect.NominationsCleared != nil {
		checkClearedNominations(t, s)
	}
	st := newPreemptCase(t, s)
	x, part := st.asks[0], st.core.Partition()
	now := epoch.Add(time.Hour) // older than any delay
	dryRun, err := st.core.DryRun(scheduler.DryRunRequest{Key: x.Key()}, now)
	assert.NilError(t, err)
	defer func() { checkDryRun(t, s, st.core, dryRun) }()
	var victims []string
	for range 5 {
		effects, _ := st.core.Schedule(now, 100)
		for _, e := range effects {
			if r, ok := e.(scheduler.Released); ok {
				assert.Equal(t, r.Type, scheduler.PreemptedByScheduler)
				victims = append(victims, string(r.Key))
			}
		}
		assert.NilError(t, st.core.Check())
		now = now.Add(10 * time.Second)
	}
	want := s.Expect.Victims
	slices.Sort(victims)
	slices.Sort(want)
	assert.DeepEqual(t, victims, append([]string(nil), want...))
	assert.Assert(t, x.Pending(), "the ask was placed before its victims ended")
	if s.Expect.Action == "none" {
		return
	}
	if s.Given.Gang == nil {
		assert.Equal(t, part.Nomination(x).ID(), s.Expect.Node)
	}
	for _, key := range victims { // the ask gets the node when its victims have ended
		v, _ := part.Allocation(objects.AllocationKey(key))
		st.oracle.gone[v.Key()] = true
		st.core.Step(now, scheduler.Release{App: v.Ask().App, Key: v.Key(), Type: scheduler.PreemptedByScheduler})
	}
	st.core.Schedule(now, 100)
	for _, x := range st.asks {
		assert.Assert(t, !x.Pending())
	}
	if s.Given.Gang == nil {
		assert.Equal(t, x.Node().ID(), s.Expect.Node)
	}
}

func newPreemptCase(t *testing.T, s preemptScenario) *preemptCase {
	st := &preemptCase{scenarioCore: &scenarioCore{queues: s.Given.Queues}}
	if len(st.queues) == 0 {
		st.queues = []scenarioQueue{{Path: "root.default", Properties: map[string]string{
			"preemption.priority": "leaf", "preemption.gang": "enabled", "preemption.victim.unit": "taskgroup",
		}}}
		if s.Topic == "qos-order" {
			st.queues[0].Properties["preemption.victim.qos"] = "enabled"
		}
	}
	st.oracle = labelOracle{map[objects.NodeID]map[string]string{}, map[objects.AllocationKey]scenarioAllocation{},
		s.Given.Running, map[objects.AllocationKey]bool{}}
	conf := st.config(t)
	conf.Budgets = s.budgets(t)
	st.core = scheduler.New(conf, &objects.Oracle{Fits: st.oracle.Fits, FitsWithout: st.oracle.FitsWithout})
	for _, n := range s.Given.Nodes {
		st.oracle.nodes[objects.NodeID(n.Name)] = n.Labels
		total := maps.Clone(n.Capacity)
		total["pods"] = 110
		st.mustApply(t,
			scheduler.AddNode{Node: objects.NodeID(n.Name), Total: amountsFromMap(total), Schedulable: !n.Unschedulable})
	}
	for _, g := range s.Given.Groups {
		assert.Equal(t, g.Unit, "all")
		st.mustApply(t, scheduler.AddApplication{
			App: objects.AppID("app-" + g.Name), User: security.User{Name: "ann"}, Queue: "root.default",
			Tags: map[string]string{objects.TagGroupPriority: fmt.Sprint(g.Priority)},
		})
	}
	part := st.core.Partition()
	var terminating []*objects.Allocation
	for _, v := range s.Given.Running {
		v = v.withQueueAndApp()
		st.application(t, v.scenarioAsk)
		st.mustApply(t, scheduler.ReportAllocation{Ask: v.ask(), Node: objects.NodeID(v.Node)})
		if v.State == "terminating-preempted" {
			x, _ := part.Allocation(objects.AllocationKey(v.Key))
			terminating = append(terminating, x)
		}
	}
	nominate := func(x *objects.Allocation, on objects.NodeID) {
		n, ok := part.Node(on)
		assert.Assert(t, ok)
		part.Preempt(x, n, terminating, epoch.Add(time.Hour))
	}
	for _, v := range s.nominees() {
		nominate(st.ask(t, v), objects.NodeID(v.Node))
	}
	if g := s.Given.Gang; g != nil {
		for _, v := range g.Members {
			v.Priority, v.Group = g.Priority, g.Name
			st.asks = append(st.asks, st.ask(t, v))
		}
		return st
	}
	st.asks = append(st.asks, st.ask(t, s.Given.Ask))
	if on := s.Given.Ask.NominatedNode; on != "" {
		nominate(st.asks[0], on)
	}
	return st
}

func (st *preemptCase) ask(t *testing.T, v scenarioAllocation) *objects.Allocation {
	v = v.withQueueAndApp()
	st.oracle.asks[objects.AllocationKey(v.Key)] = v
	st.application(t, v.scenarioAsk)
	st.mustApply(t, scheduler.SubmitAsk{Ask: v.ask()})
	x, ok := st.core.Partition().Allocation(objects.AllocationKey(v.Key))
	assert.Assert(t, ok)
	return x
}

// nominees are the nominated asks by descending priority: a nomination ends those of lower priority for the
// same node, and all of them exist when the scenario begins.
func (s preemptScenario) nominees() []scenarioAllocation {
	return slices.SortedStableFunc(slices.Values(s.Given.Nominated),
		func(a, b scenarioAllocation) int { return cmp.Compare(b.Priority, a.Priority) })
}

func (s preemptScenario) budgets(t *testing.T) budgets.Registry {
	var all []budgets.Budget
	for _, b := range s.Given.Budgets {
		all = append(all, budgets.Budget{
			Name: b.Name, Namespace: cmp.Or(b.Namespace, "default"), Selector: budgets.NewSelector(b.Selector, nil),
			Allowance: budgets.Allowance{Kind: budgets.Allowed, N: b.Allowed},
		})
	}
	r, err := budgets.New(all...)
	assert.NilError(t, err)
	return r
}

// checkClearedNominations checks whose nominations end when the ask is nominated. It calls the partition,
// because Schedule would place nominees that fit before any evaluation.
func checkClearedNominations(t *testing.T, s preemptScenario) {
	st := newPreemptCase(t, s)
	part := st.core.Partition()
	n, ok := part.Node(s.Expect.Node)
	assert.Assert(t, ok)
	var victims []*objects.Allocation
	for _, key := range s.Expect.Victims {
		v, ok := part.Allocation(objects.AllocationKey(key))
		assert.Assert(t, ok)
		victims = append(victims, v)
	}
	var remaining []objects.AllocationKey
	for _, v := range s.nominees() {
		if key := objects.AllocationKey(v.Key); !slices.Contains(s.Expect.NominationsCleared, key) {
			remaining = append(remaining, key)
		}
	}
	assert.DeepEqual(t, keysOf(part.Preempt(st.asks[0], n, victims, epoch.Add(time.Hour))), s.Expect.NominationsCleared)
	assert.DeepEqual(t, keysOf(part.Nominees()), append(remaining, st.asks[0].Key()))
	st.core.Step(epoch.Add(time.Hour), scheduler.Wake{})
	assert.NilError(t, st.core.Check())
}

// In a full cluster the resources of a nominee of lower priority are no obstacle, neither on the node nor
// in a quota (PRE-76).
func TestNomination_S3_32HigherPriorityAskTakesTheNode(t *testing.T) {
	st := &scenarioCore{queues: []scenarioQueue{{Path: "root.default", Max: map[string]int64{"vcore": 4},
		Properties: map[string]string{"preemption.priority": "leaf"}}}}
	st.core = scheduler.New(st.config(t), nil)
	st.mustApply(t, scheduler.AddNode{Node: "n1", Total: amountsFromMap(map[string]int64{"vcore": 4}), Schedulable: true})
	ask := func(key string, priority int32) scenarioAsk {
		return scenarioAsk{Key: key, App: key, Queue: "root.default", Priority: priority,
			Request: map[string]int64{"vcore": 4}}
	}
	submit := func(key string, priority int32) *objects.Allocation {
		w := ask(key, priority)
		st.application(t, w)
		x := w.ask()
		x.Policy = objects.PolicySent | objects.PolicyAllowPreemptOther
		st.mustApply(t, scheduler.SubmitAsk{Ask: x})
		st.core.Schedule(epoch, 10)
		found, _ := st.core.Partition().Allocation(x.Key)
		return found
	}
	v := submit("v", 0)
	low := submit("low", 10)
	part := st.core.Partition()
	assert.Assert(t, part.Preempting(v) && part.Nomination(low) != nil)
	high := submit("high", 20)
	assert.Assert(t, part.Nomination(low) == nil)
	assert.Equal(t, part.Nomination(high).ID(), objects.NodeID("n1"))
	st.core.Step(epoch, scheduler.Release{App: "v", Key: "v", Type: scheduler.PreemptedByScheduler})
	st.core.Schedule(epoch, 10)
	assert.Assert(t, !high.Pending() && low.Pending())
	assert.NilError(t, st.core.Check())
}

func keysOf(list []*objects.Allocation) (keys []objects.AllocationKey) {
	for _, x := range list {
		keys = append(keys, x.Key())
	}
	return keys
}

// acceptsOnlyBeforeRelease is a resource manager that refuses an ask once its victims have ended.
type acceptsOnlyBeforeRelease struct{ key objects.AllocationKey }

func (f acceptsOnlyBeforeRelease) Fits(ask objects.AllocationKey, _ objects.NodeID) bool {
	return ask != f.key
}

func (acceptsOnlyBeforeRelease) FitsWithout(objects.AllocationKey, objects.NodeID, []objects.AllocationKey) bool {
	return true
}

// A nomination that the resource manager refuses is given up, and other asks may have the node (PRE-80).
func TestNomination_InfeasibleNominationIsGivenUp(t *testing.T) {
	st := &scenarioCore{queues: []scenarioQueue{{Path: "root.default",
		Properties: map[string]string{"preemption.priority": "leaf"}}}}
	st.core = scheduler.New(st.config(t), acceptsOnlyBeforeRelease{"high"}.oracle())
	st.mustApply(t, scheduler.AddNode{Node: "n1", Total: amountsFromMap(map[string]int64{"vcore": 1}), Schedulable: true})
	part := st.core.Partition()
	submit := func(key string, priority int32) *objects.Allocation {
		v := scenarioAllocation{scenarioAsk: scenarioAsk{Key: key, App: key, Queue: "root.default", Priority: priority,
			Request: map[string]int64{"vcore": 1}}}
		st.application(t, v.scenarioAsk)
		ask := v.ask()
		ask.Amounts = amountsFromMap(v.Request)
		st.mustApply(t, scheduler.SubmitAsk{Ask: ask})
		x, _ := part.Allocation(objects.AllocationKey(key))
		return x
	}
	first := submit("first", 0)
	st.core.Schedule(epoch, 10)
	high, low := submit("high", 100), submit("low", 0)
	st.core.Schedule(epoch, 10)
	assert.Assert(t, part.Preempting(first) && part.Nomination(high) != nil)

	st.mustApply(t, scheduler.Release{App: "first", Key: "first", Type: scheduler.PreemptedByScheduler})
	st.core.Schedule(epoch, 10)
	assert.Assert(t, high.Pending() && part.Nomination(high) == nil)
	assert.Assert(t, !low.Pending(), "the node is not free for others")
	assert.NilError(t, st.core.Check())
}

func (f acceptsOnlyBeforeRelease) oracle() *objects.Oracle {
	return &objects.Oracle{Fits: f.Fits, FitsWithout: f.FitsWithout}
}

// rejectsOnePreemption is a resource manager that refuses preemption by one ask.
type rejectsOnePreemption struct{ key objects.AllocationKey }

func (rejectsOnePreemption) Fits(objects.AllocationKey, objects.NodeID) bool { return true }

func (c rejectsOnePreemption) FitsWithout(ask objects.AllocationKey, _ objects.NodeID, _ []objects.AllocationKey) bool {
	return ask != c.key
}

// countsAndRejects is a resource manager that refuses preemption by any ask, and counts its answers for
// each.
type countsAndRejects map[objects.AllocationKey]int

func (countsAndRejects) Fits(objects.AllocationKey, objects.NodeID) bool { return true }

func (a countsAndRejects) FitsWithout(ask objects.AllocationKey, _ objects.NodeID, _ []objects.AllocationKey) bool {
	a[ask]++
	return false
}

// An evaluation asks the resource manager about at most eight refused asks of a group, and the next
// evaluation about the next: all are asked about before one is asked about again (PRE-96).
func TestPreemption_EvaluationBoundsRefusedAsks(t *testing.T) {
	rm := countsAndRejects{}
	st := &scenarioCore{queues: []scenarioQueue{{Path: "root.default",
		Properties: map[string]string{"preemption.priority": "leaf"}}}}
	conf := st.config(t)
	conf.Reservation.Enabled = false
	st.core = scheduler.New(conf, &objects.Oracle{Fits: rm.Fits, FitsWithout: rm.FitsWithout})
	st.mustApply(t, scheduler.AddNode{Node: "n1", Total: amountsFromMap(map[string]int64{"vcore": 1}), Schedulable: true})
	submit := func(key, app string, priority int32, start int64) {
		w := scenarioAsk{Key: key, App: app, Queue: "root.default", Priority: priority, Start: start,
			Request: map[string]int64{"vcore": 1}}
		st.application(t, w)
		x := w.ask()
		x.Policy = objects.PolicySent | objects.PolicyAllowPreemptOther
		st.mustApply(t, scheduler.SubmitAsk{Ask: x})
	}
	submit("low", "low", 0, 0)
	now := epoch
	st.core.Schedule(now, 10)
	const asks = 1000
	for i := range asks {
		submit(fmt.Sprintf("ask-%03d", i), "high", 10, 1)
	}
	now = now.Add(time.Second) // the waiting states are evaluated in the first run
	for evaluation := 1; evaluation <= asks/8; evaluation++ {
		st.core.Schedule(now, 10)
		assert.Equal(t, len(rm), 8*evaluation)
		at, ok := st.core.NextDeadline()
		assert.Assert(t, ok && at.Equal(now.Add(5*time.Second)), "without a change, the next evaluation is at %s", at)
		now = at
	}
	times := rm["ask-000"]
	for key, n := range rm {
		assert.Equal(t, n, times, "%s", key)
	}
	st.core.Schedule(now, 10)
	assert.Equal(t, rm["ask-000"], 2*times, "the next evaluation begins with the first ask")
	assert.NilError(t, st.core.Check())
}

// An answer of the resource manager holds for one ask only, so the next of its group is evaluated at once
// (PRE-96).
func TestPreemption_RefusedAskDoesNotBlockLaterAsks(t *testing.T) {
	st := &scenarioCore{queues: []scenarioQueue{{Path: "root.default",
		Properties: map[string]string{"preemption.priority": "leaf"}}}}
	rm := rejectsOnePreemption{"first"}
	st.core = scheduler.New(st.config(t), &objects.Oracle{Fits: rm.Fits, FitsWithout: rm.FitsWithout})
	st.mustApply(t, scheduler.AddNode{Node: "n1", Total: amountsFromMap(map[string]int64{"vcore": 1}), Schedulable: true})
	submit := func(key, app string, priority int32, start int64) {
		w := scenarioAsk{Key: key, App: app, Queue: "root.default", Priority: priority, Start: start,
			Request: map[string]int64{"vcore": 1}}
		st.application(t, w)
		x := w.ask()
		x.Policy = objects.PolicySent | objects.PolicyAllowPreemptOther
		st.mustApply(t, scheduler.SubmitAsk{Ask: x})
	}
	submit("low", "low", 0, 0)
	st.core.Schedule(epoch, 10)
	submit("first", "high", 10, 1)
	submit("second", "high", 10, 2)
	st.core.Schedule(epoch, 10)
	assert.DeepEqual(t, keysOf(st.core.Partition().Nominees()), []objects.AllocationKey{"second"})
	assert.NilError(t, st.core.Check())
}
