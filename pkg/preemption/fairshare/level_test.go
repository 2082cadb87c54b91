package fairshare_test

import (
	"fmt"
	"math"
	"testing"
	"time"

	"gotest.tools/v3/assert"

	"github.com/canopy-scheduler/canopy/pkg/configs/queuesyaml"
	"github.com/canopy-scheduler/canopy/pkg/objects"
	"github.com/canopy-scheduler/canopy/pkg/preemption/fairshare"
	"github.com/canopy-scheduler/canopy/pkg/scheduler"
	"github.com/canopy-scheduler/canopy/pkg/security"
)

// partition is a partition with two nodes and an application in each leaf, with the same name.
type partition struct {
	t    *testing.T
	core *scheduler.Core
	keys int
}

var epoch = time.Unix(1_000_000_000, 0)

func newPartition(t *testing.T, queues string) *partition {
	t.Helper()
	conf, problems := queuesyaml.Load([]byte(`
partitions:
  - name: default
    queues:
      - name: root
        submitacl: '*'
        properties: {preemption.fairshare: enabled}
        queues: ` + queues))
	assert.Assert(t, conf != nil, "%v", problems)
	p := &partition{t: t, core: scheduler.New(conf.Partitions[0], nil)}
	p.core.Step(epoch, scheduler.AddNode{Node: "n1", Total: amounts(20, 4), Schedulable: true})
	p.core.Step(epoch, scheduler.AddNode{Node: "n2", Total: amounts(10, 8), Schedulable: true})
	p.core.Schedule(epoch, 1) // percents follow the nodes
	for q := range objects.EachQueue(p.core.Partition()) {
		if q.Leaf() {
			p.core.Step(epoch, scheduler.AddApplication{App: objects.AppID(q.Name()), Queue: string(q.Path()),
				User: security.User{Name: "user of " + q.Name()}})
		}
	}
	return p
}

// ask submits n asks; on a node they are reported as allocations.
func (p *partition) ask(app objects.AppID, n, vcore, gpu int, on objects.NodeID) {
	for range n {
		p.keys++
		ask := &objects.Ask{Key: objects.AllocationKey(fmt.Sprint(app, p.keys)), App: app, Amounts: amounts(vcore, gpu)}
		if on == "" {
			p.core.Step(epoch, scheduler.SubmitAsk{Ask: ask})
		} else {
			p.core.Step(epoch, scheduler.ReportAllocation{Ask: ask, Node: on})
		}
	}
}

// share returns the share of the side of an application below a queue, and whether that is contested.
func (p *partition) share(of *fairshare.Shares, below objects.QueuePath, app objects.AppID, resource string) string {
	part := p.core.Partition()
	q, ok := part.Queue(below)
	assert.Assert(p.t, ok)
	a, ok := part.Application(app)
	assert.Assert(p.t, ok)
	k, ok := objects.ResourceIndex(part, resource)
	assert.Assert(p.t, ok)
	share, limited := of.Level(q).SideOf(a).Share(k)
	return fmt.Sprint(share, map[bool]string{true: ", contested", false: ""}[limited])
}

// Shares follow from weights, guarantees, maxima and what is wanted, and from every change of these.
func TestLevel_SharesFollowChanges(t *testing.T) {
	p := newPartition(t, `[{name: a, properties: {fairness.weight: "2"}}, {name: b},
          {name: c, resources: {guaranteed: {vcore: 9m}, max: {vcore: 12m}}}]`)
	shares := fairshare.New(p.core.Partition())
	all := func() (text []string) {
		for _, app := range []objects.AppID{"a", "b", "c"} {
			text = append(text, p.share(shares, "root", app, "vcore"))
		}
		return text
	}
	p.ask("a", 10, 4, 0, "")
	assert.DeepEqual(t, all(), []string{"30, contested", "0, contested", "0, contested"})
	p.ask("b", 10, 4, 0, "")
	assert.DeepEqual(t, all(), []string{"20, contested", "10, contested", "0, contested"})
	p.ask("c", 2, 2, 0, "")
	assert.DeepEqual(t, all(), []string{"17.333333333333332, contested", "8.666666666666666, contested", "4, contested"})
	p.ask("c", 2, 4, 0, "")
	assert.DeepEqual(t, all(), []string{"14, contested", "7, contested", "9, contested"})
	p.core.Step(epoch, scheduler.SetCapacity{Node: "n1", Total: amounts(50, 4)})
	assert.DeepEqual(t, all(), []string{"32, contested", "16, contested", "12, contested"}) // c: at most its max
	p.core.Step(epoch, scheduler.RemoveApplication{App: "b"})
	p.core.Step(epoch, scheduler.AddApplication{App: "b", Queue: "root.b", User: security.User{Name: "u"}})
	assert.DeepEqual(t, all(), []string{"40", "0", "12"})
}

