package scheduler_test

import (
	"fmt"
	"testing"
	"time"

	"gotest.tools/v3/assert"

	"github.com/canopy-scheduler/canopy/pkg/configs"
	"github.com/canopy-scheduler/canopy/pkg/configs/queuesyaml"
	"github.com/canopy-scheduler/canopy/pkg/objects"
	"github.com/canopy-scheduler/canopy/pkg/policies"
	"github.com/canopy-scheduler/canopy/pkg/scheduler"
	"github.com/canopy-scheduler/canopy/pkg/security"
)

// A group that backed off is evaluated again when its obstacle is gone, without any other change (PRE-95).
func TestPreemption_ReevaluatesWhenTheObstacleIsGone(t *testing.T) {
	ann := security.User{Name: "ann"}
	for _, c := range []struct {
		name, queues string
		before       func(w *evaluationCore)
		gone         scheduler.Command
		after        time.Duration // how much later gone comes
	}{
		{"the application of a StateAware leaf that starts first",
			"{name: a, properties: {application.sort.policy: stateaware, preemption.priority: fence}}",
			func(w *evaluationCore) { w.ask("one", "one", 5, 0) }, scheduler.RemoveApplication{App: "one"}, 0},
		{"a running application at maxapplications",
			"{name: a, maxapplications: 1, properties: {preemption.priority: fence}}",
			func(w *evaluationCore) {
				w.apply(scheduler.Release{App: "low", Key: "low"})
				w.ask("one", "one-1", 5, 0)
				w.ask("one", "one-2", 5, 0)
				w.apply(scheduler.Release{App: "one", Key: "one-1"}, scheduler.Release{App: "one", Key: "one-2"})
				w.ask("low", "low-2", 0, objects.PolicyAllowPreemptSelf)
				w.ask("one", "one-3", 5, 0)
			}, scheduler.RemoveApplication{App: "one"}, 0},
		{"the only ask of the application that starts first",
			"{name: a, properties: {application.sort.policy: stateaware, preemption.priority: fence}}",
			func(w *evaluationCore) { w.ask("one", "one", 5, 0) }, scheduler.Release{App: "one", Key: "one"}, 0},
		{"the ramp time of the application that starts first",
			"{name: a, properties: {application.sort.policy: stateaware, application.sort.priority: disabled, " +
				"preemption.priority: fence}}",
			func(w *evaluationCore) {
				w.apply(scheduler.AddNode{Node: "n2", Total: vcores(2), Schedulable: true})
				w.ask("one", "one", 5, 0)
				w.now = w.now.Add(policies.RampTime - 3*time.Second)
			}, scheduler.Wake{}, 2 * time.Second},
		{"the only ask of a running application at maxapplications",
			"{name: a, maxapplications: 1, properties: {preemption.priority: fence}}",
			func(w *evaluationCore) {
				w.apply(scheduler.Release{App: "low", Key: "low"})
				w.ask("one", "one-1", 5, 0)
				w.apply(scheduler.Release{App: "one", Key: "one-1"})
				w.ask("low", "low-2", 0, objects.PolicyAllowPreemptSelf)
				w.ask("one", "one-2", 5, 0)
			}, scheduler.Release{App: "one", Key: "one-2"}, 0},
		{"the max of a dynamic leaf from quota tags",
			"{name: dyn, parent: true, childtemplate: {properties: {preemption.priority: fence}}}",
			func(*evaluationCore) {},
			scheduler.AddApplication{App: "other", Queue: "root.dyn.x", User: ann,
				Tags: map[string]string{configs.TagMax: `{"resources":{"vcore":{"value":8}}}`}}, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			conf, problems := queuesyaml.Load(fmt.Appendf(nil,
				"partitions: [{reservation: {enabled: false}, placementrules: [{name: provided, create: true}], queues: [{name: "+
					"root, submitacl: '*', queues: [{name: low}, %s]}]}]", c.queues))
			assert.Assert(t, conf != nil, "%v", problems)
			w := &evaluationCore{t, scheduler.New(conf.Partitions[0], nil), epoch}
			leaf, maxTag := "root.a", ""
			if conf.Partitions[0].Root.Children[1].Parent {
				leaf, maxTag = "root.dyn.x", `{"resources":{"vcore":{"value":1}}}`
			}
			w.apply(scheduler.AddNode{Node: "n", Total: vcores(2), Schedulable: true},
				scheduler.AddApplication{App: "low", Queue: "root.low", User: ann},
				scheduler.AddApplication{App: "one", Queue: leaf, User: ann, Tags: map[string]string{configs.TagMax: maxTag}},
				scheduler.AddApplication{App: "two", Queue: leaf, User: ann, Tags: map[string]string{configs.TagMax: maxTag}})
			w.ask("low", "low", 0, objects.PolicyAllowPreemptSelf)
			c.before(w)
			w.ask("two", "two", 5, objects.PolicyAllowPreemptOther)
			assert.Equal(t, len(w.core.Partition().Nominees()), 0, "the ask must not preempt yet")
			w.now = w.now.Add(c.after)
			w.apply(c.gone)
			for range 4 {
				if len(w.core.Partition().Nominees()) > 0 {
					return
				}
				at, ok := w.core.NextDeadline()
				assert.Assert(t, ok && at.Sub(w.now) <= 5*time.Second, "the next deadline is %s", at)
				w.now = at
				w.apply(scheduler.Wake{})
			}
			t.Fatal("the group was not evaluated again")
		})
	}
}

// evaluationCore is a core and its time. All asks request two vcores.
type evaluationCore struct {
	t    *testing.T
	core *scheduler.Core
	now  time.Time
}

func (w *evaluationCore) apply(cmds ...scheduler.Command) {
	for _, cmd := range cmds {
		w.core.Step(w.now, cmd)
		w.core.Schedule(w.now, 10)
		assert.NilError(w.t, w.core.Check())
	}
}

func (w *evaluationCore) ask(app objects.AppID, key objects.AllocationKey, priority int32,
	policy objects.PreemptionPolicy) {
	w.now = w.now.Add(time.Second)
	w.apply(scheduler.SubmitAsk{Ask: &objects.Ask{Key: key, App: app, Amounts: vcores(2), Priority: priority,
		Policy: objects.PolicySent | policy}})
}
