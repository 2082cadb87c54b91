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
	"github.com/canopy-scheduler/canopy/pkg/security"
)

// lifecycleCore is a Core with a node, which writes down which states applications enter.
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

// conf is a configuration with these queues below root, one a line.
func (r *lifecycleCore) conf(queues string) configs.Partition {
	text := "partitions:\n- name: default\n  placementrules: [{name: provided, create: true}]\n  queues:\n  - name: root\n    submitacl: '*'\n    queues:\n"
	for _, line := range strings.Split(queues, "\n") {
		text += "    - {" + line + "}\n"
	}
	conf, problems := configs.Load([]byte(text))
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
		ask.TaskGroup = "g"
	}
	return scheduler.SubmitAsk{Ask: ask}
}

func release(key string) scheduler.Command {
	return scheduler.Release{App: "x", Key: objects.AllocationKey(key), Type: scheduler.StoppedByRM}
}

// When an application ends, by the numbers of the sheet.
func TestApplication_HowItCompletes(t *testing.T) {
	for _, c := range []struct {
		name string
		do   func(r *lifecycleCore)
		want string // the states after Accepted and Running
	}{
		{"4.2 its last ask is taken back", func(r *lifecycleCore) {
			r.apply(scheduler.SetSchedulable{Node: "n"}, askCommand("k", false), release("k"))
		}, "Completing"},
		{"4.2 its last allocation ends", func(r *lifecycleCore) { r.apply(askCommand("k", false)); r.apply(release("k")) }, "Completing"},
		{"4.2 not while something is pending", func(r *lifecycleCore) {
			r.apply(askCommand("k", false))
			r.apply(scheduler.SetSchedulable{Node: "n"}, askCommand("k2", false), release("k"))
		}, ""},
		{"4.2 not while something runs", func(r *lifecycleCore) {
			r.apply(askCommand("k", false), askCommand("k2", false))
			r.apply(release("k"))
		}, ""},
		{"4.2 a placeholder that ends completes it when it was the last", func(r *lifecycleCore) {
			r.apply(askCommand("k", true))
			r.apply(release("k"))
		}, "Completing"},
		{"4.2 a new ask takes it back", func(r *lifecycleCore) {
			r.apply(askCommand("k", false))
			r.apply(release("k"))
			r.apply(askCommand("k2", false))
		}, "Completing Running"},
		{"4.1 thirty seconds complete it", func(r *lifecycleCore) {
			r.apply(askCommand("k", false))
			r.apply(release("k"))
			r.advance(30 * time.Second)
		}, "Completing Completed"},
		{"4.1 three days expire it", func(r *lifecycleCore) {
			r.apply(askCommand("k", false))
			r.apply(release("k"))
			r.advance(30 * time.Second)
			r.advance(72 * time.Hour)
		}, "Completing Completed Expired"},
		{"4.6 the RM removes it with all it has", func(r *lifecycleCore) {
			r.apply(askCommand("k", false), askCommand("k2", false))
			r.apply(scheduler.RemoveApplication{App: "x"})
			_, asks, allocations := r.core.Partition().Counts()
			assert.Equal(r.t, asks+allocations+r.queue("root").Running(), 0)
		}, "Completing Completed"},
		{"4.6 what is unknown is removed already", func(r *lifecycleCore) {
			r.apply(scheduler.RemoveApplication{App: "nobody"})
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

// What a new configuration does, by the numbers of the sheet.
func TestReload_QueueChanges(t *testing.T) {
	for _, c := range []struct {
		name, before, after string
		busy                string // a leaf with an application that runs; empty: none
		want                func(r *lifecycleCore) string
		is                  string
	}{
		{"1.7.4 a queue gets what is new", "name: a", "name: a, maxapplications: 3, resources: {max: {vcore: 5m}}", "root.a",
			func(r *lifecycleCore) string {
				return fmt.Sprint(r.queue("root.a").MaxApplications(), r.queue("root.a").Max())
			}, "3 ≤{vcore=5}"},
		{"1.7.4 a queue that is missing is made", "name: a", "name: a\nname: b", "",
			func(r *lifecycleCore) string { return fmt.Sprint(r.queue("root.b").Managed()) }, "true"},
		{"1.7.4 one that has gone drains while it is in use", "name: a\nname: b", "name: a", "root.b",
			func(r *lifecycleCore) string { return fmt.Sprint(r.queue("root.b").Draining()) }, "true"},
		{"1.7.7 what a template says to children stays", "name: p, parent: true, childtemplate: {maxapplications: 7}",
			"name: p, parent: true, childtemplate: {maxapplications: 7}, maxapplications: 0", "",
			func(r *lifecycleCore) string { return fmt.Sprint(r.queue("root.p").Template().MaxApplications) }, "7"},
		{"1.7.8 a leaf in use does not become a parent", "name: a", "name: a, queues: [{name: b}]", "root.a",
			func(r *lifecycleCore) string { return fmt.Sprint(r.queue("root.a").Leaf(), len(r.refusals)) }, "true 1"},
		{"1.7.8 nor a parent in use a leaf", "name: a, queues: [{name: b}]", "name: a", "root.a.b",
			func(r *lifecycleCore) string { return fmt.Sprint(r.queue("root.a").Leaf(), len(r.refusals)) }, "false 1"},
		{"1.7.10 a queue that is called root has its resources", "name: root", "name: root, resources: {max: {vcore: 4m}}", "",
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

	t.Run("1.7.5 a queue that comes back does not drain any more", func(t *testing.T) {
		r := newLifecycleCore(t, "name: a\nname: b")
		r.apply(addApp("root.b"), askCommand("k", false))
		r.apply(scheduler.UseConfig{Partition: r.conf("name: a")})
		r.apply(scheduler.UseConfig{Partition: r.conf("name: a\nname: b")})
		assert.Assert(t, !r.queue("root.b").Draining())
	})
}
