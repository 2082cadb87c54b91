package scheduler_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"gotest.tools/v3/assert"

	"github.com/canopy-scheduler/canopy/pkg/configs"
	"github.com/canopy-scheduler/canopy/pkg/objects"
	"github.com/canopy-scheduler/canopy/pkg/resources"
	"github.com/canopy-scheduler/canopy/pkg/scheduler"
)

// quotaEnforcementCore is a Core whose queue root.a runs something and gets other settings.
type quotaEnforcementCore struct {
	t         *testing.T
	core      *scheduler.Core
	now       time.Time
	preempted []objects.AllocationKey // to leave
}

// queueSettings are those of root.a; off leaves it without the switch of the partition.
type queueSettings struct {
	max      string // of root.a, as in queues.yaml; empty: none
	delay    time.Duration
	disabled bool
	children string // queues of root.a, as in queues.yaml; empty: it is a leaf
	removed  bool   // it is not in the configuration
	dynamic  bool   // it is not either, but placement rules make it
}

func (s queueSettings) conf(t *testing.T) configs.Partition {
	t.Helper()
	text := fmt.Sprintf("partitions:\n- name: default\n  preemption: {quotapreemptionenabled: %t}\n", !s.disabled)
	text += "  placementrules: [{name: provided, create: true}]\n"
	text += "  queues:\n  - name: root\n    submitacl: '*'\n    queues:\n    - name: other\n"
	text = strings.Replace(text, "submitacl: '*'\n", "submitacl: '*'\n    childtemplate: {resources: {max: {vcore: 5m}}, properties: {quota.preemption.delay: 1s}}\n", 1)
	if !s.removed && !s.dynamic {
		text += fmt.Sprintf("    - name: a\n      properties: {quota.preemption.delay: %s}\n", s.delay)
		if s.max != "" {
			text += fmt.Sprintf("      resources: {max: {%s}}\n", s.max)
		}
		if s.children != "" {
			text += "      queues: [" + s.children + "]\n"
		}
	}
	conf, problems := configs.Load([]byte(text))
	assert.Assert(t, conf != nil, "%v", problems)
	return conf.Partitions[0]
}

// newQuotaEnforcementCore has a node and an application in root.a, or in the leaf below it.
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

// due is when the max of a queue is enforced, in seconds from the beginning, or "never".
func (l *quotaEnforcementCore) due(path objects.QueuePath) string {
	q, ok := l.core.Partition().Queue(path)
	assert.Assert(l.t, ok, "there is no queue %s", path)
	if a, above := l.core.Partition().AboveMax(q); above {
		return fmt.Sprint(a.Due.Sub(epoch).Seconds())
	}
	return "never"
}

