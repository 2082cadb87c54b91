package scheduler_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"gotest.tools/v3/assert"

	"github.com/canopy-scheduler/canopy/pkg/configs"
	"github.com/canopy-scheduler/canopy/pkg/configs/queuesyaml"
	"github.com/canopy-scheduler/canopy/pkg/objects"
	"github.com/canopy-scheduler/canopy/pkg/resources"
	"github.com/canopy-scheduler/canopy/pkg/scheduler"
)

// quotaEnforcementCore is a Core with an application in root.a, whose settings change.
type quotaEnforcementCore struct {
	t         *testing.T
	core      *scheduler.Core
	now       time.Time
	preempted []objects.AllocationKey // in the order of their preemption
}

// queueSettings are the settings of root.a; disabled: without quotapreemptionenabled of the partition.
type queueSettings struct {
	max      string // of root.a, as in queues.yaml; empty: none
	delay    time.Duration
	disabled bool
	children string // queues of root.a, as in queues.yaml; empty: it is a leaf
	removed  bool   // root.a is not in the configuration
	dynamic  bool   // likewise, and a placement rule creates it
}

func (s queueSettings) conf(t *testing.T) configs.Partition {
	t.Helper()
	text := fmt.Sprintf("partitions:\n- name: default\n  preemption: {quotapreemptionenabled: %t}\n", !s.disabled)
	text += "  placementrules: [{name: provided, create: true}]\n"
	text += "  queues:\n  - name: root\n    submitacl: '*'\n    queues:\n    - name: other\n"
	text = strings.Replace(text, "submitacl: '*'\n",
		"submitacl: '*'\n    childtemplate: {resources: {max: {vcore: 5m}}, properties: {quota.preemption.delay: 1s}}\n", 1)
	if !s.removed && !s.dynamic {
		text += fmt.Sprintf("    - name: a\n      properties: {quota.preemption.delay: %s}\n", s.delay)
		if s.max != "" {
			text += fmt.Sprintf("      resources: {max: {%s}}\n", s.max)
		}
		if s.children != "" {
			text += "      queues: [" + s.children + "]\n"
		}
	}
	conf, problems := queuesyaml.Load([]byte(text))
	assert.Assert(t, conf != nil, "%v", problems)
	return conf.Partitions[0]
}

// newQuotaEnforcementCore has one node, and an application in root.a or in the leaf below it.
func newQuotaEnforcementCore(t *testing.T, s queueSettings) *quotaEnforcementCore {
	l := &quotaEnforcementCore{t: t, now: epoch, core: scheduler.New(s.conf(t), nil)}
	leaf := "root.a"
	if s.children != "" {
		leaf = "root.a.b"
	}
	l.apply(scheduler.AddNode{Node: "n", Total: vcores(1000), Schedulable: true}, addApp(leaf))
	return l
}

func (l *quotaEnforcementCore) apply(cmds ...scheduler.Command) {
	for _, cmd := range cmds {
		l.collect(l.core.Step(l.now, cmd))
	}
}

func (l *quotaEnforcementCore) collect(effects []scheduler.Effect) {
	assert.NilError(l.t, l.core.Check())
	for _, e := range effects {
		switch e := e.(type) {
		case scheduler.Released:
			if e.Type == scheduler.PreemptedByScheduler {
				l.preempted = append(l.preempted, e.Key)
			}
		case scheduler.Refused, scheduler.AskRejected, scheduler.ApplicationRejected:
			l.t.Fatalf("%v", e)
		}
	}
}

func (l *quotaEnforcementCore) schedule() {
	effects, _ := l.core.Schedule(l.now, 100)
	l.collect(effects)
}

func (l *quotaEnforcementCore) use(s queueSettings) {
	l.apply(scheduler.UseConfig{Partition: s.conf(l.t)})
}

func amounts(vcore, memory resources.Quantity) resources.Amounts {
	return resources.FromMap(map[string]resources.Quantity{"vcore": vcore, "memory": memory})
}

func (l *quotaEnforcementCore) report(key objects.AllocationKey, a resources.Amounts) {
	l.apply(scheduler.ReportAllocation{Node: "n", Ask: &objects.Ask{Key: key, App: "x", Amounts: a}})
}

