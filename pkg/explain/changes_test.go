package explain_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"gotest.tools/v3/assert"

	"github.com/canopy-scheduler/canopy/internal/testing/randomrun"
	"github.com/canopy-scheduler/canopy/internal/testing/testscale"
	"github.com/canopy-scheduler/canopy/pkg/explain"
	"github.com/canopy-scheduler/canopy/pkg/objects"
	"github.com/canopy-scheduler/canopy/pkg/resources"
	"github.com/canopy-scheduler/canopy/pkg/scheduler"
)

// situation is a random cluster in which an ask waits: a run of random commands, and the changes made since.
type situation struct {
	run     randomrun.Run
	changes []scheduler.Command
	key     objects.AllocationKey
}

// core replays the run and the changes.
func (s *situation) core() (*scheduler.Core, time.Time) {
	core := scheduler.NewWith(s.run.Partition, s.run.Oracle.Oracle(),
		objects.Options{Lifetimes: s.run.Lifetimes, Evaluations: 1 << 30, Candidates: s.run.MaxCandidates})
	now := randomrun.StartTime()
	for _, step := range s.run.Steps {
		now = now.Add(step.After)
		if step.Command != nil {
			core.Step(now, step.Command)
			continue
		}
		core.Schedule(now, step.Budget)
	}
	core.Schedule(now, 1000)
	for _, change := range s.changes {
		core.Step(now, change)
	}
	return core, now
}

// with is s with further changes.
func (s *situation) with(changes []scheduler.Command) *situation {
	return &situation{s.run, slices.Concat(s.changes, changes), s.key}
}

func (s *situation) explain() *scheduler.Explanation {
	core, now := s.core()
	return core.Explain(s.key, now)
}

// tally counts what a test has seen, so that none of it is vacuous.
type tally map[string]int

// Each change opens its gate, a smaller one does not, and an ask without closed gates is placed when its turn comes
// (EXP-1, EXP-4).
func TestChanges_OpenTheirGates(t *testing.T) {
	const full = 4000
	seen, runs := tally{}, testscale.Runs(full)
	for seed := range uint64(runs) {
		run := randomrun.RandomRun(seed, 60)
		if seed%4 == 3 {
			run = randomrun.GangRun(seed, 60)
		}
		if seed%16 == 0 {
			run.Steps = append(run.Steps, randomrun.Step{Command: scheduler.SetListening{Listening: false}})
		}
		r := rand.New(rand.NewPCG(seed, 1))
		start := situation{run: run}
		core, _ := start.core()
		pending := pendingKeys(core)
		r.Shuffle(len(pending), func(i, j int) { pending[i], pending[j] = pending[j], pending[i] })
		for _, key := range pending[:min(len(pending), 3)] {
			start.key = key
			if problem := openGates(&start, r, seen); problem != "" {
				t.Fatalf("seed %d, ask %s: %s", seed, key, problem)
			}
		}
	}
	t.Log(seen)
	for _, action := range []explain.Action{
		explain.ConnectResourceManager, explain.SubmitMembers, explain.EndApplications, explain.RaiseQueueMaxApplications,
		explain.RaiseLimitMaxApplications, explain.FreeInQueue, explain.FreeOfLimit, explain.FreeInCluster,
		explain.FreeOnNode, explain.RaiseQueueMax, explain.RaiseLimit, explain.AddNode, explain.RegisterNode,
		explain.GrowNode, explain.Uncordon, explain.RemoveTaints, explain.ReleaseApplication, explain.StartQueue,
		explain.MoveApplication,
	} {
		assert.Assert(t, runs < full || seen[string(action)] > 0, "no run needed %s: %v", action, seen)
	}
	assert.Assert(t, seen["placed"] > seen["another first"], "%v", seen)
}

func pendingKeys(core *scheduler.Core) (keys []objects.AllocationKey) {
	var below func(*objects.Queue)
	below = func(q *objects.Queue) {
		for _, child := range q.Children() {
			below(child)
		}
		for _, a := range q.Applications() {
			for _, x := range a.Allocations() {
				if x.Pending() {
					keys = append(keys, x.Key())
				}
			}
		}
	}
	below(core.Partition().Root())
	slices.Sort(keys)
	return keys
}

// openGates opens the closed gates of an ask one by one by changes that their explanation says, until none is closed,
// and has the ask placed. It returns what contradicts the explanation; empty: nothing does.
func openGates(s *situation, r *rand.Rand, seen tally) string {
	for range 12 {
		core, now := s.core()
		e := core.Explain(s.key, now)
		if e.State != scheduler.KeyPending {
			seen["gone"]++
			return ""
		}
		if len(explain.Closed(e.Gates)) == 0 {
			return placedInTurn(core, now, s.key, seen)
		}
		g, c, commands := nextChange(core, e, r)
		if commands == nil {
			seen["stuck at "+string(g.Kind)]++
			return ""
		}
		if smaller, ok := smallerChange(c, r); ok {
			if commands := performed(core, e, smaller); commands != nil {
				after := s.with(commands).explain()
				if !closedIn(after, g) {
					return fmt.Sprintf("%s: %q, and %q is enough", describe(g), c, smaller)
				}
				seen["smaller "+string(c.Action)]++
			}
		}
		s = s.with(commands)
		if after := s.explain(); closedIn(after, g) {
			return fmt.Sprintf("%s: %q does not open it: %s", describe(g), c, describeAll(after.Gates))
		}
		seen[string(c.Action)]++
		for _, kind := range c.AlsoOpens {
			if after := s.explain(); slices.ContainsFunc(explain.Closed(after.Gates),
				func(g explain.Gate) bool { return g.Kind == kind }) {
				return fmt.Sprintf("%q does not open %s, too: %s", c, kind, describeAll(after.Gates))
			}
			seen["also "+string(kind)]++
		}
	}
	seen["too many gates"]++
	return ""
}

