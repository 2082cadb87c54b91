package tune

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"
	"gotest.tools/v3/assert"

	"github.com/canopy-scheduler/canopy/internal/lab/whatif"
	"github.com/canopy-scheduler/canopy/internal/server/recording"
	"github.com/canopy-scheduler/canopy/internal/testing/randomrun"
	"github.com/canopy-scheduler/canopy/pkg/configs"
	"github.com/canopy-scheduler/canopy/pkg/configs/queuesyaml"
	"github.com/canopy-scheduler/canopy/pkg/objects"
	"github.com/canopy-scheduler/canopy/pkg/resources"
	"github.com/canopy-scheduler/canopy/pkg/scheduler"
	"github.com/canopy-scheduler/canopy/pkg/security"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// shop has a queue that waits although others have more than it.
const shop = `
partitions:
  - name: default
    preemption: {enabled: false}
    PRIORITY
    queues:
      - name: root
        submitacl: '*'
        queues:
          # the web shop
          - name: prod
            resources:
              guaranteed: {vcore: 1} # agreed in May
          - {name: dev, resources: {guaranteed: {vcore: 2}}}
          - name: batch
`

// recordShop records 40 tasks of dev, 5 of batch, and 12 of prod that come 5 s later, each of some 10 s, on a node of 4
// cores.
func recordShop(t *testing.T, text string) recording.Session {
	t.Helper()
	c, problems := queuesyaml.Load([]byte(text))
	assert.Assert(t, c != nil, "%v", problems)
	dir, begin := t.TempDir(), randomrun.StartTime()
	core := scheduler.NewWith(c.Partitions[0], nil, objects.DefaultOptions())
	store, err := recording.Open(recording.Options{Dir: dir, Now: func() time.Time { return begin },
		After: func(time.Duration) <-chan time.Time { return nil }})
	assert.NilError(t, err)
	to := store.Recorder("default", core, objects.DefaultOptions())
	to.Begin()

	type event struct {
		at  time.Duration
		cmd scheduler.Command
	}
	one := resources.FromMap(map[string]resources.Quantity{"vcore": 1000})
	events := []event{{0, scheduler.AddNode{Node: "n", Total: one.Times(4), Schedulable: true}}}
	for _, j := range []struct {
		queue string
		at    time.Duration
		tasks int
	}{{"dev", 0, 40}, {"batch", time.Second, 5}, {"prod", 5 * time.Second, 12}} {
		app := objects.AppID(j.queue)
		events = append(events,
			event{j.at, scheduler.AddApplication{App: app, Queue: "root." + j.queue, User: security.User{Name: "u"}}})
		for i := range j.tasks {
			ask := &objects.Ask{Key: objects.AllocationKey(fmt.Sprint(app, "-", i)), App: app, Amounts: one}
			events = append(events, event{j.at, scheduler.SubmitAsk{Ask: ask}})
		}
	}
	events = append(events, event{time.Hour, scheduler.Wake{}})
	for len(events) > 0 {
		e := events[0]
		events = events[1:]
		to.Command(begin.Add(e.at), e.cmd)
		effects := core.Step(begin.Add(e.at), e.cmd)
		to.Effects(effects, false)
		to.Schedule(begin.Add(e.at), 1000)
		placed, more := core.Schedule(begin.Add(e.at), 1000)
		to.Effects(placed, more)
		for _, x := range placed {
			if a, ok := x.(scheduler.Allocated); ok {
				end := event{e.at + 10*time.Second + time.Duration(len(events))*time.Millisecond,
					scheduler.Release{App: a.Ask.App, Key: a.Ask.Key, Type: scheduler.StoppedByRM}}
				i, _ := slices.BinarySearchFunc(events, end, func(x, y event) int { return int(x.at - y.at) })
				events = slices.Insert(events, i, end)
			}
		}
	}
	to.Close()
	sessions, err := recording.Sessions(dir)
	assert.NilError(t, err)
	assert.Equal(t, len(sessions), 1)
	return sessions[0]
}

// A higher offset, or a higher guarantee where priorities are disabled, really lowers the wait; and the proposal, in
// force on the recording, gives exactly the figures that were printed.
func TestRun_OnARecording(t *testing.T) {
	for _, c := range []struct {
		name, priority string
		below          time.Duration
		want           string
	}{
		{"an offset", "# priorities count", 45 * time.Second, "root.prod priority.offset none > 1"},
		{"a guarantee", "priority: disabled", 70 * time.Second, "root.prod guaranteed vcore 1 > 3"},
	} {
		t.Run(c.name, func(t *testing.T) {
			text := strings.Replace(shop, "PRIORITY", c.priority, 1)
			session := recordShop(t, text)
			compare := func(conf *configs.Config) (*whatif.Comparison, error) {
				return whatif.Compare(session, &whatif.Scenario{Config: conf}, nil)
			}
			o := Options{Objectives: []Objective{{"root.prod", "p95", c.below}}, Others: 2, MaxTrials: 40, Evaluate: compare}
			r, err := Run([]byte(text), "default", o)
			assert.NilError(t, err)
			assert.Equal(t, r.Status, Found, "%s", textOf(t, r))
			assert.Equal(t, r.Proposal.Change.String(), c.want, "%s", textOf(t, r))
			assert.Assert(t, r.Base.Figures[0] > Wait(c.below) && r.Proposal.Figures[0] < Wait(c.below), "%v",
				r.Proposal.Figures)
			assert.Assert(t, strings.Contains(string(r.Text), "# the web shop\n") &&
				strings.Contains(string(r.Text), "# agreed in May\n"), "%s", r.Text)

			conf, problems := queuesyaml.Load(r.Text)
			assert.Assert(t, conf != nil, "%v", problems)
			got, err := compare(conf)
			assert.NilError(t, err)
			figure, asks := o.Objectives[0].figure(&got.Changed)
			assert.Equal(t, figure, r.Proposal.Figures[0])
			assert.Equal(t, asks, 12)
			dev := got.Changed.Queues[slices.IndexFunc(got.Changed.Queues,
				func(g whatif.Group) bool { return g.Name == r.Proposal.Worst.Queue })]
			assert.Equal(t, Wait(whatif.Quantile(dev.Waits, 0.5)), r.Proposal.Worst.Median[1])
			again, err := Run([]byte(text), "default", o)
			assert.NilError(t, err)
			assert.Equal(t, textOf(t, again), textOf(t, r), "the search is deterministic")
		})
	}
}
