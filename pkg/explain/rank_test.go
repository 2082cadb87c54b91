package explain_test

import (
	"slices"
	"testing"
	"time"

	"gotest.tools/v3/assert"

	"github.com/canopy-scheduler/canopy/internal/testing/randomrun"
	"github.com/canopy-scheduler/canopy/internal/testing/testscale"
	"github.com/canopy-scheduler/canopy/pkg/configs/queuesyaml"
	"github.com/canopy-scheduler/canopy/pkg/explain"
	"github.com/canopy-scheduler/canopy/pkg/objects"
	"github.com/canopy-scheduler/canopy/pkg/policies"
	"github.com/canopy-scheduler/canopy/pkg/resources"
	"github.com/canopy-scheduler/canopy/pkg/scheduler"
	"github.com/canopy-scheduler/canopy/pkg/security"
)

// The rank of an ask is what sorting the members of each level again says, and what is listed ahead comes first by the
// criterion that is named (EXP-6).
func TestRank_AgreesWithSorting(t *testing.T) {
	seen := map[policies.Criterion]int{}
	for seed := range uint64(testscale.Runs(1000)) {
		start := situation{run: randomrun.RandomRun(seed, 80)}
		core, now := start.core()
		for _, key := range pendingKeys(core) {
			e := core.Explain(key, now)
			x, _ := core.Partition().Allocation(key)
			asks := e.Ranks[len(e.Ranks)-1]
			assert.Equal(t, asks.Kind, explain.Asks)
			if want := asksBefore(core.Partition(), x); !x.AskGroup().Held() && !core.Partition().Unschedulable(x) &&
				!objects.Refused(core.Partition(), x) {
				assert.Equal(t, asks.Position, want+1, "seed %d, ask %s", seed, key)
			}
			for i, l := range e.Ranks {
				assert.Assert(t, l.Position <= l.Of || l.Kind == explain.Asks, "seed %d, ask %s, level %d: %+v", seed, key, i, l)
				assert.Equal(t, len(l.First) > 0, l.Position > 1)
				for _, ahead := range l.First {
					seen[ahead.By]++
					assertAhead(t, l, ahead)
				}
			}
		}
	}
	t.Log(seen)
	for _, by := range []policies.Criterion{policies.ByPriority, policies.ByShare, policies.BySubmission,
		policies.ByCreation, policies.ByName} {
		assert.Assert(t, seen[by] > 0, "%s", by)
	}
}

// asksBefore counts the schedulable asks of the application that come before x and have not been refused every node,
// one by one.
func asksBefore(p *objects.Partition, x *objects.Allocation) (n int) {
	for _, group := range x.Application().PendingGroups() {
		if group.Held() {
			continue
		}
		for _, y := range group.SchedulableAsks() {
			if y != x && !objects.Refused(p, y) && objects.CompareSelection(y, x) < 0 {
				n++
			}
		}
	}
	return n
}

// assertAhead checks the figures of the criterion that puts a member ahead.
func assertAhead(t *testing.T, l explain.Rank, ahead explain.Ahead) {
	t.Helper()
	assert.Assert(t, slices.Contains(l.Orders, ahead.By), "%s is no criterion of %+v", ahead.By, l)
	switch ahead.By {
	case policies.ByPriority:
		assert.Assert(t, ahead.Priority > l.Member.Priority, "%+v", l)
	case policies.BySubmission, policies.ByCreation:
		assert.Assert(t, ahead.Submitted < l.Member.Submitted, "%+v", l)
	case policies.ByShare:
		assert.Assert(t, ahead.Share <= l.Member.Share, "%+v", l)
	case policies.ByName:
		assert.Assert(t, ahead.Name < l.Member.Name, "%+v", l)
	}
}

