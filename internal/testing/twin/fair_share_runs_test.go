package twin

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/canopy-scheduler/canopy/internal/testing/randomrun"
	"github.com/canopy-scheduler/canopy/internal/testing/testscale"
	"github.com/canopy-scheduler/canopy/pkg/configs"
	"github.com/canopy-scheduler/canopy/pkg/objects"
	"github.com/canopy-scheduler/canopy/pkg/policies"
	"github.com/canopy-scheduler/canopy/pkg/preemption/victim"
	"github.com/canopy-scheduler/canopy/pkg/resources"
	"github.com/canopy-scheduler/canopy/pkg/scheduler"
	"github.com/canopy-scheduler/canopy/pkg/security"
)

const fairShareConfig = `partitions: [{name: default, limits: [{limit: u, users: [u], maxresources: {gpu: 9}}],
  queues: [{name: root, submitacl: '*', properties: {preemption.delay: 100ms}, queues: [
  {name: a, resources: {guaranteed: {gpu: 4, vcore: 9m}}},
  {name: b, resources: {max: {gpu: 10}}},
  {name: c, resources: {guaranteed: {vcore: 30%}, max: {memory: 24}}, queues: [
    {name: d, resources: {guaranteed: {gpu: 2, memory: 4}, max: {gpu: 7}}},
    {name: e, resources: {max: {vcore: 35%}}}]},
  {name: f, resources: {guaranteed: {memory: 10}}, limits: [{limit: w, users: [w], maxresources: {gpu: 2}}], queues: [
    {name: g, queues: [{name: h}, {name: i, resources: {guaranteed: {gpu: 2, memory: 5}}}]},
    {name: j, resources: {guaranteed: {vcore: 6m}}}]}]}]}]`

// fairShareRun is the script of a run on few nodes, which the first that come fill with many equal tasks.
type fairShareRun struct {
	*script
	nodes []objects.NodeID
	apps  []objects.AppID
	busy  []objects.AppID // those that ask for something at the moment
	asks  []*objects.Ask
}

func amountsOf(vcore, memory, gpu int) resources.Amounts {
	return resources.FromMap(map[string]resources.Quantity{"vcore": resources.Quantity(vcore),
		"memory": resources.Quantity(memory), "gpu": resources.Quantity(gpu)})
}

// fairShareRunOf returns the run of a seed.
func fairShareRunOf(t *testing.T, seed uint64) randomrun.Run {
	s := &fairShareRun{script: newScript(t, fairShareConfig, seed, 131)}
	s.Partition.PreemptionEnabled, s.Partition.Reservation.Enabled = true, s.OneIn(5)
	s.Partition.NominationTimeout = pick(s.script, 0, 4*time.Second, 30*time.Second)
	s.MaxCandidates = pick(s.script, 1<<30, 1<<30, 2)
	s.Oracle = pick(s.script, randomrun.NoOracle, randomrun.NoOracle, randomrun.NoOracle, randomrun.RejectSome)
	if s.OneIn(2) {
		s.Partition.FairnessWeights = []policies.Weight{{Resource: "gpu", Weight: 4}, {Resource: "vcore", Weight: 1}}
	}
	s.shareFairly(&s.Partition.Root)
	for i := range 3 + s.IntN(4) {
		s.nodes = append(s.nodes, objects.NodeID(fmt.Sprint("n", i)))
		s.add(0, scheduler.AddNode{Node: s.nodes[i], Total: s.capacity(), Schedulable: true})
	}
	leaves := []string{"root.a", "root.b", "root.c.d", "root.c.e", "root.f.g.h", "root.f.g.i", "root.f.j"}
	leaves = pick(s.script, leaves, leaves[2:5], leaves[4:])
	s.Shuffle(len(leaves), func(i, j int) { leaves[i], leaves[j] = leaves[j], leaves[i] })
	used := leaves[:1+s.IntN(len(leaves))]
	for i := range 3 + s.IntN(8) {
		id := objects.AppID(fmt.Sprint("app", i))
		s.apps = append(s.apps, id)
		s.add(0, scheduler.AddApplication{App: id, User: security.User{Name: pick(s.script, "u", "v", "w")},
			Queue: used[i%len(used)]})
	}
	for len(s.Steps) < 3*stepsPerRun/2 {
		s.scene()
		s.schedule(pick(s.script, 0, 700*time.Millisecond, 3*time.Second), pick(s.script, 1, 5, 20))
	}
	return s.Run
}

