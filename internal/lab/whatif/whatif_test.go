package whatif

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"go.uber.org/goleak"
	"gotest.tools/v3/assert"

	"github.com/canopy-scheduler/canopy/internal/server/recording"
	"github.com/canopy-scheduler/canopy/internal/testing/randomrun"
	"github.com/canopy-scheduler/canopy/internal/testing/testscale"
	"github.com/canopy-scheduler/canopy/pkg/configs"
	"github.com/canopy-scheduler/canopy/pkg/configs/queuesyaml"
	"github.com/canopy-scheduler/canopy/pkg/feasibility"
	"github.com/canopy-scheduler/canopy/pkg/objects"
	"github.com/canopy-scheduler/canopy/pkg/resources"
	"github.com/canopy-scheduler/canopy/pkg/scheduler"
	"github.com/canopy-scheduler/canopy/pkg/security"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// recorder records a Core of a partition.
type recorder struct {
	t    *testing.T
	dir  string
	core *scheduler.Core
	to   *recording.Recorder
}

func record(t *testing.T, p configs.Partition, opt objects.Options) *recorder {
	t.Helper()
	r := &recorder{t: t, dir: t.TempDir(), core: scheduler.NewWith(p, nil, opt)}
	store, err := recording.Open(recording.Options{Dir: r.dir, Now: randomrun.StartTime,
		After: func(time.Duration) <-chan time.Time { return nil }})
	assert.NilError(t, err)
	r.to = store.Recorder(p.Name, r.core, opt)
	r.to.Begin()
	return r
}

func (r *recorder) step(at time.Time, cmd scheduler.Command) []scheduler.Effect {
	r.to.Command(at, cmd)
	effects := r.core.Step(at, cmd)
	r.to.Effects(effects, false)
	return effects
}

func (r *recorder) schedule(at time.Time, budget int) (effects []scheduler.Effect, more bool) {
	r.to.Schedule(at, budget)
	effects, more = r.core.Schedule(at, budget)
	r.to.Effects(effects, more)
	return effects, more
}

// sessions ends the recording, and returns its sessions.
func (r *recorder) sessions() []recording.Session {
	r.t.Helper()
	r.to.Close()
	sessions, err := recording.Sessions(r.dir)
	assert.NilError(r.t, err)
	return sessions
}

// compare ends the recording, and runs a scenario on its only session.
func (r *recorder) compare(s *Scenario) (*Comparison, error) {
	r.t.Helper()
	sessions := r.sessions()
	assert.Equal(r.t, len(sessions), 1)
	return Compare(sessions[0], s, nil)
}

// A scenario that changes nothing makes the same effects at the same times, whatever resource managers and operators
// have done.
func TestCompare_NothingChangedIsTheSame(t *testing.T) {
	first, started := rand.Uint64N(1<<40), 0
	for i := range testscale.Runs(200) {
		seed := first + uint64(i)
		s := randomrun.RandomRun(seed, 400)
		r := record(t, s.Partition, objects.Options{
			Shapes: feasibility.DefaultShapes, Lifetimes: s.Lifetimes, Evaluations: 4, Candidates: s.MaxCandidates,
			Names: s.MaxNames, AskNames: s.MaxAskNames, Refusals: s.MaxRefusals,
		})
		now, asks, compared := randomrun.StartTime(), 0, 0
		for _, b := range s.Steps {
			now = now.Add(b.After)
			switch cmd := b.Command.(type) {
			case nil:
				r.schedule(now, b.Budget)
			case scheduler.SubmitAsk, scheduler.SubmitAskWithClass, scheduler.ReportAllocation:
				asks++
				r.step(now, cmd)
			default:
				r.step(now, cmd)
			}
		}
		for _, session := range r.sessions() {
			got, err := Compare(session, &Scenario{}, nil)
			if errors.Is(err, ErrNothing) {
				continue
			}
			assert.NilError(t, err, "seed %d", seed)
			assert.Assert(t, got.Same, "seed %d", seed)
			assert.DeepEqual(t, got.Recorded, got.Changed)
			assert.DeepEqual(t, got.Changes, []string{"nothing"})
			started += got.Recorded.All.Started
			compared++
		}
		assert.Equal(t, compared > 0, asks > 0, "seed %d", seed)
	}
	assert.Assert(t, started > 100, "%d asks have started", started)
}

const small = `
partitions:
  - name: default
    queues:
      - name: root
        submitacl: '*'
        queues:
          - {name: a, resources: {guaranteed: {vcore: 2}, max: {vcore: %d}}}
          - {name: b, properties: {application.sort.policy: fifo}}
          - {name: c, resources: {guaranteed: {vcore: 6}}, properties: {preemption.delay: %s}}
`

