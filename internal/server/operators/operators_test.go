package operators_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"gotest.tools/v3/assert"

	"github.com/canopy-scheduler/canopy/internal/server/kept"
	"github.com/canopy-scheduler/canopy/internal/server/loop"
	"github.com/canopy-scheduler/canopy/internal/server/operators"
	"github.com/canopy-scheduler/canopy/pkg/configs"
	"github.com/canopy-scheduler/canopy/pkg/configs/queuesyaml"
	"github.com/canopy-scheduler/canopy/pkg/objects"
	"github.com/canopy-scheduler/canopy/pkg/resources"
	"github.com/canopy-scheduler/canopy/pkg/scheduler"
	"github.com/canopy-scheduler/canopy/pkg/security"
)

const config = `
partitions:
  - name: default
    queues: [{name: root, submitacl: '*', queues: [{name: a}, {name: b}]}]
`

type discard struct{}

func (discard) Deliver([]scheduler.Effect) {}

// open opens the Store in the file of a directory.
func open(dir string) (*operators.Store, error) {
	text, err := kept.InFile(dir, "operators")
	if err != nil {
		return nil, err
	}
	return operators.NewStore(text)
}

// cluster runs the configuration with the file of a directory.
func cluster(t *testing.T, dir string) (*operators.Operators, *loop.Loop) {
	t.Helper()
	file, err := open(dir)
	assert.NilError(t, err)
	conf, problems := queuesyaml.Load([]byte(config))
	assert.Equal(t, len(problems), 0, "%v", problems)
	c := loop.NewCluster(loop.Options{FirstCommands: file.First}, func(string) loop.Sink { return discard{} }, nil)
	assert.NilError(t, c.Configure(t.Context(), conf))
	t.Cleanup(c.End)
	l, ok := c.Partition("default")
	assert.Assert(t, ok)
	return operators.New(c.Partition, file), l
}

// What operators have switched is found again by another process, before anything is registered (OPS-4).
func TestOperators_AreKeptOverARestart(t *testing.T) {
	dir := t.TempDir()
	o, l := cluster(t, dir)
	register := []scheduler.Command{
		scheduler.AddNode{Node: "n", Total: resources.FromMap(map[string]resources.Quantity{"vcore": 10}), Schedulable: true},
		scheduler.AddApplication{App: "held", Queue: "root.a", User: security.User{Name: "ann"}},
	}
	_, err := l.Call(t.Context(), register...)
	assert.NilError(t, err)
	for _, m := range []scheduler.Operate{
		{Action: scheduler.HoldApplication, App: "held"}, {Action: scheduler.StopQueue, Queue: "root.b"},
		{Action: scheduler.CordonNode, Node: "n"},
	} {
		changed, err := o.Do(t.Context(), "default", m)
		assert.NilError(t, err)
		assert.Assert(t, changed)
		changed, err = o.Do(t.Context(), "default", m)
		assert.NilError(t, err)
		assert.Assert(t, !changed, "twice: %v", m)
	}

	o, l = cluster(t, dir)
	want := scheduler.OperatorState{Held: []objects.AppID{"held"}, Stopped: []objects.QueuePath{"root.b"},
		Cordoned: []objects.NodeID{"n"}}
	state, err := o.State(t.Context(), "default")
	assert.NilError(t, err)
	assert.DeepEqual(t, state, want)
	_, err = l.Call(t.Context(), register...)
	assert.NilError(t, err)
	s, err := l.Snapshot(t.Context())
	assert.NilError(t, err)
	assert.Assert(t, s.Nodes.At(0).Cordoned && !s.Nodes.At(0).Schedulable)
	assert.Assert(t, s.Root.Children.At(0).Applications.At(0).OnHold && s.Root.Children.At(1).Stopped)

	changed, err := o.Do(t.Context(), "default", scheduler.Operate{Action: scheduler.UncordonNode, Node: "n"})
	assert.NilError(t, err)
	assert.Assert(t, changed)
	o, _ = cluster(t, dir)
	state, err = o.State(t.Context(), "default")
	assert.NilError(t, err)
	assert.Equal(t, len(state.Cordoned), 0)
}

