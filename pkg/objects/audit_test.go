package objects

import (
	"fmt"
	"testing"
	"time"

	"gotest.tools/v3/assert"

	"github.com/canopy-scheduler/canopy/pkg/configs"
	"github.com/canopy-scheduler/canopy/pkg/policies"
	"github.com/canopy-scheduler/canopy/pkg/security"
)

// audited is a partition in which every book has something.
func audited(t *testing.T) *Partition {
	t.Helper()
	conf, problems := configs.Load([]byte(`partitions: [{name: default, preemption: {enabled: true}, queues: [{name: root, submitacl: '*', queues: [
		{name: a, resources: {max: {vcore: 50}, guaranteed: {vcore: 5}}, limits: [{limit: l, users: ['*'], maxresources: {vcore: 40}, maxapplications: 3}],
		 classquotas: [{name: q, match: {operator: Exists}, hard: {pods: 100}}]},
		{name: b, properties: {application.sort.policy: fair}}]}]}]`))
	assert.Assert(t, conf != nil, problems)
	p, now := NewPartition(conf.Partitions[0]), time.Unix(1_000_000_000, 0)
	for _, id := range []NodeID{"n1", "n2", "n3"} {
		assert.NilError(t, p.AddNode(id, few(100_000), nil, id != "n3"))
	}
	assert.NilError(t, p.AddForeign(Foreign{Key: "daemon", Node: "n1", Amounts: few(3)}))
	for i := range 4 {
		leaf := []QueuePath{"root.a", "root.b"}[i%2]
		id := AppID(fmt.Sprint("app", i))
		assert.NilError(t, p.AddApplication(id, security.User{Name: "ann"}, leaf, nil, now))
		for k := range 6 {
			x, err := p.AddAskOf("high", &Ask{Key: AllocationKey(fmt.Sprint(id, "-", k)), App: id, Amounts: few(int64(1 + k%3)), Priority: int32(k % 2)}, now)
			assert.NilError(t, err)
			if k < 3 {
				p.Settle()
				assert.NilError(t, p.Place(x, p.nodes[[]NodeID{"n1", "n2"}[k%2]], now))
			}
		}
	}
	p.Preempt(p.work["app1-3"], p.nodes["n1"], []*Allocation{p.work["app0-0"]}, now)
	p.SetAside(p.work["app1-5"])
	p.Weigh(now)
	return p
}

func audit(p *Partition, budget int) (checked int, err error) {
	a := p.NewAudit()
	for done := false; !done; {
		done, err = a.Step(budget)
	}
	return a.Checked(), err
}

func TestAudit_PassesSoundBooks(t *testing.T) {
	p := audited(t)
	assert.NilError(t, p.Check())
	for _, budget := range []int{1, 5, 1000} {
		checked, err := audit(p, budget)
		assert.NilError(t, err)
		assert.Equal(t, checked, 3+3+4+24, "nodes, queues, applications, asks and allocations")
	}
}