func config(t *testing.T, vcore int, delay string) *configs.Config {
	t.Helper()
	c, problems := queuesyaml.Load(fmt.Appendf(nil, small, vcore, delay))
	assert.Equal(t, len(problems), 0, "%v", problems)
	return c
}

// job is an application with asks of a duration.
type job struct {
	at       time.Duration
	queue    string
	tasks    int
	vcore    int64
	duration time.Duration
}

func randomJobs(seed uint64, n int) (jobs []job) {
	g := rand.New(rand.NewPCG(seed, 1))
	for range n {
		jobs = append(jobs, job{
			time.Duration(g.Int64N(int64(10 * time.Minute))), []string{"root.a", "root.b", "root.c"}[g.IntN(3)], 1 + g.IntN(4),
			1 + g.Int64N(3),
			time.Duration(g.Int64N(int64(2 * time.Minute))),
		})
	}
	return jobs
}

// event is a command of the simulated resource manager at a time.
type event struct {
	at  time.Duration
	cmd scheduler.Command
}

var three = []string{"n0", "n1", "n2"}

// simulate runs jobs on some nodes of 4 vcore, until a time at which all is over: each allocation runs for its
// duration, and a victim ends after 3 s.
func simulate(t *testing.T, p configs.Partition, nodes []string, jobs []job) *recorder {
	t.Helper()
	begin := randomrun.StartTime()
	r := record(t, p, objects.DefaultOptions())
	var events []event
	for _, name := range nodes {
		events = append(events, event{0, scheduler.AddNode{
			Node: objects.NodeID(name), Total: amounts(4), Schedulable: true,
			Attributes: map[string]string{"type": "plain", "host": name},
		}})
	}
	events = append(events, event{3 * time.Hour, scheduler.Wake{}}) // the end of the recording
	durations := map[objects.AllocationKey]time.Duration{}
	left, over := map[objects.AppID]int{}, map[objects.AllocationKey]bool{}
	for i, j := range jobs {
		app := objects.AppID(fmt.Sprint("app", i))
		left[app] = j.tasks
		events = append(events,
			event{j.at, scheduler.AddApplication{App: app, Queue: j.queue, User: security.User{Name: fmt.Sprint("user", i%3)}}})
		for k := range j.tasks {
			ask := &objects.Ask{Key: objects.AllocationKey(fmt.Sprint(app, "-", k)), App: app, Amounts: amounts(j.vcore),
				Policy: objects.PolicySent | objects.PolicyAllowPreemptSelf | objects.PolicyAllowPreemptOther}
			durations[ask.Key] = j.duration + time.Duration(k)*time.Millisecond
			events = append(events, event{j.at + time.Duration(k), scheduler.SubmitAsk{Ask: ask}})
		}
	}
	end := func(at time.Duration, key objects.AllocationKey, app objects.AppID, how scheduler.Termination) {
		events = append(events, event{at, scheduler.Release{App: app, Key: key, Type: how}})
	}
	now := time.Duration(0)
	react := func(effects []scheduler.Effect) {
		for _, e := range effects {
			switch e := e.(type) {
			case scheduler.Allocated:
				end(now+durations[e.Ask.Key], e.Ask.Key, e.Ask.App, scheduler.StoppedByRM)
			case scheduler.Released:
				if e.Type == scheduler.PreemptedByScheduler {
					end(now+3*time.Second, e.Key, e.App, e.Type)
				}
				if over[e.Key] {
					continue // a victim that has ended before it was confirmed
				}
				over[e.Key] = true
				left[e.App]--
				if left[e.App] == 0 {
					events = append(events, event{now + 1, scheduler.RemoveApplication{App: e.App}})
				}
			}
		}
	}
	for len(events) > 0 {
		next := 0
		for i, e := range events {
			if e.at < events[next].at {
				next = i
			}
		}
		e := events[next]
		if deadline, ok := r.core.NextDeadline(); ok && deadline.Before(begin.Add(e.at)) && deadline.After(begin.Add(now)) {
			e = event{deadline.Sub(begin), scheduler.Wake{}}
		} else {
			events = append(events[:next], events[next+1:]...)
		}
		now = e.at
		react(r.step(begin.Add(now), e.cmd))
		for more := true; more; {
			var effects []scheduler.Effect
			effects, more = r.schedule(begin.Add(now), decisions)
			react(effects)
		}
	}
	return r
}

func amounts(vcore int64) resources.Amounts {
	return resources.FromMap(map[string]resources.Quantity{"vcore": resources.Quantity(vcore * 1000)})
}

