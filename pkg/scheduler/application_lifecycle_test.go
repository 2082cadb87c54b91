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
	"github.com/canopy-scheduler/canopy/pkg/security"
)

// lifecycleCore is a Core with one node, and records the states that applications enter.
type lifecycleCore struct {
	t        *testing.T
	core     *scheduler.Core
	now      time.Time
	states   []string
	refusals []string
}

func newLifecycleCore(t *testing.T, queues string) *lifecycleCore {
	r := &lifecycleCore{t: t, now: epoch}
	r.core = scheduler.New(r.conf(queues), nil)
	r.apply(scheduler.AddNode{Node: "n", Total: vcores(10), Schedulable: true})
	return r
}

// conf is a configuration with these queues below root, one for each line.
func (r *lifecycleCore) conf(queues string) configs.Partition {
	text := "partitions:\n- name: default\n  placementrules: [{name: provided, create: true}]\n  queues:\n  - name: " +
		"root\n    submitacl: '*'\n    queues:\n"
	for _, line := range strings.Split(queues, "\n") {
		text += "    - {" + line + "}\n"
	}
	conf, problems := queuesyaml.Load([]byte(text))
	assert.Assert(r.t, conf != nil, "%v", problems)
	return conf.Partitions[0]
}

func (r *lifecycleCore) apply(cmds ...scheduler.Command) {
	for _, cmd := range cmds {
		r.collect(r.core.Step(r.now, cmd))
	}
	effects, _ := r.core.Schedule(r.now, 100)
	r.collect(effects)
	assert.NilError(r.t, r.core.Check())
}

func (r *lifecycleCore) collect(effects []scheduler.Effect) {
	for _, e := range effects {
		switch e := e.(type) {
		case scheduler.ApplicationUpdated:
			r.states = append(r.states, e.State.String())
		case scheduler.Refused:
			r.refusals = append(r.refusals, e.Reason)
		}
	}
}

func (r *lifecycleCore) advance(d time.Duration) {
	r.now = r.now.Add(d)
	r.apply(scheduler.Wake{})
}

func (r *lifecycleCore) queue(path objects.QueuePath) *objects.Queue {
	q, ok := r.core.Partition().Queue(path)
	assert.Assert(r.t, ok, "no queue %s", path)
	return q
}

func vcores(n resources.Quantity) resources.Amounts {
	return resources.FromMap(map[string]resources.Quantity{"vcore": n})
}

func addApp(queue string) scheduler.Command {
	return scheduler.AddApplication{App: "x", Queue: queue, User: security.User{Name: "ann"}}
}

func askCommand(key string, placeholder bool) scheduler.Command {
	ask := &objects.Ask{Key: objects.AllocationKey(key), App: "x", Amounts: vcores(1), Placeholder: placeholder}
	if placeholder {
		ask.Details = &objects.AskDetails{TaskGroup: "g"}
	}
	return scheduler.SubmitAsk{Ask: ask}
}

func release(key string) scheduler.Command {
	return scheduler.Release{App: "x", Key: objects.AllocationKey(key), Type: scheduler.StoppedByRM}
}

