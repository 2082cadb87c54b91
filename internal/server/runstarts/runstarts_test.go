package runstarts_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"gotest.tools/v3/assert"

	"github.com/canopy-scheduler/canopy/internal/server/kept"
	"github.com/canopy-scheduler/canopy/internal/server/loop"
	"github.com/canopy-scheduler/canopy/internal/server/runstarts"
	"github.com/canopy-scheduler/canopy/pkg/configs/queuesyaml"
	"github.com/canopy-scheduler/canopy/pkg/objects"
	"github.com/canopy-scheduler/canopy/pkg/resources"
	"github.com/canopy-scheduler/canopy/pkg/scheduler"
	"github.com/canopy-scheduler/canopy/pkg/security"
)

const config = `
partitions:
  - name: default
    queues:
      - name: root
        submitacl: '*'
        properties: {runtime.default: 1h, runtime.enforce: "true"}
        queues: [{name: a}]
  - name: other
    queues: [{name: root, submitacl: '*', queues: [{name: a}]}]
`

type discard struct{}

func (discard) Deliver([]scheduler.Effect) {}

// process is a process that keeps starts in a text, until stop.
type process struct {
	loop   *loop.Loop
	stop   func()
	failed []error
}

func start(t *testing.T, text kept.Text) *process {
	t.Helper()
	store, err := runstarts.New(text, time.Now())
	assert.NilError(t, err)
	conf, problems := queuesyaml.Load([]byte(config))
	assert.Equal(t, len(problems), 0, "%v", problems)
	c := loop.NewCluster(loop.Options{FirstCommands: store.First}, func(string) loop.Sink { return discard{} }, nil)
	assert.NilError(t, c.Configure(t.Context(), conf))
	p := &process{}
	p.loop, _ = c.Partition("default")
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() {
		defer close(done)
		store.Run(ctx, time.Second, c, time.Now, func(err error) { p.failed = append(p.failed, err) })
	}()
	p.stop = func() {
		cancel()
		<-done
		c.End()
	}
	p.call(t, scheduler.AddNode{Node: "n1", Total: vcores(9), Schedulable: true},
		scheduler.AddApplication{App: "x", Queue: "root.a", User: security.User{Name: "ann"}})
	return p
}

func (p *process) call(t *testing.T, commands ...scheduler.Command) {
	t.Helper()
	_, err := p.loop.Call(t.Context(), commands...)
	assert.NilError(t, err)
	synctest.Wait()
}

func vcores(n resources.Quantity) resources.Amounts {
	return resources.FromMap(map[string]resources.Quantity{"vcore": n})
}

func report(key objects.AllocationKey) scheduler.Command {
	return scheduler.ReportAllocation{Ask: &objects.Ask{Key: key, App: "x", Amounts: vcores(1)}, Node: "n1"}
}

func (p *process) until(t *testing.T, key objects.AllocationKey) time.Time {
	t.Helper()
	e, err := p.loop.Explain(t.Context(), key)
	assert.NilError(t, err)
	return e.RunsUntil.Time()
}

// What runs keeps its end over restarts, also over one before the resource manager has reported anything (RUN-7).
func TestStore_RestartsKeepTheEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var content []byte
		text := func() kept.Text {
			return kept.Text{Content: content, Write: func(text []byte) error { content = text; return nil }}
		}
		first := start(t, text())
		began := time.Now().UTC()
		first.call(t, report("k1"))
		time.Sleep(runstarts.Interval)
		first.call(t, report("k2")) // the last write has it
		first.stop()

		time.Sleep(10 * time.Minute)
		second := start(t, text())
		time.Sleep(3 * runstarts.Interval)
		second.stop()

		third := start(t, text())
		third.call(t, report("k1"), report("k2"), report("k3"))
		assert.Equal(t, third.until(t, "k1"), began.Add(time.Hour))
		assert.Equal(t, third.until(t, "k2"), began.Add(time.Hour+runstarts.Interval))
		assert.Equal(t, third.until(t, "k3"), time.Now().UTC().Add(time.Hour))

		// What has ended is kept no longer than for the hour in which resource managers report.
		third.call(t, scheduler.Release{App: "x", Key: "k1"})
		time.Sleep(time.Hour + runstarts.Interval)
		third.stop()
		fourth := start(t, text())
		fourth.call(t, report("k1"), report("k3"))
		assert.Equal(t, fourth.until(t, "k1"), time.Now().UTC().Add(time.Hour))
		fourth.stop()
		assert.Equal(t, len(first.failed)+len(second.failed)+len(third.failed)+len(fourth.failed), 0)
	})
}

// A write that failed is made again, although nothing has changed.
func TestStore_FailedWritesAreMadeAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		full, writes := errors.New("no space"), 0
		p := start(t, kept.Text{Write: func([]byte) error {
			writes++
			if writes == 1 {
				return full
			}
			return nil
		}})
		p.call(t, report("k1"))
		time.Sleep(5*runstarts.Interval + time.Second)
		p.stop()
		assert.Equal(t, writes, 2)
		assert.Equal(t, len(p.failed), 1)
		assert.ErrorIs(t, p.failed[0], full)
	})
}

func TestNew_DamageIsNamed(t *testing.T) {
	for text, want := range map[string]string{
		"{": "where is damaged", `{"format":"canopy 9"}`: `where has the format "canopy 9"`,
		`{"partitions":{"default":{"k":"x"}}}`: "where is damaged",
	} {
		_, err := runstarts.New(kept.Text{Name: "where", Content: []byte(text)}, time.Now())
		assert.ErrorContains(t, err, want)
	}
}