// An application that has waited is ahead by the priority that it was raised to, and the rank says by how much it was.
func TestRanks_ApplicationsThatWereRaised(t *testing.T) {
	conf, problems := queuesyaml.Load([]byte(`
partitions:
  - name: default
    queues:
      - name: root
        submitacl: '*'
        queues: [{name: a, properties: {priority.ageing: 10 per 1m up to 100}}]
`))
	assert.Assert(t, conf != nil, "%v", problems)
	start := time.Unix(1_000_000_000, 0)
	core := scheduler.New(conf.Partitions[0], nil)
	submit := func(at time.Time, app objects.AppID, priority int32) {
		core.Step(at, scheduler.AddApplication{App: app, Queue: "root.a", User: security.User{Name: "u"}})
		core.Step(at, scheduler.SubmitAsk{Ask: &objects.Ask{Key: objects.AllocationKey(app), App: app, Priority: priority,
			Amounts: resources.FromMap(map[string]resources.Quantity{"vcore": 1})}})
	}
	now := start.Add(3 * time.Minute)
	submit(start, "old", 0)
	submit(now, "young", 20)
	core.Schedule(now, 1)
	e := core.Explain("young", now)
	apps := e.Ranks[len(e.Ranks)-2]
	assert.Equal(t, apps.Kind, explain.Applications)
	assert.Equal(t, apps.Member.Priority, int32(20))
	assert.Equal(t, apps.Member.RaisedBy, int32(0))
	assert.Equal(t, len(apps.First), 1)
	first := apps.First[0]
	assert.Equal(t, first.By, policies.ByPriority)
	assert.Equal(t, first.Priority, int32(30))
	assert.Equal(t, first.RaisedBy, int32(30))
}

// A queue that has used less over time is ahead, and the rank says what both have used, hold and weigh.
func TestRanks_UsageOverTime(t *testing.T) {
	conf, problems := queuesyaml.Load([]byte(`
partitions:
  - name: default
    queues:
      - name: root
        submitacl: '*'
        properties: {fairness.halflife: 1h}
        queues:
          - {name: a, properties: {fairness.halflife: 1h}}
          - {name: b, properties: {fairness.weight: 2}}
`))
	assert.Assert(t, conf != nil, "%v", problems)
	start := time.Unix(1_000_000_000, 0)
	core := scheduler.New(conf.Partitions[0], nil)
	submit := func(at time.Time, app objects.AppID, key objects.AllocationKey) {
		core.Step(at, scheduler.SubmitAsk{Ask: &objects.Ask{Key: key, App: app,
			Amounts: resources.FromMap(map[string]resources.Quantity{"vcore": 1})}})
	}
	core.Step(start, scheduler.AddNode{Node: "n", Schedulable: true,
		Total: resources.FromMap(map[string]resources.Quantity{"vcore": 2})})
	core.Step(start, scheduler.AddApplication{App: "x", Queue: "root.a", User: security.User{Name: "u"}})
	core.Step(start, scheduler.AddApplication{App: "y", Queue: "root.b", User: security.User{Name: "u"}})
	submit(start, "x", "x-1")
	core.Schedule(start, 1)
	now := start.Add(time.Hour)
	submit(now, "y", "y-1")
	core.Schedule(now, 1)
	submit(now, "y", "y-2")
	submit(now, "x", "x-2")
	core.Schedule(now, 1)
	e := core.Explain("x-2", now)
	queues := e.Ranks[0]
	assert.DeepEqual(t, queues.Orders, []policies.Criterion{policies.ByPriority, policies.ByUsage, policies.ByPending,
		policies.ByName})
	assert.Equal(t, queues.Position, 2)
	first := queues.First[0]
	assert.Equal(t, first.By, policies.ByUsage)
	near := func(is, want float64) { t.Helper(); assert.Assert(t, is > want-0.01 && is < want+0.01, "%v", is) }
	near(queues.Member.Usage.Share, 0.25) // half of the cluster for a half-life
	near(queues.Member.Usage.Held, 0.5)
	near(queues.Member.Usage.Key, 0.25+0.5*0.0347)
	near(first.Usage.Share, 0)
	near(first.Usage.Held, 0.5)
	near(first.Usage.Weight, 2)
	near(first.Usage.Key, 0.5*0.0347/2)
	assert.Equal(t, e.Ranks[1].Orders[1], policies.ByUsage) // applications
	assert.Assert(t, e.Ranks[1].Member.Usage != nil)
}