// A drained queue admits after a restart the applications that it had, and no others (OPS-8).
func TestOperators_DrainedQueuesAdmitWhatComesBack(t *testing.T) {
	dir := t.TempDir()
	o, l := cluster(t, dir)
	add := func(l *loop.Loop, id objects.AppID) string {
		effects, err := l.Call(t.Context(),
			scheduler.AddApplication{App: id, Queue: "root.a", User: security.User{Name: "ann"}})
		assert.NilError(t, err)
		return effects[0].String()
	}
	assert.Equal(t, add(l, "there"), "accepted application there")
	changed, err := o.Do(t.Context(), "default", scheduler.Operate{Action: scheduler.DrainQueue, Queue: "root.a"})
	assert.NilError(t, err)
	assert.Assert(t, changed)

	o, l = cluster(t, dir)
	state, err := o.State(t.Context(), "default")
	assert.NilError(t, err)
	assert.DeepEqual(t, state,
		scheduler.OperatorState{Drained: []objects.QueuePath{"root.a"}, Admitted: []objects.AppID{"there"}})
	assert.Equal(t, add(l, "there"), "accepted application there")
	assert.Equal(t, add(l, "new"),
		"rejected application new: no placement rule matched: rule provided: queue root.a is drained by an operator")

	changed, err = o.Do(t.Context(), "default", scheduler.Operate{Action: scheduler.StartQueue, Queue: "root.a"})
	assert.NilError(t, err)
	assert.Assert(t, changed)
	o, _ = cluster(t, dir)
	state, err = o.State(t.Context(), "default")
	assert.NilError(t, err)
	assert.DeepEqual(t, state, scheduler.OperatorState{})
}

// A moved application comes back after a restart where it was moved, and leaves the file when it ends (OPS-9).
func TestOperators_MovedApplicationsComeBackWhereTheyWere(t *testing.T) {
	dir := t.TempDir()
	o, l := cluster(t, dir)
	add := scheduler.AddApplication{App: "app", Queue: "root.a", User: security.User{Name: "ann"}}
	_, err := l.Call(t.Context(), add)
	assert.NilError(t, err)
	_, err = o.Do(t.Context(), "default", scheduler.Operate{Action: scheduler.MoveApplication, App: "app", Queue: "root"})
	assert.ErrorIs(t, err, operators.ErrRefused)
	assert.ErrorContains(t, err, "queue root is not a leaf")
	changed, err := o.Do(t.Context(), "default",
		scheduler.Operate{Action: scheduler.MoveApplication, App: "app", Queue: "root.b", By: "ann"})
	assert.NilError(t, err)
	assert.Assert(t, changed)

	o, l = cluster(t, dir)
	_, err = l.Call(t.Context(), add)
	assert.NilError(t, err)
	s, err := l.Snapshot(t.Context())
	assert.NilError(t, err)
	moved := s.Root.Children.At(1).Applications.At(0)
	assert.Equal(t, moved.ID, objects.AppID("app"))
	assert.Equal(t, moved.Moved.From, objects.QueuePath("root.a"))
	assert.Equal(t, moved.Moved.By, "ann")
	state, err := o.State(t.Context(), "default")
	assert.NilError(t, err)
	assert.Equal(t, len(state.Moved), 1)
	assert.Equal(t, state.Moved[0].Queue, objects.QueuePath("root.b"))
}

