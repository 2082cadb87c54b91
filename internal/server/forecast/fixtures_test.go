package forecast

import (
	"container/heap"
	"context"
	"fmt"
	"testing"
	"time"

	"gotest.tools/v3/assert"

	"github.com/canopy-scheduler/canopy/internal/server/durations"
	"github.com/canopy-scheduler/canopy/pkg/configs"
	"github.com/canopy-scheduler/canopy/pkg/configs/queuesyaml"
	"github.com/canopy-scheduler/canopy/pkg/lifecycle"
	"github.com/canopy-scheduler/canopy/pkg/objects"
	"github.com/canopy-scheduler/canopy/pkg/resources"
	"github.com/canopy-scheduler/canopy/pkg/scheduler"
	"github.com/canopy-scheduler/canopy/pkg/security"
)

var noon = time.Date(2026, 1, 2, 12, 0, 0, 0, time.UTC)

// lifetimes let an application live that has nothing for a while.
var lifetimes = lifecycle.Lifetimes{Completing: 1000 * time.Hour, Completed: time.Hour, Rejected: time.Hour,
	MaxEnded: 1}

// cluster is a scheduler whose allocations run for as long as life says, on virtual time.
type cluster struct {
	t      testing.TB
	conf   configs.Partition
	core   *scheduler.Core
	learnt *durations.Store
	now    time.Time
	life   func(app objects.AppID) time.Duration // how long its allocations run
	ends   endings
	starts map[objects.AllocationKey]time.Time
}

const twoLeaves = `
partitions:
- name: default
  queues:
  - name: root
    submitacl: '*'
    queues:
    - {name: a, properties: {preemption.delay: 1h}}
    - {name: b, properties: {preemption.delay: 1h}}
`

func newCluster(t testing.TB, text string) *cluster {
	t.Helper()
	conf, problems := queuesyaml.Load([]byte(text))
	assert.Assert(t, conf != nil, problems)
	c := &cluster{t: t, conf: conf.Partitions[0], now: noon, starts: map[objects.AllocationKey]time.Time{}}
	opt := objects.DefaultOptions()
	opt.Lifetimes = lifetimes
	c.core = scheduler.NewWith(c.conf, nil, opt)
	c.learnt = durations.New("team", func() time.Time { return c.now })
	c.life = func(objects.AppID) time.Duration { return time.Minute }
	c.note(nil)
	return c
}

func cores(n int64) resources.Amounts {
	return resources.FromMap(map[string]resources.Quantity{resources.VCore: resources.Quantity(1000 * n)})
}

func (c *cluster) note(effects []scheduler.Effect) {
	c.learnt.OnEffects("default", effects)
	for _, e := range effects {
		switch e := e.(type) {
		case scheduler.Allocated:
			c.starts[e.Ask.Key] = c.now
			heap.Push(&c.ends, ending{c.now.Add(c.life(e.Ask.App)), e.Ask.App, e.Ask.Key})
		case scheduler.AskRejected, scheduler.NodeRejected, scheduler.ApplicationRejected, scheduler.Refused:
			c.t.Fatal(e.String())
		}
	}
}

func (c *cluster) step(cmds ...scheduler.Command) {
	for _, cmd := range cmds {
		c.note(c.core.Step(c.now, cmd))
	}
}

func (c *cluster) node(id objects.NodeID, n int64) {
	c.step(scheduler.AddNode{Node: id, Total: cores(n), Schedulable: true})
}

func (c *cluster) app(id objects.AppID, queue string, tags map[string]string) {
	c.step(scheduler.AddApplication{App: id, User: security.User{Name: "ann", Groups: []string{"dev"}}, Queue: queue,
		Tags: tags})
}

func (c *cluster) ask(app objects.AppID, key objects.AllocationKey, n int64) {
	c.step(scheduler.SubmitAsk{Ask: &objects.Ask{Key: key, App: app, Amounts: cores(n)}})
}

// schedule places what can be placed.
func (c *cluster) schedule() {
	for {
		effects, more := c.core.Schedule(c.now, 100)
		c.note(effects)
		if !more {
			return
		}
	}
}

// goOn lets the time pass: allocations end when they have run, and the scheduler places.
func (c *cluster) goOn(by time.Duration) {
	until := c.now.Add(by)
	for c.schedule(); ; c.schedule() {
		next, due := c.core.NextDeadline()
		if len(c.ends) > 0 && (!due || c.ends[0].at.Before(next)) {
			next, due = c.ends[0].at, true
		}
		if !due || next.After(until) {
			break
		}
		c.now = next
		c.step(scheduler.Wake{})
		for len(c.ends) > 0 && !c.ends[0].at.After(c.now) {
			e := heap.Pop(&c.ends).(ending)
			c.step(scheduler.Release{App: e.app, Key: e.key, Type: scheduler.StoppedByRM})
		}
	}
	c.now = until
}

// learn has an application end allocations on a node of its own, as often as a group keeps durations.
func (c *cluster) learn(app objects.AppID) {
	c.node("learning", 1)
	for i := range durations.Kept {
		c.ask(app, objects.AllocationKey(fmt.Sprintf("%s-learn-%d", app, i)), 1)
		c.schedule()
		c.goOn(c.ends[len(c.ends)-1].at.Sub(c.now))
	}
	c.step(scheduler.RemoveNode{Node: "learning"})
}

func (c *cluster) state() State {
	return State{Snapshot: c.core.FullSnapshot(c.now), Config: c.conf, Lifetimes: lifetimes}
}

func (c *cluster) forecast(key objects.AllocationKey) Answer {
	c.t.Helper()
	answers, err := Make(context.Background(), c.state(), c.learnt, []objects.AllocationKey{key})
	assert.NilError(c.t, err)
	a, there := answers[key]
	assert.Assert(c.t, there)
	return a
}

// learntOf has learnt that allocations of a partition run for one to twenty minutes.
func learntOf(partition string) *durations.Store {
	now := noon
	s := durations.New("", func() time.Time { return now })
	s.OnEffects(partition, []scheduler.Effect{scheduler.ApplicationAccepted{App: "a", Queue: "root"}})
	for i := range 20 {
		key := objects.AllocationKey(fmt.Sprint(i))
		s.OnEffects(partition,
			[]scheduler.Effect{scheduler.Allocated{Binding: &scheduler.Binding{Ask: &objects.Ask{Key: key, App: "a"},
				Node: "n"}}})
		now = now.Add(time.Duration(i+1) * time.Minute)
		s.OnEffects(partition, []scheduler.Effect{scheduler.Released{Key: key, App: "a", Type: scheduler.StoppedByRM}})
	}
	return s
}
