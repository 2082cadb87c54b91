package objects

import (
	"fmt"
	"testing"
	"time"

	"gotest.tools/v3/assert"

	"github.com/canopy-scheduler/canopy/pkg/configs/queuesyaml"
	"github.com/canopy-scheduler/canopy/pkg/lifecycle"
	"github.com/canopy-scheduler/canopy/pkg/policies"
	"github.com/canopy-scheduler/canopy/pkg/resources"
	"github.com/canopy-scheduler/canopy/pkg/security"
)

// auditPartition is a partition in which every total is above zero.
func auditPartition(t *testing.T) *Partition {
	t.Helper()
	conf, problems := queuesyaml.Load(
		[]byte(`partitions: [{name: default, preemption: {enabled: true}, queues: [{name: root, submitacl: '*', queues: [
		{name: a, resources: {max: {vcore: 50}, guaranteed: {vcore: 5}},
		 limits: [{limit: l, users: ['*'], maxresources: {vcore: 40}, maxapplications: 3}],
		 classquotas: [{name: q, match: {operator: Exists}, hard: {pods: 100}}]},
		{name: b, properties: {application.sort.policy: fair}}]}]}]`))
	assert.Assert(t, conf != nil, problems)
	p, now := NewPartition(conf.Partitions[0]), time.Unix(1_000_000_000, 0)
	for _, id := range []NodeID{"n1", "n2", "n3"} {
		assert.NilError(t, p.AddNode(id, vcores(100_000), nil, id != "n3"))
	}
	assert.NilError(t, p.AddForeign(Foreign{Key: "daemon", Node: "n1", Amounts: vcores(3)}))
	for i := range 4 {
		leaf := []QueuePath{"root.a", "root.b"}[i%2]
		id := AppID(fmt.Sprint("app", i))
		assert.NilError(t, p.AddApplication(id, security.User{Name: "ann"}, leaf, nil, now))
		for k := range 6 {
			x, err := p.AddAskWithClass("high",
				&Ask{Key: AllocationKey(fmt.Sprint(id, "-", k)), App: id, Amounts: vcores(int64(1 + k%3)), Priority: int32(k % 2)},
				now)
			assert.NilError(t, err)
			if k < 3 {
				p.RefreshShares()
				assert.NilError(t, p.Place(x, p.nodes[[]NodeID{"n1", "n2"}[k%2]], now))
			}
		}
	}
	p.Preempt(p.mustFind("app1-3"), p.nodes["n1"], []*Allocation{p.mustFind("app0-0")}, now)
	p.MarkUnschedulable(p.mustFind("app1-5"))
	return p
}

func runAudit(p *Partition, budget int) (checked int, err error) {
	a := p.NewAudit()
	for done := false; !done; {
		done, err = a.Step(budget)
	}
	return a.Checked(), err
}

func TestAudit_ConsistentStatePasses(t *testing.T) {
	p := auditPartition(t)
	assert.NilError(t, p.Check())
	for _, budget := range []int{1, 5, 1000} {
		checked, err := runAudit(p, budget)
		assert.NilError(t, err)
		assert.Equal(t, checked, 3+3+4+24, "nodes, queues, applications, asks and allocations")
	}
}

