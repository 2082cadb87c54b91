package overtime_test

import (
	"context"
	"errors"
	"math"
	"testing"
	"testing/synctest"
	"time"

	"gotest.tools/v3/assert"

	"github.com/canopy-scheduler/canopy/internal/server/kept"
	"github.com/canopy-scheduler/canopy/internal/server/loop"
	"github.com/canopy-scheduler/canopy/internal/server/overtime"
	"github.com/canopy-scheduler/canopy/pkg/configs/queuesyaml"
	"github.com/canopy-scheduler/canopy/pkg/objects"
	"github.com/canopy-scheduler/canopy/pkg/resources"
	"github.com/canopy-scheduler/canopy/pkg/scheduler"
	"github.com/canopy-scheduler/canopy/pkg/security"
)

const config = `
partitions:
  - name: default
    queues: [{name: root, submitacl: '*', properties: {fairness.halflife: 1h}, queues: [{name: a}, {name: b}]}]
  - name: other
    queues: [{name: root, submitacl: '*', queues: [{name: a}]}]
`

type discard struct{}

func (discard) Deliver([]scheduler.Effect) {}

// process is a process that keeps usage over time in a text, until stop.
type process struct {
	loop   *loop.Loop
	stop   func()
	failed []error
}

func start(t *testing.T, text kept.Text) *process {
	t.Helper()
	store, err := overtime.New(text)
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
	return p
}

// fill has the whole cluster used by root.a.
func (p *process) fill(t *testing.T) {
	t.Helper()
	amounts := resources.FromMap(map[string]resources.Quantity{"vcore": 4})
	_, err := p.loop.Call(t.Context(), scheduler.AddNode{Node: "n", Total: amounts, Schedulable: true},
		scheduler.AddApplication{App: "x", Queue: "root.a", User: security.User{Name: "ann"}},
		scheduler.SubmitAsk{Ask: &objects.Ask{Key: "k", App: "x", Amounts: amounts}})
	assert.NilError(t, err)
	synctest.Wait()
}

// share returns what root.a has used on average over time.
func (p *process) share(t *testing.T) float64 {
	t.Helper()
	snap, err := p.loop.SnapshotOnce(t.Context())
	assert.NilError(t, err)
	return snap.Root.Children.At(0).UsageOverTime.Share(time.Now())
}

// Usage is there after a restart, as it has fallen since, also if nothing was used in between (FAI-7).
func TestStore_RestartsKeepUsage(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var content []byte
		writes := 0
		text := func() kept.Text {
			return kept.Text{Content: content, Write: func(text []byte) error { content = text; writes++; return nil }}
		}
		first := start(t, text())
		first.fill(t)
		time.Sleep(time.Hour + 10*time.Second) // the last write has what was used since the one before
		used := first.share(t)
		assert.Assert(t, math.Abs(used-0.5) < 0.01, "%v", used)
		first.stop()

		time.Sleep(30 * time.Minute)
		second := start(t, text())
		writes = 0
		time.Sleep(30 * time.Minute)
		second.stop()
		assert.Equal(t, writes, 0) // nothing has changed

		third := start(t, text())
		assert.Assert(t, math.Abs(third.share(t)/used-0.5) < 0.01, "%v", third.share(t))
		third.stop()
		assert.Equal(t, len(first.failed)+len(second.failed)+len(third.failed), 0)
	})
}

// A write that failed is made again.
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
		p.fill(t)
		time.Sleep(2*overtime.Interval + time.Second)
		p.stop()
		assert.Equal(t, writes, 3) // and the last one
		assert.Equal(t, len(p.failed), 1)
		assert.ErrorIs(t, p.failed[0], full)
	})
}

func TestNew_DamageIsNamed(t *testing.T) {
	for text, want := range map[string]string{
		"{": "where is damaged", `{"format":"canopy 9"}`: `where has the format "canopy 9"`,
		`{"partitions":{"default":[{"queue":"root","name":"a","halfLife":3600000}]}}`: "where is damaged: partition " +
			`default: a in root: there is no kind ""`,
		`{"partitions":{"default":[{"kind":"user","halfLife":7}]}}`: "where is damaged: partition default",
	} {
		_, err := overtime.New(kept.Text{Name: "where", Content: []byte(text)})
		assert.ErrorContains(t, err, want)
	}
}