// What a scenario says of another configuration, or of more nodes, is what comes of it when the same jobs really run
// there.
func TestCompare_IsWhatReallyComes(t *testing.T) {
	first := rand.Uint64N(1 << 40)
	changed := 0
	for i := range testscale.Runs(60) {
		seed := first + uint64(i)
		jobs := randomJobs(seed, 80)
		before, after := config(t, 4, "1s"), config(t, 8, "1h")
		before.Partitions[0].PreemptionEnabled, after.Partitions[0].PreemptionEnabled = false, false
		for name, scenario := range map[string]*Scenario{
			"configuration": {Config: after}, "nodes": {Nodes: []NodeChange{{2, "plain"}}},
			"both": {Config: after, Nodes: []NodeChange{{-1, "n1"}}},
		} {
			got, err := simulate(t, before.Partitions[0], three, jobs).compare(scenario)
			assert.NilError(t, err, "seed %d, %s", seed, name)
			p, nodes := before.Partitions[0],
				map[string][]string{"configuration": three, "nodes": {"n0", "what-if-plain-0", "what-if-plain-1", "n1", "n2"},
					"both": {"n0", "n2"}}
			if scenario.Config != nil {
				p = after.Partitions[0]
			}
			really, err := simulate(t, p, nodes[name], jobs).compare(&Scenario{})
			assert.NilError(t, err)
			for _, g := range []*Outcome{&got.Changed, &really.Recorded} { // usage is sampled at other times
				g.Held = nil
				for i := range g.Queues {
					g.Queues[i].Usage, g.Queues[i].Starved = nil, 0
				}
			}
			assert.DeepEqual(t, really.Recorded, got.Changed)
			if !got.Same {
				changed++
			}
		}
	}
	assert.Assert(t, changed > 8, "only %d scenarios have changed anything", changed)
}

// Without preemption nothing is preempted, and what was preempted in the recording runs on.
func TestCompare_WithoutPreemption(t *testing.T) {
	preempted := 0
	for seed := range uint64(10) {
		r := simulate(t, config(t, 12, "1s").Partitions[0], three, randomJobs(seed, 40))
		got, err := r.compare(&Scenario{WithoutPreemption: true})
		assert.NilError(t, err)
		preempted += got.Recorded.All.Preempted
		assert.Equal(t, got.Changed.All.Preempted, 0)
		assert.Equal(t, got.Changed.All.Started+got.Changed.All.Waiting, got.Changed.All.Asks)
		assert.Assert(t, got.Recorded.All.Preempted == 0 || !got.Same)
		assertOver(t, got)
	}
	assert.Assert(t, preempted > 5, "%d were preempted", preempted)
}

// Victims of the changed run alone end, too.
func TestCompare_WithPreemption(t *testing.T) {
	preempted, before, after := 0, 0.0, 0.0
	for seed := range uint64(10) {
		with, without := config(t, 12, "1s"), config(t, 12, "1s")
		without.Partitions[0].PreemptionEnabled = false
		got, err := simulate(t, without.Partitions[0], three, randomJobs(seed, 40)).compare(&Scenario{Config: with})
		assert.NilError(t, err)
		assert.Equal(t, got.Recorded.All.Preempted, 0)
		preempted += got.Changed.All.Preempted
		assertOver(t, got)
		before, after = before+got.Recorded.Queues[2].Wait.Median, after+got.Changed.Queues[2].Wait.Median
	}
	assert.Assert(t, after < 0.4*before, "%v s after %v: preemption is for root.c", after, before)
	assert.Assert(t, preempted > 5, "%d were preempted", preempted)
}

// assertOver checks that nothing runs at the end of both runs: hours after the last job.
func assertOver(t *testing.T, c *Comparison) {
	t.Helper()
	for _, s := range c.Series {
		assert.Equal(t, s.Recorded[len(s.Recorded)-1], 0.0)
		assert.Equal(t, s.Changed[len(s.Changed)-1], 0.0, "%s has %v at the end", s.Queue, s.Changed[len(s.Changed)-1])
	}
}

func TestCompare_RefusesWhatCannotBe(t *testing.T) {
	r := simulate(t, config(t, 12, "1s").Partitions[0], three[:2], randomJobs(1, 5))
	other := config(t, 12, "1s")
	other.Partitions[0].Name = "gpu"
	for want, s := range map[string]*Scenario{
		`the configuration has no partition "default", which was recorded`:         {Config: other},
		`no node that was recorded is "absent", or has an attribute of that value`: {Nodes: []NodeChange{{1, "absent"}}},
		`only 2 nodes like "plain" were recorded; 3 cannot be taken away`:          {Nodes: []NodeChange{{-3, "plain"}}},
	} {
		_, err := r.compare(s)
		assert.Error(t, err, want)
	}
	for _, text := range []string{"", "5:gpu", "+0:gpu", "+1:", "+x:gpu", "+99999999:gpu", "gpu"} {
		_, err := ParseNodeChange(text)
		assert.ErrorContains(t, err, "is no change of nodes")
	}
	c, err := ParseNodeChange("-2:a:b")
	assert.NilError(t, err)
	assert.DeepEqual(t, c, NodeChange{-2, "a:b"})
}