// nextChange returns a closed gate with a change of it that can be performed, and its commands; nil: there is none.
func nextChange(core *scheduler.Core, e *scheduler.Explanation, r *rand.Rand) (explain.Gate, explain.GateChange,
	[]scheduler.Command) {
	closed := explain.Closed(e.Gates)
	r.Shuffle(len(closed), func(i, j int) { closed[i], closed[j] = closed[j], closed[i] })
	for _, g := range closed {
		changes := slices.Clone(g.Changes)
		r.Shuffle(len(changes), func(i, j int) { changes[i], changes[j] = changes[j], changes[i] })
		for _, c := range changes {
			if commands := performed(core, e, c); commands != nil {
				return g, c, commands
			}
		}
	}
	return closed[0], explain.GateChange{}, nil
}

func closedIn(e *scheduler.Explanation, g explain.Gate) bool {
	return slices.ContainsFunc(e.Gates, func(other explain.Gate) bool {
		return other.Closed && other.Kind == g.Kind && (other.Subject == g.Subject || g.Kind == explain.Nodes)
	})
}

// placedInTurn has decisions made until the ask is placed, or another one that comes before it.
func placedInTurn(core *scheduler.Core, now time.Time, key objects.AllocationKey, seen tally) string {
	decided := false
	for range 50 {
		effects, _ := core.Schedule(now, 1)
		decided = decided || len(effects) > 0
		for _, effect := range effects {
			switch placed, ok := effect.(scheduler.Allocated); {
			case ok && placed.Ask.Key == key:
				seen["placed"]++
				return ""
			case ok:
				seen["another first"]++
				return ""
			}
		}
		if len(effects) == 0 {
			break
		}
	}
	e := core.Explain(key, now)
	switch e.Verdict.Reason {
	case scheduler.NodesRejectedByRM, scheduler.GangDoesNotFit: // both are found only when the ask is tried
		seen[e.Verdict.Reason.Code()]++
		return ""
	}
	if decided && len(explain.Closed(e.Gates)) > 0 { // others have been given what was free, without being placed yet
		seen["held for another"]++
		return ""
	}
	return fmt.Sprintf("no gate is closed, and it is not placed: %s; %s", e, describeAll(e.Gates))
}

func describe(g explain.Gate) string {
	return fmt.Sprintf("gate %s %s %+v %d/%d", g.Kind, g.Subject, g.Figures, g.Running, g.MaxRunning)
}

func describeAll(gates []explain.Gate) string {
	var all []string
	for _, g := range explain.Closed(gates) {
		all = append(all, describe(g))
	}
	return strings.Join(all, "; ")
}

// The largest request that an explanation names is placed in turn, and one with more of a resource is not (EXP-5).
func TestLargest_FitsAndNoMore(t *testing.T) {
	seen := tally{}
	for seed := range uint64(testscale.Runs(2000)) {
		start := situation{run: randomrun.RandomRun(seed, 60)}
		core, now := start.core()
		for _, key := range pendingKeys(core) {
			e := core.Explain(key, now)
			if e.Largest == nil ||
				slices.ContainsFunc(explain.Closed(e.Gates), func(g explain.Gate) bool { return !quantities[g.Kind] }) {
				continue
			}
			start.key = key
			x, _ := core.Partition().Allocation(key)
			after := start.with(resized(x, e.Largest.Amounts)).explain()
			if closed := explain.Closed(after.Gates); len(closed) == 1 && closed[0].Refusing > 0 {
				seen["refused before"]++ // a node refuses all asks of the smaller request (NOD-46)
				continue
			} else if len(closed) > 0 {
				t.Fatalf("seed %d, ask %s of %s: at most %s, and then %s", seed, key, e.Requested, e.Largest.Amounts,
					describeAll(after.Gates))
			}
			seen["fits"]++
			for name, requested := range e.Requested.All() {
				if e.Largest.Amounts.Get(name) == requested {
					continue
				}
				more := e.Largest.Amounts.Add(resources.FromMap(map[string]resources.Quantity{name: 1}))
				if after := start.with(resized(x, more)).explain(); len(explain.Closed(after.Gates)) == 0 {
					t.Fatalf("seed %d, ask %s of %s: at most %s, and %s is possible, too", seed, key, e.Requested,
						e.Largest.Amounts, more)
				}
				seen["no more"]++
			}
		}
	}
	t.Log(seen)
	assert.Assert(t, seen["fits"] > 0 && seen["no more"] > 0)
}

// quantities are the gates that a smaller request can open.
var quantities = map[explain.Kind]bool{explain.LimitMaxResources: true, explain.QueueMaxResources: true,
	explain.ClusterCapacity: true, explain.Nodes: true}