// A drain is kept over a restart, with the cordon (OPS-10).
func TestOperators_DrainedNodesAreKept(t *testing.T) {
	dir := t.TempDir()
	o, l := cluster(t, dir)
	add := scheduler.AddNode{Node: "n", Total: resources.FromMap(map[string]resources.Quantity{"vcore": 10}),
		Schedulable: true}
	_, err := l.Call(t.Context(), add)
	assert.NilError(t, err)
	_, err = o.Do(t.Context(), "default", scheduler.Operate{Action: scheduler.DrainNode, Node: "n"})
	assert.NilError(t, err)

	o, l = cluster(t, dir)
	_, err = l.Call(t.Context(), add)
	assert.NilError(t, err)
	s, err := l.Snapshot(t.Context())
	assert.NilError(t, err)
	assert.Assert(t, s.Nodes.At(0).Draining && s.Nodes.At(0).Cordoned && !s.Nodes.At(0).Schedulable)
	_, err = o.Do(t.Context(), "default", scheduler.Operate{Action: scheduler.UncordonNode, Node: "n"})
	assert.NilError(t, err)
	o, _ = cluster(t, dir)
	state, err := o.State(t.Context(), "default")
	assert.NilError(t, err)
	assert.DeepEqual(t, state, scheduler.OperatorState{})
}

func TestOperators_UnknownThings(t *testing.T) {
	o, _ := cluster(t, t.TempDir())
	for _, m := range []scheduler.Operate{
		{Action: scheduler.HoldApplication, App: "none"}, {Action: scheduler.ReleaseApplication, App: "none"},
		{Action: scheduler.StopQueue, Queue: "root.none"},
		{Action: scheduler.StartQueue, Queue: "root.none"}, {Action: scheduler.CordonNode, Node: "none"},
		{Action: scheduler.UncordonNode, Node: "none"},
		{Action: scheduler.CancelApplication, App: "none"}, {Action: scheduler.MoveApplication, App: "none", Queue: "root.a"},
		{Action: scheduler.DrainQueue, Queue: "root.none"}, {Action: scheduler.DrainNode, Node: "none"},
	} {
		changed, err := o.Do(t.Context(), "default", m)
		assert.Assert(t, errors.Is(err, operators.ErrUnknown) && !changed, "%v: %v", m, err)
	}
	_, err := o.Do(t.Context(), "other", scheduler.Operate{Action: scheduler.StopQueue, Queue: "root"})
	assert.ErrorIs(t, err, operators.ErrUnknown)
	_, err = o.State(t.Context(), "other")
	assert.ErrorIs(t, err, operators.ErrUnknown)
	ended, stop := context.WithCancel(t.Context())
	stop()
	_, err = o.Do(ended, "default", scheduler.Operate{Action: scheduler.StopQueue, Queue: "root"})
	assert.ErrorIs(t, err, context.Canceled)
}

// A partition that does not answer keeps no other caller waiting for longer than the caller wants.
func TestOperators_DoNotWaitForAStuckPartition(t *testing.T) {
	core := scheduler.New(configs.Partition{Name: "default"}, nil)
	stuck := loop.New(core, discard{}, loop.Options{}) // nothing runs it
	o := operators.New(func(string) (*loop.Loop, bool) { return stuck, true }, nil)
	ctx, cancel := context.WithCancel(t.Context())
	first := make(chan error)
	go func() {
		_, err := o.Do(ctx, "default", scheduler.Operate{Action: scheduler.StopQueue, Queue: "root"})
		first <- err
	}()
	ended, stop := context.WithCancel(t.Context())
	stop()
	_, err := o.Do(ended, "default", scheduler.Operate{Action: scheduler.StopQueue, Queue: "root"})
	assert.ErrorIs(t, err, context.Canceled)
	cancel()
	assert.ErrorIs(t, <-first, context.Canceled)
}

// An action that cannot be stored is done, and says so.
func TestOperators_NotStored(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "data")
	assert.NilError(t, os.Mkdir(dir, 0o700))
	o, l := cluster(t, dir)
	assert.NilError(t, os.RemoveAll(dir))
	changed, err := o.Do(t.Context(), "default", scheduler.Operate{Action: scheduler.StopQueue, Queue: "root.a"})
	assert.ErrorIs(t, err, operators.ErrNotStored)
	assert.Assert(t, changed)
	state, err := l.OperatorState(t.Context())
	assert.NilError(t, err)
	assert.Equal(t, len(state.Stopped), 1)
}