// Whatever a whole recount finds, an audit in steps finds.
func TestAudit_FindsWhatCheckFinds(t *testing.T) {
	node := func(p *Partition) *Node { return p.nodes["n1"] }
	app := func(p *Partition) *Application { return p.apps["app0"] }
	leaf := func(p *Partition) *Queue { return p.queues["root.a"] }
	bound := func(p *Partition) *Allocation { return p.work["app0-1"] }
	pending := func(p *Partition) *Allocation { return p.work["app0-4"] }
	for name, damage := range map[string]func(p *Partition){
		"node: allocated":               func(p *Partition) { node(p).allocated[0]++ },
		"node: available":               func(p *Partition) { node(p).available[0]++ },
		"node: total":                   func(p *Partition) { node(p).total[0]++ },
		"node: score":                   func(p *Partition) { node(p).key.Score++ },
		"node: mask":                    func(p *Partition) { clear(node(p).turn.can) },
		"node: held":                    func(p *Partition) { node(p).held[0]++ },
		"node: nominees":                func(p *Partition) { node(p).nominees = nil },
		"node: leaving":                 func(p *Partition) { p.work["app0-0"].node.leaving = nil },
		"node: roster":                  func(p *Partition) { node(p).work = node(p).work[:1] },
		"node: not known":               func(p *Partition) { delete(p.nodes, "n3") },
		"node: not in order":            func(p *Partition) { p.byScore.stand(&node(p).turn, false) },
		"node: foreign":                 func(p *Partition) { delete(p.others, "daemon") },
		"cluster: capacity":             func(p *Partition) { p.capacity[0]++ },
		"application: allocated":        func(p *Partition) { app(p).allocated[0]++ },
		"application: placeholders":     func(p *Partition) { app(p).placeholders.Add(app(p).allocated) },
		"application: pending":          func(p *Partition) { app(p).pending[0]++ },
		"application: asks":             func(p *Partition) { app(p).asks++ },
		"application: bound":            func(p *Partition) { app(p).bound++ },
		"application: priority":         func(p *Partition) { app(p).priority.Add(policies.Pending(9)) },
		"application: key":              func(p *Partition) { app(p).key.Priority = policies.Pending(9) },
		"application: counted":          func(p *Partition) { app(p).counted = false },
		"application: state":            func(p *Partition) { app(p).state = New },
		"application: log":              func(p *Partition) { app(p).log[len(app(p).log)-1].State = New },
		"application: mask":             func(p *Partition) { clear(app(p).turn.can) },
		"application: not in order":     func(p *Partition) { app(p).queue.apps.stand(&app(p).turn, false) },
		"application: not in its queue": func(p *Partition) { delete(leaf(p).byID, "app0") },
		"application: not known":        func(p *Partition) { delete(p.apps, "app0") },
		"application: seats":            func(p *Partition) { app(p).seats = nil },
		"class: asks":                   func(p *Partition) { pending(p).class.asks = append(pending(p).class.asks, pending(p)) },
		"class: place":                  func(p *Partition) { pending(p).class.place++ },
		"class: key":                    func(p *Partition) { pending(p).class.key.Created++ },
		"ask: class":                    func(p *Partition) { pending(p).class = p.work["app0-3"].class },
		"ask: set aside twice":          func(p *Partition) { c := p.work["app1-5"].class; c.aside = append(c.aside, c.aside[0]) },
		"ask: not known":                func(p *Partition) { delete(p.work, "app0-4") },
		"ask: under another key":        func(p *Partition) { p.work["other"] = pending(p) },
		"allocation: node":              func(p *Partition) { bound(p).node = p.nodes["n3"] },
		"allocation: place":             func(p *Partition) { bound(p).onNode++ },
		"allocation: application":       func(p *Partition) { bound(p).app = p.apps["app2"] },
		"allocation: shape":             func(p *Partition) { bound(p).shape = p.work["app0-2"].shape },
		"allocations: count":            func(p *Partition) { p.bound++ },
		"shape: users":                  func(p *Partition) { bound(p).shape.users++ },
		"queue: allocated":              func(p *Partition) { leaf(p).allocated[0]++ },
		"queue: pending":                func(p *Partition) { leaf(p).pending[0]++ },
		"queue: allocated at root":      func(p *Partition) { p.root.allocated[0]++ },
		"queue: bound":                  func(p *Partition) { leaf(p).bound++ },
		"queue: running":                func(p *Partition) { leaf(p).running++ },
		"queue: fit":                    func(p *Partition) { clear(leaf(p).fit) },
		"queue: mask":                   func(p *Partition) { clear(leaf(p).turn.can) },
		"queue: key":                    func(p *Partition) { leaf(p).key.Priority = policies.Pending(9) },
		"queue: tally":                  func(p *Partition) { leaf(p).tally.Add(policies.Pending(9)) },
		"queue: not in order":           func(p *Partition) { p.root.children.stand(&leaf(p).turn, false) },
		"queue: not known":              func(p *Partition) { delete(p.queues, "root.b") },
		"queue: leaving":                func(p *Partition) { leaf(p).leaving[0]++ },
		"queue: promised":               func(p *Partition) { p.root.promised[0]++ },
		"queue: above":                  func(p *Partition) { leaf(p).above = &excess{} },
		"queue: meter":                  func(p *Partition) { leaf(p).meters[meterID{quota: "q"}].pods++ },
		"account: allocated":            func(p *Partition) { app(p).seats[0].account.allocated[0]++ },
		"account: running":              func(p *Partition) { app(p).seats[0].account.running++ },
		"account: members":              func(p *Partition) { x := app(p).seats[0].account; x.members = x.members[:1] },
		"account: fit":                  func(p *Partition) { clear(app(p).seats[0].account.fit) },
		"leaving: unknown":              func(p *Partition) { p.leaving[&Allocation{ask: &Ask{Key: "x"}}] = departure{} },
		"nominees: not listed":          func(p *Partition) { p.nominees = nil },
		"priority class: users":         func(p *Partition) { p.classNames.named[0].users++ },
		"completing: not waited for":    func(p *Partition) { p.completing.PushBack(completingSince{app: &Application{id: "x"}}) },
	} {
		t.Run(name, func(t *testing.T) {
			p := audited(t)
			damage(p)
			assert.Assert(t, p.Check() != nil, "a whole recount finds nothing")
			for _, budget := range []int{1, 1000} {
				_, err := audit(p, budget)
				assert.Assert(t, err != nil, "the audit finds nothing, with a budget of %d", budget)
			}
		})
	}
}

// What changes between two steps is not wrong.
func TestAudit_IsExactWhileTheStateChanges(t *testing.T) {
	p, now := audited(t), time.Unix(1_000_000_100, 0)
	a := p.NewAudit()
	for i, done := 0, false; !done; i++ {
		var err error
		done, err = a.Step(1)
		assert.NilError(t, err)
		id := AppID(fmt.Sprint("more", i))
		assert.NilError(t, p.AddApplication(id, security.User{Name: "bob"}, "root.b", nil, now))
		_, err = p.AddAsk(&Ask{Key: AllocationKey(id), App: id, Amounts: few(2)}, now)
		assert.NilError(t, err)
		if i%3 == 1 {
			p.RemoveApplication(AppID(fmt.Sprint("more", i-1)), now)
			p.RemoveApplication(AppID(fmt.Sprint("app", i/3)), now)
		}
		p.Settle()
		if x := p.work[AllocationKey(id)]; x != nil && i%2 == 0 {
			assert.NilError(t, p.Place(x, p.nodes["n2"], now))
		}
	}
	assert.NilError(t, p.Check())
}

// A step looks at no more than its budget, and the object that it ends with.
func TestAudit_StepsAreBounded(t *testing.T) {
	p, _, now := leafWith(t, DefaultLifetimes())
	for i := range 500 {
		id := AppID(fmt.Sprint("a", i))
		assert.NilError(t, p.AddApplication(id, security.User{}, "root.leaf", nil, now))
		_, err := p.AddAsk(&Ask{Key: AllocationKey(id), App: id, Amounts: few(1)}, now)
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