// shareFairly gives q and the queues below it settings.
func (s *fairShareRun) shareFairly(q *configs.Queue) {
	q.FairShare = !s.OneIn(4)
	q.Fairness.By = pick(s.script, policies.FairByApplication, policies.FairByUser)
	q.Fairness.Weight = pick(s.script, 0, 0, 0, 3000, 400, policies.ByGuarantee)
	q.GangPreemption = s.OneIn(2)
	if s.OneIn(8) {
		q.PreemptionPolicy = pick(s.script, policies.PreemptFence, policies.PreemptFence, policies.PreemptDisabled)
	}
	if s.OneIn(20) {
		q.PriorityPreemption = policies.PriorityPreemptionFence
	}
	if s.OneIn(6) {
		q.VictimUnit = pick(s.script, policies.VictimUnitTaskGroup, policies.VictimUnitApplication)
	}
	if s.OneIn(6) {
		q.MinRuntime, q.MinRuntimeStrict = 5*time.Second, s.OneIn(2)
	}
	q.PriorityOffset = pick[int32](s.script, 0, 0, 0, 0, 0, 1)
	for i := range q.Children {
		s.shareFairly(&q.Children[i])
	}
}

func (s *fairShareRun) capacity() resources.Amounts {
	return pick(s.script, amountsOf(8, 8, 4), amountsOf(8, 8, 4), amountsOf(12, 8, 8), amountsOf(6, 12, 2))
}

// scene adds the commands of one thing that happens.
func (s *fairShareRun) scene() {
	after := time.Duration(s.IntN(3)) * 400 * time.Millisecond
	switch x := s.IntN(40); {
	case x < 16 || len(s.asks) == 0:
		s.submit(after)
	case x < 25: // victims end, and others
		for range 1 + s.IntN(4) {
			a := s.asks[max(0, len(s.asks)-1-s.IntN(40))]
			s.add(0, scheduler.Release{App: a.App, Key: a.Key,
				Type: pick(s.script, scheduler.StoppedByRM, scheduler.PreemptedByScheduler)})
		}
	case x < 31:
		s.add(after, scheduler.Release{App: pick(s.script, s.apps...), Type: scheduler.StoppedByRM})
	case x == 31:
		s.add(after, scheduler.SetCapacity{Node: pick(s.script, s.nodes...), Total: s.capacity()})
	case x == 32:
		s.add(after, scheduler.SetSchedulable{Node: pick(s.script, s.nodes...), Schedulable: !s.OneIn(3)})
	case x < 35:
		s.add(after, scheduler.Operate{App: pick(s.script, s.apps...),
			Action: pick(s.script, scheduler.HoldApplication, scheduler.ReleaseApplication)})
	case x < 37:
		s.add(after, scheduler.Operate{Queue: pick[objects.QueuePath](s.script, "root.b", "root.c.e", "root.f.g"),
			Action: pick(s.script, scheduler.StopQueue, scheduler.StartQueue, scheduler.StartQueue)})
	case x == 37 && s.OneIn(3):
		s.add(after, scheduler.RemoveNode{Node: pick(s.script, s.nodes...)})
	case x == 37:
		s.add(after, scheduler.AddNode{Node: pick(s.script, s.nodes...), Total: s.capacity(), Schedulable: true})
	case x == 38 && s.OneIn(3):
		p := s.Partition
		p.Root = copiedTree(p.Root)
		s.shareFairly(&p.Root)
		s.add(after, scheduler.UseConfig{Partition: p})
	}
}

func copiedTree(q configs.Queue) configs.Queue {
	children := q.Children
	q.Children = nil
	for _, c := range children {
		q.Children = append(q.Children, copiedTree(c))
	}
	return q
}