func (l *quotaEnforcementCore) release(key string) { l.apply(release(key)) }

// due is when the max of a queue is enforced, in seconds from epoch, or "never".
func (l *quotaEnforcementCore) due(path objects.QueuePath) string {
	q, ok := l.core.Partition().Queue(path)
	assert.Assert(l.t, ok, "there is no queue %s", path)
	if a, above := q.Quota().AboveMax(l.core.Partition()); above {
		return fmt.Sprint(a.Due.Sub(epoch).Seconds())
	}
	return "never"
}

// The due time of an enforcement when the settings of root.a change at 100 seconds. 6 vcores and 6 memory
// run in it since 10 seconds.
func TestQuotaEnforcement_DueTimeAfterReload(t *testing.T) {
	const delay, longer, at = 600 * time.Second, 900 * time.Second, "never"
	for _, c := range []struct {
		name          string
		before, after queueSettings
		was, is       string // due times before and after the change
	}{
		{"QUO-49 a delay of zero cancels the enforcement", queueSettings{max: "vcore: 5m", delay: delay},
			queueSettings{max: "vcore: 5m"}, "610", at},
		{"QUO-49 no max cancels the enforcement", queueSettings{max: "vcore: 5m", delay: delay}, queueSettings{delay: delay},
			"610", at},
		{"QUO-49 a max that is not exceeded cancels the enforcement",
			queueSettings{max: "vcore: 5m", delay: delay}, queueSettings{max: "vcore: 6m", delay: delay}, "610", at},
		{"QUO-47 only resources of the max count",
			queueSettings{max: "vcore: 5m", delay: delay}, queueSettings{max: "gpu: 1", delay: delay}, "610", at},
		{"QUO-48 the same max, and a delay that was zero", queueSettings{max: "vcore: 5m"},
			queueSettings{max: "vcore: 5m", delay: delay}, at, "700"},
		{"QUO-48 the same max, and another delay",
			queueSettings{max: "vcore: 5m", delay: delay}, queueSettings{max: "vcore: 5m", delay: longer}, "610", "910"},
		{"QUO-48 the same max and the same delay",
			queueSettings{max: "vcore: 5m", delay: delay}, queueSettings{max: "vcore: 5m", delay: delay}, "610", "610"},
		{"QUO-48 a lowered max", queueSettings{max: "vcore: 8m", delay: delay}, queueSettings{max: "vcore: 5m", delay: delay},
			at, "700"},
		{"QUO-48 a max that is lowered again",
			queueSettings{max: "vcore: 5m", delay: delay}, queueSettings{max: "vcore: 4m", delay: delay}, "610", "610"},
		{"QUO-48 a max that is lowered again, and another delay",
			queueSettings{max: "vcore: 5m", delay: delay}, queueSettings{max: "vcore: 4m", delay: longer}, "610", "910"},
		{"QUO-48 a lowered max that is not exceeded",
			queueSettings{max: "vcore: 8m", delay: delay}, queueSettings{max: "vcore: 6m", delay: delay}, at, at},
		{"QUO-48 a raised max that is exceeded",
			queueSettings{max: "vcore: 4m", delay: delay}, queueSettings{max: "vcore: 5m", delay: delay}, "610", "610"},
		{"QUO-48 a raised max that is exceeded, and another delay",
			queueSettings{max: "vcore: 4m", delay: delay}, queueSettings{max: "vcore: 5m", delay: longer}, "610", "910"},
		{"QUO-47 one resource raised and another lowered",
			queueSettings{max: "vcore: 8m, memory: 6", delay: delay}, queueSettings{max: "vcore: 5m, memory: 9", delay: delay},
			at, "700"},
		{"QUO-47 one resource raised and another lowered, while above",
			queueSettings{max: "vcore: 5m, memory: 4", delay: delay}, queueSettings{max: "vcore: 4m, memory: 5", delay: delay},
			"610", "610"},
		{"QUO-47 a max where there was none", queueSettings{delay: delay}, queueSettings{max: "vcore: 5m", delay: delay}, at,
			"700"},
		{"QUO-47 one more resource in the max", queueSettings{max: "vcore: 8m", delay: delay},
			queueSettings{max: "vcore: 8m, memory: 4", delay: delay}, at, "700"},
		{"QUO-47 a max of zero in one resource",
			queueSettings{max: "vcore: 8m", delay: delay}, queueSettings{max: "vcore: 8m, memory: 0", delay: delay}, at, "700"},
		{"quotapreemptionenabled is switched off",
			queueSettings{max: "vcore: 5m", delay: delay}, queueSettings{max: "vcore: 5m", delay: delay, disabled: true}, "610",
			at},
		{"quotapreemptionenabled is switched on",
			queueSettings{max: "vcore: 5m", delay: delay, disabled: true}, queueSettings{max: "vcore: 5m", delay: delay}, at,
			"700"},
		{"QUO-51 a draining queue stays enforced", queueSettings{max: "vcore: 5m", delay: delay},
			queueSettings{removed: true}, "610", "610"},
		{"QUO-51 a draining queue is not enforced without the switch",
			queueSettings{max: "vcore: 5m", delay: delay}, queueSettings{removed: true, disabled: true}, "610", at},
		{"QUO-51 a dynamic queue is not enforced", queueSettings{dynamic: true}, queueSettings{dynamic: true}, at, at},
		{"QUO-51 a dynamic queue that is now configured",
			queueSettings{dynamic: true}, queueSettings{max: "vcore: 5m", delay: delay}, at, "700"},
		{"QUO-51 a configured queue that is dynamic again",
			queueSettings{dynamic: true}, queueSettings{dynamic: true}, at, at},
		{"allocations below the queue count", queueSettings{max: "vcore: 5m", delay: delay, children: "{name: b}"},
			queueSettings{max: "vcore: 5m", delay: delay, children: "{name: b}"}, "610", "610"},
	} {
		t.Run(c.name, func(t *testing.T) {
			l := newQuotaEnforcementCore(t, c.before)
			l.now = epoch.Add(10 * time.Second)
			l.report("k", amounts(6, 6))
			assert.Equal(t, l.due("root.a"), c.was)
			l.now = epoch.Add(100 * time.Second)
			l.use(c.after)
			assert.Equal(t, l.due("root.a"), c.is)
			if strings.HasPrefix(c.name, "QUO-51 a configured queue that is dynamic again") {
				l.use(queueSettings{max: "vcore: 5m", delay: delay})
				assert.Equal(t, l.due("root.a"), "700")
				l.use(c.after)
				assert.Equal(t, l.due("root.a"), at)
			}
			l.now = epoch.Add(time.Hour)
			l.apply(scheduler.Wake{})
			l.schedule()
			assert.Equal(t, len(l.preempted) == 1, c.is != at, "victims: %v", l.preempted)
		})
	}
}