// What no node, no max and no limit could ever admit is not wanted, nor what is on hold.
func TestDemand_LeavesOutWhatCannotBePlaced(t *testing.T) {
	p := newPartition(t, `[{name: a, resources: {max: {vcore: 5m}}},
          {name: b, limits: [{limit: l, users: ['*'], maxresources: {vcore: 6m}}]}, {name: c},
          {name: d, resources: {max: {vcore: 10%}}}]`)
	shares := fairshare.New(p.core.Partition())
	p.ask("a", 1, 3, 0, "")
	p.ask("b", 1, 3, 0, "")
	p.ask("c", 1, 3, 0, "")
	want := []string{"3", "3", "3"}
	for _, more := range []func(){
		func() {},
		func() { p.ask("a", 10, 6, 0, "") },  // above the max
		func() { p.ask("b", 10, 7, 0, "") },  // above the limit
		func() { p.ask("c", 10, 21, 0, "") }, // n1 has 20
		func() { p.ask("c", 10, 1, 9, "") },  // n2 has 8
	} {
		more()
		assert.DeepEqual(t, []string{p.share(shares, "root", "a", "vcore"), p.share(shares, "root", "b", "vcore"),
			p.share(shares, "root", "c", "vcore")}, want)
	}
	p.ask("d", 1, 6, 0, "")
	assert.Equal(t, p.share(shares, "root", "d", "vcore"), "3", "a percent keeps no ask away: nodes may join")
	p.ask("c", 1, 12, 0, "")
	assert.Equal(t, p.share(shares, "root", "c", "vcore"), "15")
	p.core.Step(epoch, scheduler.Operate{Action: scheduler.HoldApplication, App: "c"})
	assert.Equal(t, p.share(shares, "root", "c", "vcore"), "0")
}

// Of a queue that is not root its sides share what it holds, or its own share if that is more.
func TestLevel_TotalOfAQueueBelow(t *testing.T) {
	p := newPartition(t, `[{name: d, parent: true, queues: [{name: x}, {name: y}]}, {name: e}]`)
	shares := fairshare.New(p.core.Partition())
	p.ask("x", 5, 2, 0, "n1")
	p.ask("x", 10, 2, 0, "")
	p.ask("y", 10, 2, 0, "")
	p.ask("e", 10, 2, 0, "n1")
	assert.Equal(t, p.share(shares, "root", "x", "vcore"), "15, contested")
	assert.Equal(t, p.share(shares, "root.d", "x", "vcore"), "7.5, contested", "of the share of d, 15")
	p.ask("x", 5, 2, 0, "n2")
	assert.Equal(t, p.share(shares, "root.d", "y", "vcore"), "10, contested", "of what d holds, 20")
}

// The excess counts contested resources, by weight and capacity (PRE-129).
func TestExcess_CountsWhatIsContested(t *testing.T) {
	p := newPartition(t, `[{name: a, properties: {fairness.weight: "2"}}, {name: b}]`)
	shares := fairshare.New(p.core.Partition())
	p.ask("a", 1, 15, 0, "n1")
	p.ask("a", 1, 0, 2, "n2")
	p.ask("a", 10, 5, 0, "")
	p.ask("b", 10, 5, 0, "")
	excess := func(app objects.AppID) float64 {
		a, _ := p.core.Partition().Application(app)
		side := shares.Level(p.core.Partition().Root()).SideOf(a)
		return side.Excess(side.Held()) * 1e6
	}
	assert.Assert(t, math.Abs(excess("a")-(15.0-20)/30/2) < 1e-12, "nobody wants GPUs")
	assert.Assert(t, math.Abs(excess("b")-(0.0-10)/30) < 1e-12)
	p.core.Step(epoch, scheduler.RemoveApplication{App: "b"})
	p.core.Step(epoch, scheduler.SetCapacity{Node: "n1", Total: amounts(100, 4)})
	assert.Assert(t, math.IsInf(excess("a"), -1), "nothing is contested")
}
