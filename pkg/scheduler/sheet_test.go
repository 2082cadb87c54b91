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

// rig is a Core with a node, which writes down which states applications enter.
type rig struct {
	t      *testing.T
	core   *scheduler.Core
	now    time.Time
	states []string
	errs   []string
}

func newSheetRig(t *testing.T, queues string) *rig {
	r := &rig{t: t, now: epoch}
	r.core = scheduler.New(r.conf(queues), nil)
	r.do(scheduler.AddNode{Node: "n", Total: vcores(10), Schedulable: true})
	return r
}

// conf is a configuration with these queues below root, one a line.
func (r *rig) conf(queues string) configs.Partition {
	text := "partitions:\n- name: default\n  placementrules: [{name: provided, create: true}]\n  queues:\n  - name: root\n    submitacl: '*'\n    queues:\n"
	for _, line := range strings.Split(queues, "\n") {
		text += "    - {" + line + "}\n"
	}
	conf, problems := configs.Load([]byte(text))
	assert.Assert(r.t, conf != nil, "%v", problems)
	return conf.Partitions[0]
}

func (r *rig) do(cmds ...scheduler.Command) {
	for _, cmd := range cmds {
		r.hear(r.core.Step(r.now, cmd))
	}
	effects, _ := r.core.Schedule(r.now, 100)
	r.hear(effects)
	assert.NilError(r.t, r.core.Check())
}

func (r *rig) hear(effects []scheduler.Effect) {
	for _, e := range effects {
		switch e := e.(type) {
		case scheduler.ApplicationUpdated:
			r.states = append(r.states, e.State.String())
		case scheduler.Refused:
			r.errs = append(r.errs, e.Reason)
		}
	}
}

func (r *rig) after(d time.Duration) {
	r.now = r.now.Add(d)
	r.do(scheduler.Wake{})
}

func (r *rig) queue(path objects.QueuePath) *objects.Queue {
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

func anAsk(key string, placeholder bool) scheduler.Command {
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
func TestHowAnApplicationEnds(t *testing.T) {
	for _, c := range []struct {
		name string
		do   func(r *rig)
		want string // the states after Accepted and Running
	}{
		{"4.2 its last ask is taken back", func(r *rig) {
			r.do(scheduler.SetSchedulable{Node: "n"}, anAsk("k", false), release("k"))
		}, "Completing"},
		{"4.2 its last allocation ends", func(r *rig) { r.do(anAsk("k", false)); r.do(release("k")) }, "Completing"},
		{"4.2 not while something is pending", func(r *rig) {
			r.do(anAsk("k", false))
			r.do(scheduler.SetSchedulable{Node: "n"}, anAsk("k2", false), release("k"))
		}, ""},
		{"4.2 not while something runs", func(r *rig) { r.do(anAsk("k", false), anAsk("k2", false)); r.do(release("k")) }, ""},
		{"4.2 a placeholder that ends completes it when it was the last", func(r *rig) {
			r.do(anAsk("k", true))
			r.do(release("k"))
		}, "Completing"},
		{"4.2 a new ask takes it back", func(r *rig) {
			r.do(anAsk("k", false))
			r.do(release("k"))
			r.do(anAsk("k2", false))
		}, "Completing Running"},
		{"4.1 thirty seconds complete it", func(r *rig) {
			r.do(anAsk("k", false))
			r.do(release("k"))
			r.after(30 * time.Second)
		}, "Completing Completed"},
		{"4.1 three days expire it", func(r *rig) {
			r.do(anAsk("k", false))
			r.do(release("k"))
			r.after(30 * time.Second)
			r.after(72 * time.Hour)
		}, "Completing Completed Expired"},
		{"4.6 the RM removes it with all it has", func(r *rig) {
			r.do(anAsk("k", false), anAsk("k2", false))
			r.do(scheduler.RemoveApplication{App: "x"})
			_, asks, allocations := r.core.Partition().Counts()
			assert.Equal(r.t, asks+allocations+r.queue("root").Running(), 0)
		}, "Completing Completed"},
		{"4.6 what is unknown is removed already", func(r *rig) {
			r.do(scheduler.RemoveApplication{App: "nobody"})
		}, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := newSheetRig(t, "name: a")
			r.do(addApp("root.a"))
			c.do(r)
			got := strings.TrimPrefix(strings.TrimPrefix(strings.Join(r.states, " ")+" ", "Accepted "), "Running ")
			assert.Equal(t, strings.TrimSpace(got), c.want)
		})
	}
}

// What a new configuration does, by the numbers of the sheet.
func TestWhatAReloadDoes(t *testing.T) {
	for _, c := range []struct {
		name, before, after string
		busy                string // a leaf with an application that runs; empty: none
		want                func(r *rig) string
		is                  string
	}{
		{"1.7.4 a queue gets what is new", "name: a", "name: a, maxapplications: 3, resources: {max: {vcore: 5m}}", "root.a",
			func(r *rig) string { return fmt.Sprint(r.queue("root.a").MaxApplications(), r.queue("root.a").Max()) }, "3 ≤{vcore=5}"},
		{"1.7.4 a queue that is missing is made", "name: a", "name: a\nname: b", "",
			func(r *rig) string { return fmt.Sprint(r.queue("root.b").Managed()) }, "true"},
		{"1.7.4 one that has gone drains while it is in use", "name: a\nname: b", "name: a", "root.b",
			func(r *rig) string { return fmt.Sprint(r.queue("root.b").Draining()) }, "true"},
		{"1.7.7 what a template says to children stays", "name: p, parent: true, childtemplate: {maxapplications: 7}",
			"name: p, parent: true, childtemplate: {maxapplications: 7}, maxapplications: 0", "",
			func(r *rig) string { return fmt.Sprint(r.queue("root.p").Template().MaxApplications) }, "7"},
		{"1.7.8 a leaf in use does not become a parent", "name: a", "name: a, queues: [{name: b}]", "root.a",
			func(r *rig) string { return fmt.Sprint(r.queue("root.a").Leaf(), len(r.errs)) }, "true 1"},
		{"1.7.8 nor a parent in use a leaf", "name: a, queues: [{name: b}]", "name: a", "root.a.b",
			func(r *rig) string { return fmt.Sprint(r.queue("root.a").Leaf(), len(r.errs)) }, "false 1"},
		{"1.7.10 a queue that is called root has its resources", "name: root", "name: root, resources: {max: {vcore: 4m}}", "",
			func(r *rig) string { return fmt.Sprint(r.queue("root.root").Max()) }, "≤{vcore=4}"},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := newSheetRig(t, c.before)
			if c.busy != "" {
				r.do(addApp(c.busy), anAsk("k", false))
			}
			r.do(scheduler.UseConfig{Partition: r.conf(c.after)})
			assert.Equal(t, c.want(r), c.is)
		})
	}

	t.Run("1.7.5 a queue that comes back does not drain any more", func(t *testing.T) {
		r := newSheetRig(t, "name: a\nname: b")
		r.do(addApp("root.b"), anAsk("k", false))
		r.do(scheduler.UseConfig{Partition: r.conf("name: a")})
		r.do(scheduler.UseConfig{Partition: r.conf("name: a\nname: b")})
		assert.Assert(t, !r.queue("root.b").Draining())
	})
}