// Other causes of an excess, and of its end.
func TestQuotaEnforcement_CausesOfExcess(t *testing.T) {
	five := queueSettings{max: "vcore: 5m", delay: time.Minute}
	for _, c := range []struct {
		name string
		do   func(l *quotaEnforcementCore)
		want string
	}{
		{"QUO-47 QUO-62 a reported allocation", func(l *quotaEnforcementCore) { l.report("k2", vcores(2)) }, "70"},
		{"QUO-47 a reported allocation of a pending ask", func(l *quotaEnforcementCore) {
			l.apply(scheduler.SubmitAsk{Ask: &objects.Ask{Key: "k2", App: "x", Amounts: vcores(2)}})
			l.schedule() // the queue has no headroom for it
			l.report("k2", vcores(2))
		}, "70"},
		{"QUO-47 a resize", func(l *quotaEnforcementCore) { l.report("k", vcores(6)) }, "70"},
		{"QUO-48 a resize above the max", func(l *quotaEnforcementCore) {
			l.report("k", vcores(6))
			l.now = l.now.Add(time.Second)
			l.report("k", vcores(9))
		}, "70"},
		{"another reported allocation", func(l *quotaEnforcementCore) {
			l.report("k2", vcores(2))
			l.now = l.now.Add(time.Second)
			l.report("k3", vcores(2))
		}, "70"},
		{"using exactly the max", func(l *quotaEnforcementCore) { l.report("k2", vcores(1)) }, "never"},
		{"a release ends the excess", func(l *quotaEnforcementCore) { l.report("k2", vcores(2)); l.release("k2") }, "never"},
		{"a resize ends the excess", func(l *quotaEnforcementCore) { l.report("k", vcores(6)); l.report("k", vcores(5)) },
			"never"},
		{"the removal of the node ends the excess", func(l *quotaEnforcementCore) {
			l.report("k2", vcores(2))
			l.apply(scheduler.RemoveNode{Node: "n"})
		}, "never"},
		{"the removal of the application ends the excess", func(l *quotaEnforcementCore) {
			l.report("k2", vcores(2))
			l.apply(scheduler.RemoveApplication{App: "x"})
		}, "never"},
		{"a reset of the partition ends the excess",
			func(l *quotaEnforcementCore) { l.report("k2", vcores(2)); l.apply(scheduler.ResetPartition{}) }, "never"},
		{"QUO-50 a preempting allocation does not count", func(l *quotaEnforcementCore) {
			l.report("k2", vcores(2))
			l.now = l.now.Add(time.Minute)
			l.schedule()
			assert.Equal(l.t, len(l.preempted), 1)
		}, "never"},
		{"QUO-50 a preempting allocation that grows does not count", func(l *quotaEnforcementCore) {
			l.report("k2", vcores(2))
			l.now = l.now.Add(time.Minute)
			l.schedule()
			l.report(l.preempted[0], vcores(20))
		}, "never"},
		{"QUO-48 a new excess while victims end has the whole delay", func(l *quotaEnforcementCore) {
			l.report("k2", vcores(2))
			l.now = l.now.Add(time.Minute)
			l.schedule() // k2, the newest
			l.report("k3", vcores(2))
		}, "130"},
	} {
		t.Run(c.name, func(t *testing.T) {
			l := newQuotaEnforcementCore(t, five)
			l.report("k", vcores(4))
			l.now = l.now.Add(10 * time.Second)
			c.do(l)
			assert.Equal(t, l.due("root.a"), c.want)
			at, set := l.core.NextDeadline()
			want := epoch
			if c.want != "never" {
				seconds, err := time.ParseDuration(c.want + "s")
				assert.NilError(t, err)
				want = epoch.Add(seconds)
			}
			assert.Equal(t, set && at.Equal(want), c.want != "never", "next deadline %v", at)
		})
	}
}