// Arming, by the numbers of section 6.4 of the sheet. At 10 seconds 6 vcores and 6 memory
// run in root.a, at 100 it gets other settings. Where the sheet says what the numbers were
// meant to be and are not, it is as they were meant.
func TestQuotaEnforcement_DueTimeAfterReload(t *testing.T) {
	const delay, longer, at = 600 * time.Second, 900 * time.Second, "never"
	for _, c := range []struct {
		name          string
		before, after queueSettings
		was, is       string // when it is due
	}{
		{"6.4 1 a delay of zero calls it off", queueSettings{max: "vcore: 5m", delay: delay}, queueSettings{max: "vcore: 5m"}, "610", at},
		{"6.4 2 no max calls it off", queueSettings{max: "vcore: 5m", delay: delay}, queueSettings{delay: delay}, "610", at},
		{"6.4 3 a max that is not exceeded calls it off",
			queueSettings{max: "vcore: 5m", delay: delay}, queueSettings{max: "vcore: 6m", delay: delay}, "610", at},
		{"6.4 3 only what the max names counts",
			queueSettings{max: "vcore: 5m", delay: delay}, queueSettings{max: "gpu: 1", delay: delay}, "610", at},
		{"6.4 4 the same max, and a delay at last", queueSettings{max: "vcore: 5m"}, queueSettings{max: "vcore: 5m", delay: delay}, at, "700"},
		{"6.4 4 the same max, and another delay",
			queueSettings{max: "vcore: 5m", delay: delay}, queueSettings{max: "vcore: 5m", delay: longer}, "610", "910"},
		{"6.4 4 the same max and the same delay",
			queueSettings{max: "vcore: 5m", delay: delay}, queueSettings{max: "vcore: 5m", delay: delay}, "610", "610"},
		{"6.4 5 a max that is lowered", queueSettings{max: "vcore: 8m", delay: delay}, queueSettings{max: "vcore: 5m", delay: delay}, at, "700"},
		{"6.4 5 a max that is lowered again",
			queueSettings{max: "vcore: 5m", delay: delay}, queueSettings{max: "vcore: 4m", delay: delay}, "610", "610"},
		{"6.4 5 a max that is lowered again, and another delay",
			queueSettings{max: "vcore: 5m", delay: delay}, queueSettings{max: "vcore: 4m", delay: longer}, "610", "910"},
		{"6.4 5 a max that is lowered and not exceeded",
			queueSettings{max: "vcore: 8m", delay: delay}, queueSettings{max: "vcore: 6m", delay: delay}, at, at},
		{"6.4 6 a max that is raised, not enough",
			queueSettings{max: "vcore: 4m", delay: delay}, queueSettings{max: "vcore: 5m", delay: delay}, "610", "610"},
		{"6.4 6 a max that is raised, not enough, and another delay",
			queueSettings{max: "vcore: 4m", delay: delay}, queueSettings{max: "vcore: 5m", delay: longer}, "610", "910"},
		{"6.4 7 one kind up and another down",
			queueSettings{max: "vcore: 8m, memory: 6", delay: delay}, queueSettings{max: "vcore: 5m, memory: 9", delay: delay}, at, "700"},
		{"6.4 7 one kind up and another down, again",
			queueSettings{max: "vcore: 5m, memory: 4", delay: delay}, queueSettings{max: "vcore: 4m, memory: 5", delay: delay}, "610", "610"},
		{"13.3 11 from no max to a max", queueSettings{delay: delay}, queueSettings{max: "vcore: 5m", delay: delay}, at, "700"},
		{"13.3 11 one more kind", queueSettings{max: "vcore: 8m", delay: delay}, queueSettings{max: "vcore: 8m, memory: 4", delay: delay}, at, "700"},
		{"13.3 11 a max of zero in one kind",
			queueSettings{max: "vcore: 8m", delay: delay}, queueSettings{max: "vcore: 8m, memory: 0", delay: delay}, at, "700"},
		{"the switch of the partition goes off",
			queueSettings{max: "vcore: 5m", delay: delay}, queueSettings{max: "vcore: 5m", delay: delay, disabled: true}, "610", at},
		{"the switch of the partition goes on",
			queueSettings{max: "vcore: 5m", delay: delay, disabled: true}, queueSettings{max: "vcore: 5m", delay: delay}, at, "700"},
		{"a queue that drains is still above its max", queueSettings{max: "vcore: 5m", delay: delay}, queueSettings{removed: true}, "610", "610"},
		{"a queue that drains is not, once the switch is off",
			queueSettings{max: "vcore: 5m", delay: delay}, queueSettings{removed: true, disabled: true}, "610", at},
		{"a dynamic queue never is", queueSettings{dynamic: true}, queueSettings{dynamic: true}, at, at},
		{"a dynamic queue is, once the configuration names it",
			queueSettings{dynamic: true}, queueSettings{max: "vcore: 5m", delay: delay}, at, "700"},
		{"a queue that is dynamic again is not",
			queueSettings{dynamic: true}, queueSettings{dynamic: true}, at, at},
		{"what is below counts", queueSettings{max: "vcore: 5m", delay: delay, children: "{name: b}"},
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
			if strings.HasPrefix(c.name, "a queue that is dynamic again") {
				l.use(queueSettings{max: "vcore: 5m", delay: delay})
				assert.Equal(t, l.due("root.a"), "700")
				l.use(c.after)
				assert.Equal(t, l.due("root.a"), at)
			}
			l.now = epoch.Add(time.Hour)
			l.apply(scheduler.Wake{})
			l.schedule()
			assert.Equal(t, len(l.preempted) == 1, c.is != at, "%v were told", l.preempted)
		})
	}
}