// submit adds equal asks of an application: some of a gang, and some that cannot be placed.
func (s *fairShareRun) submit(after time.Duration) {
	if len(s.busy) == 0 || s.OneIn(3) {
		s.busy = []objects.AppID{pick(s.script, s.apps...), pick(s.script, s.apps...)}
	}
	ask := objects.Ask{
		App: pick(s.script, s.busy...),
		Amounts: pick(s.script, amountsOf(1, 1, 1), amountsOf(2, 1, 1), amountsOf(2, 1, 1), amountsOf(2, 1, 0),
			amountsOf(1, 3, 0), amountsOf(2, 2, 2), amountsOf(3, 1, 4), amountsOf(3, 1, 4),
			amountsOf(2+s.IntN(3), 1+s.IntN(3), s.IntN(3)), amountsOf(4, 4, 8),
			amountsOf(13, 1, 0), amountsOf(10, 1, 0)),
		Priority: pick[int32](s.script, 0, 0, 0, 0, 0, 0, 1, 2),
		Policy:   objects.PolicySent | objects.PolicyAllowPreemptSelf | objects.PolicyAllowPreemptOther,
	}
	group, n := pick(s.script, "", "g"), 2+s.IntN(11)
	if group != "" {
		n = 2 + s.IntN(3)
	}
	standIns := group != "" && s.OneIn(2)
	for i := range n {
		a := ask
		a.Key = objects.AllocationKey(fmt.Sprint("k", len(s.asks)))
		a.Placeholder = standIns && i < n/2
		a.Details = objects.NewAskDetails(objects.AskDetails{TaskGroup: group})
		s.asks = append(s.asks, &a)
		s.add(after, scheduler.SubmitAsk{Ask: &a})
		after = 0
	}
}

// Core and twin agree about fair shares where teams fill a small cluster and others come later: with weights,
// guarantees, fences, gangs and tasks of all GPUs of a node.
func TestRandomRuns_FairShares(t *testing.T) {
	runs, seen := testscale.Runs(300), map[string]int{}
	for seed := range uint64(runs) {
		s := fairShareRunOf(t, seed)
		p := newHarness(s)
		p.watch = observeFairShares(p, seen)
		if f := executeOn(s, p); f != nil {
			shorter, g := Shorten(s, f, Execute)
			t.Fatalf("seed %d: %v\nin short:\n%s\n%v", seed, f, shorter, g)
		}
		seen["protected by their side"] += p.twin.protectedBySide
		seen["protected by the share of a queue above"] += p.twin.protectedByShareAbove
		seen["protected by the guarantee of a queue above"] += p.twin.protectedByGuaranteeAbove
	}
	checkOften(t, runs, seen, map[string]int{
		"preempted": runs * 2 / 3, "at the root": runs / 8, "inside a queue": runs / 8,
		"in a leaf, by application": runs / 5, "in a leaf, by user": runs / 10, "for a large task": runs / 15,
		"for a gang": runs / 30, "protected by their side": 30 * runs,
		"protected by the share of a queue above": 10 * runs, "protected by the guarantee of a queue above": runs / 20,
		"fair shares protect": runs, "fair shares protect from a large task": runs / 3,
	})
}

// observeFairShares counts who preempts for a fair share, and who may not.
func observeFairShares(p *harness, seen map[string]int) stepObserver {
	return func(step randomrun.Step) func([]scheduler.Effect) {
		return func(effects []scheduler.Effect) {
			if c, ok := step.Command.(scheduler.SubmitAsk); ok {
				for _, r := range p.core.ExplainWithVictims(c.Ask.Key, p.now.Add(time.Second)).Searches {
					protect := boolToInt(r.NoPlanReasons[victim.BlockedByFairShare] > 0)
					seen["fair shares protect"] += protect
					seen["fair shares protect from a large task"] += protect * boolToInt(largeTask(c.Ask))
				}
			}
			for _, e := range effects {
				r, _ := e.(scheduler.Released)
				key, ok := strings.CutPrefix(r.Message, "preempted (fair share) for ask ")
				if !ok {
					continue
				}
				key, _, _ = strings.Cut(key, " ")
				w, _ := p.core.Partition().Allocation(objects.AllocationKey(key))
				y, _ := p.core.Partition().Allocation(r.Key)
				common := w.Application().Queue()
				for !common.Quota().IsSelfOrAncestorOf(y.Application().Queue().Quota()) {
					common = common.Parent()
				}
				seen["preempted"]++
				switch {
				case common.Parent() == nil:
					seen["at the root"]++
				case common != w.Application().Queue():
					seen["inside a queue"]++
				default:
					seen["in a leaf, by "+common.Settings().Fairness.By.String()]++
				}
				seen["for a large task"] += boolToInt(largeTask(w.Ask()))
				seen["for a gang"] += boolToInt(w.Ask().TaskGroup() != "" && w.Application().Queue().Settings().GangPreemption)
			}
		}
	}
}

// largeTask reports whether an ask requests all GPUs of most nodes.
func largeTask(ask *objects.Ask) bool { return ask.Amounts.Get("gpu") >= 4 }