// Two queues on one path are above their max: the victims of the lower queue are enough for both (QUO-59).
func TestQuotaEnforcement_ChildQueueFirst(t *testing.T) {
	s := queueSettings{max: "vcore: 8m", delay: time.Minute,
		children: "{name: b, resources: {max: {vcore: 7m}}}, {name: c}"}
	l := newQuotaEnforcementCore(t, s)
	l.apply(scheduler.AddApplication{App: "y", Queue: "root.a.c"})
	l.report("b1", vcores(4))
	l.report("b2", vcores(4))
	l.now = l.now.Add(time.Second)
	// the newest
	l.apply(scheduler.ReportAllocation{Node: "n", Ask: &objects.Ask{Key: "c1", App: "y", Amounts: vcores(4)}})
	assert.Equal(t, l.due("root.a")+" "+l.due("root.a.b"), "61 60")
	l.now = l.now.Add(time.Hour)
	l.schedule()
	assert.DeepEqual(t, l.preempted, []objects.AllocationKey{"b2"})
}

// An ask waits for the victims of an enforced max and preempts no others (QUO-60).
func TestQuotaEnforcement_AskWaitsForItsVictims(t *testing.T) {
	s := queueSettings{max: "vcore: 4m", delay: time.Minute}
	conf := s.conf(t)
	conf.Root.Children[0].Guaranteed = resources.GuaranteeFromMap(map[string]resources.Quantity{"vcore": 4}) // root.other
	conf.Root.Children[0].PreemptionDelay = time.Second
	conf.Root.Children = append(conf.Root.Children, configs.Queue{Name: "third", Settings: configs.DefaultSettings()})
	l := &quotaEnforcementCore{t: t, now: epoch, core: scheduler.New(conf, nil)}
	l.apply(scheduler.AddNode{Node: "n", Total: vcores(12), Schedulable: true}, addApp("root.a"),
		scheduler.AddApplication{App: "y", Queue: "root.other"}, scheduler.AddApplication{App: "z", Queue: "root.third"})
	l.report("k1", vcores(4))
	l.report("k2", vcores(4))
	l.now = l.now.Add(time.Second)
	// the ask could preempt it
	l.apply(scheduler.ReportAllocation{Node: "n", Ask: &objects.Ask{Key: "newest", App: "z", Amounts: vcores(4)}})
	l.apply(scheduler.SubmitAsk{Ask: &objects.Ask{Key: "wants", App: "y", Amounts: vcores(4),
		Policy: objects.PolicySent | objects.PolicyAllowPreemptOther}})
	l.now = l.now.Add(time.Minute)
	l.schedule()
	assert.DeepEqual(t, l.preempted, []objects.AllocationKey{"k2"})
	l.release("k2")
	l.schedule()
	x, ok := l.core.Partition().Allocation("wants")
	assert.Assert(t, ok && !x.Pending(), "the ask was not placed")
}