// What else brings a queue above its max, or within it.
func TestQuotaEnforcement_CausesOfExcess(t *testing.T) {
	five := queueSettings{max: "vcore: 5m", delay: time.Minute}
	for _, c := range []struct {
		name string
		do   func(l *quotaEnforcementCore)
		want string
	}{
		{"6.4 recovery", func(l *quotaEnforcementCore) { l.report("k2", vcores(2)) }, "70"},
		{"6.4 the resource manager places an ask", func(l *quotaEnforcementCore) {
			l.apply(scheduler.SubmitAsk{Ask: &objects.Ask{Key: "k2", App: "x", Amounts: vcores(2)}})
			l.schedule() // there is no room for it
			l.report("k2", vcores(2))
		}, "70"},
		{"6.4 a resize", func(l *quotaEnforcementCore) { l.report("k", vcores(6)) }, "70"},
		{"6.4 a resize of what is too much already", func(l *quotaEnforcementCore) {
			l.report("k", vcores(6))
			l.now = l.now.Add(time.Second)
			l.report("k", vcores(9))
		}, "70"},
		{"another forced increase", func(l *quotaEnforcementCore) {
			l.report("k2", vcores(2))
			l.now = l.now.Add(time.Second)
			l.report("k3", vcores(2))
		}, "70"},
		{"exactly the max is not above it", func(l *quotaEnforcementCore) { l.report("k2", vcores(1)) }, "never"},
		{"an end brings it back", func(l *quotaEnforcementCore) { l.report("k2", vcores(2)); l.release("k2") }, "never"},
		{"a resize brings it back", func(l *quotaEnforcementCore) { l.report("k", vcores(6)); l.report("k", vcores(5)) }, "never"},
		{"a node that goes brings it back", func(l *quotaEnforcementCore) {
			l.report("k2", vcores(2))
			l.apply(scheduler.RemoveNode{Node: "n"})
		}, "never"},
		{"its application goes", func(l *quotaEnforcementCore) {
			l.report("k2", vcores(2))
			l.apply(scheduler.RemoveApplication{App: "x"})
		}, "never"},
		{"the resource manager starts anew", func(l *quotaEnforcementCore) { l.report("k2", vcores(2)); l.apply(scheduler.ResetPartition{}) }, "never"},
		{"who was told to leave does not count", func(l *quotaEnforcementCore) {
			l.report("k2", vcores(2))
			l.now = l.now.Add(time.Minute)
			l.schedule()
			assert.Equal(l.t, len(l.preempted), 1)
		}, "never"},
		{"one who was told to leave and grows does not count either", func(l *quotaEnforcementCore) {
			l.report("k2", vcores(2))
			l.now = l.now.Add(time.Minute)
			l.schedule()
			l.report(l.preempted[0], vcores(20))
		}, "never"},
		{"what comes above it while others leave has the whole delay", func(l *quotaEnforcementCore) {
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

// Two queues on one path are above their max: who leaves the lower leaves the upper too.
func TestQuotaEnforcement_ChildQueueFirst(t *testing.T) {
	s := queueSettings{max: "vcore: 8m", delay: time.Minute, children: "{name: b, resources: {max: {vcore: 7m}}}, {name: c}"}
	l := newQuotaEnforcementCore(t, s)
	l.apply(scheduler.AddApplication{App: "y", Queue: "root.a.c"})
	l.report("b1", vcores(4))
	l.report("b2", vcores(4))
	l.now = l.now.Add(time.Second)
	l.apply(scheduler.ReportAllocation{Node: "n", Ask: &objects.Ask{Key: "c1", App: "y", Amounts: vcores(4)}}) // the newest
	assert.Equal(t, l.due("root.a")+" "+l.due("root.a.b"), "61 60")
	l.now = l.now.Add(time.Hour)
	l.schedule()
	assert.DeepEqual(t, l.preempted, []objects.AllocationKey{"b2"})
}

// What leaves for a max is room that an ask can wait for: it takes the place of nobody else.
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
	l.apply(scheduler.ReportAllocation{Node: "n", Ask: &objects.Ask{Key: "newest", App: "z", Amounts: vcores(4)}}) // the ask would take it
	l.apply(scheduler.SubmitAsk{Ask: &objects.Ask{Key: "wants", App: "y", Amounts: vcores(4), Policy: objects.PolicySent | objects.PolicyAllowPreemptOther}})
	l.now = l.now.Add(time.Minute)
	l.schedule()
	assert.DeepEqual(t, l.preempted, []objects.AllocationKey{"k2"})
	l.release("k2")
	l.schedule()
	x, ok := l.core.Partition().Allocation("wants")
	assert.Assert(t, ok && !x.Pending(), "the room that was made is not used")
}

// A queue that cannot be brought within its max is looked at again, but not for nothing: not
// within five seconds, and not when nothing has changed.
func TestQuotaEnforcement_RetriesAfterAChange(t *testing.T) {
	l := newQuotaEnforcementCore(t, queueSettings{max: "vcore: 5m", delay: time.Minute})
	l.apply(scheduler.ReportAllocation{Node: "n", Ask: &objects.Ask{Key: "bound", App: "x", Amounts: vcores(6), RequiredNode: "n"}})
	l.now = l.now.Add(time.Minute)
	l.apply(scheduler.Wake{})
	_, set := l.core.NextDeadline()
	assert.Assert(t, !set, "it is due, and wants to be woken for that again")
	l.schedule()
	_, set = l.core.NextDeadline()
	assert.Assert(t, !set, "there is nothing to wait for")

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

// A delay that becomes longer at the last moment holds, and each queue waits for its own time.
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

// A cluster that is idle but for a max that was lowered still brings it in force, and one
// decision after the other.
func TestQuotaEnforcement_CountsAgainstTheBudget(t *testing.T) {
	l := newQuotaEnforcementCore(t, queueSettings{max: "vcore: 5m", delay: time.Minute, children: "{name: b, resources: {max: {vcore: 3m}}}"})
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