// An audit in steps finds every error that Check finds.
func TestAudit_FindsWhatCheckFinds(t *testing.T) {
	node := func(p *Partition) *Node { return p.nodes["n1"] }
	app := func(p *Partition) *Application { return p.apps["app0"] }
	leaf := func(p *Partition) *Queue { return p.queues["root.a"] }
	bound := func(p *Partition) *Allocation { return p.mustFind("app0-1") }
	pending := func(p *Partition) *Allocation { return p.mustFind("app0-4") }
	for name, damage := range map[string]func(p *Partition){
		"node: allocated":                 func(p *Partition) { node(p).allocated[0]++ },
		"node: available":                 func(p *Partition) { node(p).available[0]++ },
		"node: total":                     func(p *Partition) { node(p).total[0]++ },
		"node: score":                     func(p *Partition) { node(p).key.Score++ },
		"node: mask":                      func(p *Partition) { clear(node(p).entry.Mask) },
		"node: held for nominees":         func(p *Partition) { node(p).extra.held[0]++ },
		"node: nominees":                  func(p *Partition) { node(p).extra.nominees = nil },
		"node: preempting":                func(p *Partition) { p.mustFind("app0-0").node.extra.preempting = nil },
		"node: allocation list":           func(p *Partition) { node(p).allocations = node(p).allocations[:1] },
		"node: not in nodes":              func(p *Partition) { delete(p.nodes, "n3") },
		"node: not in order":              func(p *Partition) { p.journal.order.schedulable.Reindex(node(p), false) },
		"node: foreign":                   func(p *Partition) { delete(p.foreign.byKey, "daemon") },
		"cluster: capacity":               func(p *Partition) { p.Capacity()[0]++ },
		"application: allocated":          func(p *Partition) { app(p).allocated[0]++ },
		"application: placeholders":       func(p *Partition) { app(p).ownExtra().placeholders.Add(app(p).allocated) },
		"application: pending":            func(p *Partition) { app(p).pending[0]++ },
		"application: asks":               func(p *Partition) { app(p).pendingCount++ },
		"application: bound":              func(p *Partition) { app(p).boundCount++ },
		"application: priority":           func(p *Partition) { app(p).priority.Add(policies.Pending(9)) },
		"application: key":                func(p *Partition) { app(p).key.Priority = policies.Pending(9) },
		"application: counted as running": func(p *Partition) { app(p).quota.CountRunning(false) },
		"application: state":              func(p *Partition) { app(p).state = lifecycle.New },
		"application: log":                func(p *Partition) { app(p).log[len(app(p).log)-1].State = lifecycle.New },
		"application: mask":               func(p *Partition) { clear(app(p).entry.Mask) },
		"application: not in order":       func(p *Partition) { app(p).queue.apps.Reindex(app(p), false) },
		"application: not in its queue":   func(p *Partition) { delete(leaf(p).byID, "app0") },
		"application: not in apps":        func(p *Partition) { delete(p.apps, "app0") },
		"application: memberships":        func(p *Partition) { app(p).quota.LoseMemberships() },
		"ask group: asks": func(p *Partition) {
			pending(p).group.asks = append(pending(p).group.asks, pending(p))
		},
		"ask group: list index": func(p *Partition) { pending(p).group.listIndex++ },
		"ask group: key":        func(p *Partition) { pending(p).group.key.Created++ },
		"ask: group":            func(p *Partition) { pending(p).group = p.mustFind("app0-3").group },
		"ask: unschedulable twice": func(p *Partition) {
			c := p.mustFind("app1-5").group
			c.setbacks.unschedulable = append(c.setbacks.unschedulable, c.setbacks.unschedulable[0])
		},
		"ask: not in allocations": func(p *Partition) { delete(p.allocations, pending(p).Key()) },
		"ask: under another key":  func(p *Partition) { p.allocations["other"] = pending(p) },
		"allocation: node":        func(p *Partition) { bound(p).node = p.nodes["n3"] },
		"allocation: node index":  func(p *Partition) { bound(p).nodeIndex++ },
		"allocation: application": func(p *Partition) { bound(p).app = p.apps["app2"] },
		"allocation: shape":       func(p *Partition) { bound(p).shape = p.mustFind("app0-2").shape },
		"allocations: count":      func(p *Partition) { p.boundCount++ },
		"shape: users": func(p *Partition) {
			p.shapes.Acquire(p.names, bound(p).shape.Request())
		},
		"queue: allocated":         func(p *Partition) { leaf(p).Allocated()[0]++ },
		"queue: pending":           func(p *Partition) { leaf(p).Pending()[0]++ },
		"queue: allocated at root": func(p *Partition) { p.root.Allocated()[0]++ },
		"queue: bound":             func(p *Partition) { leaf(p).quota.Post(nil, 1) },
		"queue: running":           func(p *Partition) { leaf(p).quota.PostRunning(1) },
		"queue: fit": func(p *Partition) {
			leaf(p).Allocated()[1] += 100_000
			p.journal.order.refitQueue(leaf(p))
			leaf(p).Allocated()[1] -= 100_000
		},
		"queue: mask":             func(p *Partition) { clear(leaf(p).entry.Mask) },
		"queue: key":              func(p *Partition) { leaf(p).key.Priority = policies.Pending(9) },
		"queue: priorities":       func(p *Partition) { leaf(p).priorities.Add(policies.Pending(9)) },
		"queue: not in order":     func(p *Partition) { p.root.children.Reindex(leaf(p), false) },
		"queue: not in queues":    func(p *Partition) { delete(p.queues, "root.b") },
		"queue: expected release": func(p *Partition) { leaf(p).quota.ExpectedRelease()[0]++ },
		"queue: nominated":        func(p *Partition) { p.root.quota.Nominated()[0]++ },
		"queue: class usage":      func(p *Partition) { app(p).quota.PostClassUsage("high", resources.Vector{0}, 1) },
		"account: allocated":      func(p *Partition) { app(p).quota.Memberships()[0].Account().Allocated()[0]++ },
		"account: running":        func(p *Partition) { app(p).quota.Memberships()[0].Account().PostRunning(1) },
		"account: members": func(p *Partition) {
			app(p).quota.Memberships()[0].Account().Members()[0] = &p.apps["app1"].quota
		},
		"account: fit": func(p *Partition) {
			x := app(p).quota.Memberships()[0].Account()
			x.Allocated()[1] += 100_000
			p.journal.post(Change{Kind: AccountMembersChanged, Account: x})
			x.Allocated()[1] -= 100_000
		},
		"preempting: unknown": func(p *Partition) {
			p.marks.preempting[&Allocation{ask: &Ask{Key: "x"}}] = preemptionMark{}
		},
		"nominees: not listed": func(p *Partition) { p.marks.nominees = nil },
		"priority class: refs": func(p *Partition) { p.classNumbers.named[0].refs++ },
		"completing: unknown application": func(p *Partition) {
			p.deadlines.completing.PushBack(deadlineSince{app: &Application{key: policies.AppKey{ID: "x"}, extra: &noAppExtra}})
		},
	} {
		t.Run(name, func(t *testing.T) {
			p := auditPartition(t)
			damage(p)
			assert.Assert(t, p.Check() != nil, "Check finds nothing")
			for _, budget := range []int{1, 1000} {
				_, err := runAudit(p, budget)
				assert.Assert(t, err != nil, "the audit finds nothing, with a budget of %d", budget)
			}
		})
	}
}