// A queue that could not be brought within its max is evaluated again after five seconds, if something has
// changed (QUO-58).
func TestQuotaEnforcement_RetriesAfterAChange(t *testing.T) {
	l := newQuotaEnforcementCore(t, queueSettings{max: "vcore: 5m", delay: time.Minute})
	l.apply(scheduler.ReportAllocation{Node: "n",
		Ask: &objects.Ask{Key: "bound", App: "x", Amounts: vcores(6), Details: &objects.AskDetails{RequiredNode: "n"}}})
	l.now = l.now.Add(time.Minute)
	l.apply(scheduler.Wake{})
	_, set := l.core.NextDeadline()
	assert.Assert(t, !set, "an enforcement that is due is a deadline again")
	l.schedule()
	_, set = l.core.NextDeadline()
	assert.Assert(t, !set, "there is a deadline without a change")

	l.now = l.now.Add(time.Second)
	l.report("more", vcores(1))
	l.schedule()
	assert.Equal(t, len(l.preempted), 0)
	at, set := l.core.NextDeadline()
	assert.Assert(t, set && at.Equal(epoch.Add(65*time.Second)), "next deadline %v", at)
	l.now = at
	l.apply(scheduler.Wake{})
	l.schedule()
	assert.DeepEqual(t, l.preempted, []objects.AllocationKey{"more"})
	assert.Equal(t, l.due("root.a"), "60")
}

// A delay that becomes longer at the last moment holds, and each queue has its own delay.
func TestQuotaEnforcement_LongerDelayPostponesDueQueue(t *testing.T) {
	both := func(delay, below time.Duration) queueSettings {
		return queueSettings{max: "vcore: 5m", delay: delay,
			children: fmt.Sprintf("{name: b, properties: {quota.preemption.delay: %s}, resources: {max: {vcore: 3m}}}", below)}
	}
	l := newQuotaEnforcementCore(t, both(time.Minute, 2*time.Minute))
	l.report("k1", vcores(3))
	l.report("k2", vcores(3))
	l.now = l.now.Add(time.Minute)
	l.apply(scheduler.Wake{})
	l.use(both(3*time.Minute, 2*time.Minute))
	l.schedule()
	assert.Equal(t, len(l.preempted), 0)
	at, set := l.core.NextDeadline()
	assert.Assert(t, set && at.Equal(epoch.Add(2*time.Minute)), "next deadline %v", at)
	l.now = at
	l.apply(scheduler.Wake{})
	l.schedule()
	assert.DeepEqual(t, l.preempted, []objects.AllocationKey{"k2"})
}

// A queue is enforced in a cluster that is idle otherwise, and each enforcement is a decision of the
// budget.
func TestQuotaEnforcement_CountsAgainstTheBudget(t *testing.T) {
	l := newQuotaEnforcementCore(t,
		queueSettings{max: "vcore: 5m", delay: time.Minute, children: "{name: b, resources: {max: {vcore: 3m}}}"})
	for _, key := range []objects.AllocationKey{"k1", "k2", "k3", "k4"} {
		l.report(key, vcores(2))
	}
	l.now = l.now.Add(time.Minute)
	effects, more := l.core.Schedule(l.now, 1)
	assert.Assert(t, more)
	assert.Equal(t, len(scheduler.WithoutEvents(effects)), 3)
	effects, more = l.core.Schedule(l.now, 1)
	assert.Assert(t, !more && len(effects) == 0, "%v", effects)
}