// An application is Completing when its last ask and allocation have ended.
func TestApplication_Completion(t *testing.T) {
	for _, c := range []struct {
		name string
		do   func(r *lifecycleCore)
		want string // the states after Accepted and Running
	}{
		{"APP-6 its last ask is cancelled", func(r *lifecycleCore) {
			r.apply(scheduler.SetSchedulable{Node: "n"}, askCommand("k", false), release("k"))
		}, "Completing"},
		{"APP-6 its last allocation ends", func(r *lifecycleCore) { r.apply(askCommand("k", false)); r.apply(release("k")) },
			"Completing"},
		{"APP-6 not while an ask is pending", func(r *lifecycleCore) {
			r.apply(askCommand("k", false))
			r.apply(scheduler.SetSchedulable{Node: "n"}, askCommand("k2", false), release("k"))
		}, ""},
		{"APP-6 not while an allocation runs", func(r *lifecycleCore) {
			r.apply(askCommand("k", false), askCommand("k2", false))
			r.apply(release("k"))
		}, ""},
		{"APP-7 its last placeholder ends", func(r *lifecycleCore) {
			r.apply(askCommand("k", true))
			r.apply(release("k"))
		}, "Completing"},
		{"APP-8 a new ask makes it Running again", func(r *lifecycleCore) {
			r.apply(askCommand("k", false))
			r.apply(release("k"))
			r.apply(askCommand("k2", false))
		}, "Completing Running"},
		{"APP-9 it is Completed after thirty seconds", func(r *lifecycleCore) {
			r.apply(askCommand("k", false))
			r.apply(release("k"))
			r.advance(30 * time.Second)
		}, "Completing Completed"},
		{"APP-38 APP-41 it expires after three days", func(r *lifecycleCore) {
			r.apply(askCommand("k", false))
			r.apply(release("k"))
			r.advance(30 * time.Second)
			r.advance(72 * time.Hour)
		}, "Completing Completed Expired"},
		{"APP-33 the RM removes it with its asks and allocations", func(r *lifecycleCore) {
			r.apply(askCommand("k", false), askCommand("k2", false))
			r.apply(scheduler.RemoveApplication{App: "x"})
			_, asks, allocations := r.core.Partition().Counts()
			assert.Equal(r.t, asks+allocations+r.queue("root").Running(), 0)
		}, "Completing Completed"},
		{"APP-35 the RM removes an unknown application", func(r *lifecycleCore) {
			r.apply(scheduler.RemoveApplication{App: "unknown"})
		}, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := newLifecycleCore(t, "name: a")
			r.apply(addApp("root.a"))
			c.do(r)
			got := strings.TrimPrefix(strings.TrimPrefix(strings.Join(r.states, " ")+" ", "Accepted "), "Running ")
			assert.Equal(t, strings.TrimSpace(got), c.want)
		})
	}
}

// A reload changes, adds and drains queues.
func TestReload_QueueChanges(t *testing.T) {
	for _, c := range []struct {
		name, before, after string
		busy                string // a leaf with a running application; empty: none
		want                func(r *lifecycleCore) string
		is                  string
	}{
		{"CFG-108 the settings of a queue change", "name: a", "name: a, maxapplications: 3, resources: {max: {vcore: 5m}}",
			"root.a",
			func(r *lifecycleCore) string {
				return fmt.Sprint(r.queue("root.a").MaxApplications(), r.queue("root.a").Max())
			}, "3 ≤{vcore=5}"},
		{"CFG-108 a new queue is created", "name: a", "name: a\nname: b", "",
			func(r *lifecycleCore) string { return fmt.Sprint(r.queue("root.b").Managed()) }, "true"},
		{"QUE-33 a removed queue with an application drains", "name: a\nname: b", "name: a", "root.b",
			func(r *lifecycleCore) string { return fmt.Sprint(r.queue("root.b").Draining()) }, "true"},
		{"QUE-23 a child template stays", "name: p, parent: true, childtemplate: {maxapplications: 7}",
			"name: p, parent: true, childtemplate: {maxapplications: 7}, maxapplications: 0", "",
			func(r *lifecycleCore) string { return fmt.Sprint(r.queue("root.p").Template().MaxApplications) }, "7"},
		{"CFG-103 QUE-4 a leaf with an application cannot become a parent", "name: a", "name: a, queues: [{name: b}]",
			"root.a",
			func(r *lifecycleCore) string { return fmt.Sprint(r.queue("root.a").Leaf(), len(r.refusals)) }, "true 1"},
		{"CFG-103 QUE-4 a parent with an application below cannot become a leaf", "name: a, queues: [{name: b}]", "name: a",
			"root.a.b",
			func(r *lifecycleCore) string { return fmt.Sprint(r.queue("root.a").Leaf(), len(r.refusals)) }, "false 1"},
		{"QUE-5 a queue below root may be called root", "name: root", "name: root, resources: {max: {vcore: 4m}}", "",
			func(r *lifecycleCore) string { return fmt.Sprint(r.queue("root.root").Max()) }, "≤{vcore=4}"},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := newLifecycleCore(t, c.before)
			if c.busy != "" {
				r.apply(addApp(c.busy), askCommand("k", false))
			}
			r.apply(scheduler.UseConfig{Partition: r.conf(c.after)})
			assert.Equal(t, c.want(r), c.is)
		})
	}

	t.Run("QUE-39 a queue that is configured again does not drain", func(t *testing.T) {
		r := newLifecycleCore(t, "name: a\nname: b")
		r.apply(addApp("root.b"), askCommand("k", false))
		r.apply(scheduler.UseConfig{Partition: r.conf("name: a")})
		r.apply(scheduler.UseConfig{Partition: r.conf("name: a\nname: b")})
		assert.Assert(t, !r.queue("root.b").Draining())
	})
}