// A change between two steps is no error.
func TestAudit_IsExactWhileTheStateChanges(t *testing.T) {
	p, now := auditPartition(t), time.Unix(1_000_000_100, 0)
	a := p.NewAudit()
	for i, done := 0, false; !done; i++ {
		var err error
		done, err = a.Step(1)
		assert.NilError(t, err)
		id := AppID(fmt.Sprint("more", i))
		assert.NilError(t, p.AddApplication(id, security.User{Name: "bob"}, "root.b", nil, now))
		_, err = p.AddAsk(&Ask{Key: AllocationKey(id), App: id, Amounts: vcores(2)}, now)
		assert.NilError(t, err)
		if i%3 == 1 {
			p.RemoveApplication(AppID(fmt.Sprint("more", i-1)), now)
			p.RemoveApplication(AppID(fmt.Sprint("app", i/3)), now)
		}
		p.RefreshShares()
		if x, known := p.allocations[AllocationKey(id)]; known && i%2 == 0 {
			assert.NilError(t, p.Place(x, p.nodes["n2"], now))
		}
	}
	assert.NilError(t, p.Check())
}

// A step checks at most its budget and the object at which it ends.
func TestAudit_StepsAreBounded(t *testing.T) {
	p, _, now := leafPartition(t, lifecycle.DefaultLifetimes())
	for i := range 500 {
		id := AppID(fmt.Sprint("a", i))
		assert.NilError(t, p.AddApplication(id, security.User{}, "root.leaf", nil, now))
		_, err := p.AddAsk(&Ask{Key: AllocationKey(id), App: id, Amounts: vcores(1)}, now)
		assert.NilError(t, err)
	}
	a, steps, before := p.NewAudit(), 0, 0
	for done := false; !done; steps++ {
		done, _ = a.Step(20)
		assert.Assert(t, a.Checked()-before <= 21, "%d objects in a step", a.Checked()-before)
		before = a.Checked()
	}
	assert.Assert(t, steps >= 1000/20, "%d", steps)
	assert.Equal(t, before, 1+2+501+500)
}