func TestOpen_DamagedFilesAreNamed(t *testing.T) {
	for text, want := range map[string]string{
		"":                              "is damaged",
		"{":                             "is damaged",
		`{"format":"canopy 9"}`:         `has the format "canopy 9"`,
		`{"partitions":{"default":[]}}`: "is damaged",
	} {
		dir := t.TempDir()
		assert.NilError(t, os.WriteFile(filepath.Join(dir, "operators.json"), []byte(text), 0o600))
		_, err := open(dir)
		assert.ErrorContains(t, err, want)
		assert.Assert(t, strings.Contains(err.Error(), "operators.json"), "%v", err)
	}
}

// An application on hold that ends leaves the file then, and not with the next action (OPS-4).
func TestOperators_EndedApplicationsLeaveTheFile(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dir := t.TempDir()
		file, err := open(dir)
		assert.NilError(t, err)
		conf, problems := queuesyaml.Load([]byte(config))
		assert.Equal(t, len(problems), 0, "%v", problems)
		var o *operators.Operators
		c := loop.NewCluster(loop.Options{FirstCommands: file.First},
			func(name string) loop.Sink { return observer{name, &o} }, nil)
		o = operators.New(c.Partition, file)
		assert.NilError(t, c.Configure(t.Context(), conf))
		t.Cleanup(c.End)
		l, ok := c.Partition("default")
		assert.Assert(t, ok)
		ctx, stop := context.WithCancel(t.Context())
		ran := make(chan struct{})
		go func() {
			defer close(ran)
			o.Run(ctx, func(err error) { t.Error(err) })
		}()
		onHold := func() []objects.AppID {
			synctest.Wait()
			again, err := open(dir)
			assert.NilError(t, err)
			for _, cmd := range again.First("default") {
				return cmd.(scheduler.RestoreOperators).State.Held
			}
			return nil
		}
		for _, id := range []objects.AppID{"asks", "never"} {
			_, err = l.Call(t.Context(), scheduler.AddApplication{App: id, Queue: "root.a", User: security.User{Name: "ann"}})
			assert.NilError(t, err)
			_, err = o.Do(t.Context(), "default", scheduler.Operate{Action: scheduler.HoldApplication, App: id})
			assert.NilError(t, err)
		}
		ask := &objects.Ask{Key: "k", App: "asks", Amounts: resources.FromMap(map[string]resources.Quantity{"vcore": 1})}
		_, err = l.Call(t.Context(), scheduler.SubmitAsk{Ask: ask})
		assert.NilError(t, err)
		assert.DeepEqual(t, onHold(), []objects.AppID{"asks", "never"})
		_, err = l.Call(t.Context(), scheduler.RemoveApplication{App: "never"}, scheduler.RemoveApplication{App: "asks"})
		assert.NilError(t, err)
		assert.Equal(t, len(onHold()), 0)

		// One that never had an ask has no state; the file is compared with the partition from time to time.
		_, err = l.Call(t.Context(),
			scheduler.AddApplication{App: "never", Queue: "root.a", User: security.User{Name: "ann"}})
		assert.NilError(t, err)
		_, err = o.Do(t.Context(), "default", scheduler.Operate{Action: scheduler.HoldApplication, App: "never"})
		assert.NilError(t, err)
		_, err = l.Call(t.Context(), scheduler.RemoveApplication{App: "never"})
		assert.NilError(t, err)
		assert.Equal(t, len(onHold()), 1)
		<-time.After(61 * time.Second)
		assert.Equal(t, len(onHold()), 0)
		stop()
		<-ran
	})
}

// observer hands the effects of a partition on.
type observer struct {
	partition string
	to        **operators.Operators
}

func (s observer) Deliver(effects []scheduler.Effect) { (*s.to).OnEffects(s.partition, effects) }
