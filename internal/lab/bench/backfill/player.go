package backfill

import (
	"container/heap"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/canopy-scheduler/canopy/pkg/configs"
	"github.com/canopy-scheduler/canopy/pkg/configs/queuesyaml"
	"github.com/canopy-scheduler/canopy/pkg/gangs"
	"github.com/canopy-scheduler/canopy/pkg/objects"
	"github.com/canopy-scheduler/canopy/pkg/priorities"
	"github.com/canopy-scheduler/canopy/pkg/resources"
	"github.com/canopy-scheduler/canopy/pkg/runtimes"
	"github.com/canopy-scheduler/canopy/pkg/scheduler"
	"github.com/canopy-scheduler/canopy/pkg/security"
)

const (
	gpu       = "nvidia.com/gpu"
	taskGroup = "workers" // of the members of a gang

	// decisionsAtOnce is the budget of a run of decisions.
	decisionsAtOnce = 1000
	// longest bounds the time that is played: a job that has not ended by then never will.
	longest = 365 * 24 * time.Hour
)

// began is the beginning of a trace.
var began = time.Unix(1_700_000_000, 0)

// partition returns the configuration: leaves without quotas, and enforced bounds. Nodes are filled one after the other
// (binpacking), so that whole nodes stay free for gangs.
func (m Mode) partition() (configs.Partition, error) {
	reservation := "enabled: true"
	if m == Bounded {
		reservation += ", backfill: bounded"
	}
	text := "partitions:\n  - name: default\n    nodesortpolicy: {type: binpacking}\n    preemption: {enabled: false}\n" +
		"    reservation: {" + reservation + "}\n    queues:\n      - name: root\n        submitacl: '*'\n" +
		"        properties: {runtime.enforce: \"true\", runtime.grace: 30s}\n        queues:\n"
	for leaf := range leaves {
		text += "          - name: " + leafName(leaf) + "\n"
	}
	conf, problems := queuesyaml.Load([]byte(text))
	if conf == nil {
		return configs.Partition{}, fmt.Errorf("the configuration: %s", problems[0])
	}
	return conf.Partitions[0], nil
}

func leafName(i int) string { return fmt.Sprint("team-", i) }

// player is the resource manager of a Core, in virtual time.
type player struct {
	core   *scheduler.Core
	window time.Duration
	now    time.Duration // since the beginning of the trace
	events events[*run]  // those of runs that have ended meanwhile are of no use
	runs   map[objects.AppID]*run
	left   int // jobs that have not reached their end
	free   map[objects.NodeID]int
	idle   int // GPUs that are free and held by reservations now
	out    outcome
	err    error // the first thing that must not happen
}

// run is a job from its submission, or its last one, to its end.
type run struct {
	*Job
	number  int
	attempt int // from 1; 0: it has not arrived
	app     objects.AppID
	nodes   map[objects.AllocationKey]objects.NodeID // of the members that were placed
	ordered map[objects.AllocationKey]bool           // of these, the ones that the Core has asked to end
	started time.Duration                            // when the last member was placed
	stop    time.Duration                            // when it ends because the Core has asked; 0: it has not
}

func playCore(s Spec, t Trace) (outcome, error) {
	p, err := newPlayer(s, t)
	if err != nil {
		return outcome{}, err
	}
	for p.left > 0 && p.err == nil {
		p.next()
	}
	return p.out, errors.Join(p.err, p.core.Check())
}

func newPlayer(s Spec, t Trace) (*player, error) {
	conf, err := s.Mode.partition()
	if err != nil {
		return nil, err
	}
	p := &player{core: scheduler.New(conf, nil), window: t.Window, runs: map[objects.AppID]*run{}, left: len(t.Jobs),
		free: map[objects.NodeID]int{}, out: outcome{starts: make([]time.Duration, len(t.Jobs))}}
	for i := range s.GPUs / gpusPerNode {
		id := objects.NodeID(fmt.Sprintf("node-%02d", i))
		p.free[id] = gpusPerNode
		p.step(scheduler.AddNode{Node: id, Total: gpus(gpusPerNode), Schedulable: true})
	}
	for i := range t.Jobs {
		heap.Push(&p.events, event[*run]{t.Jobs[i].Arrival, i, &run{Job: &t.Jobs[i], number: i}})
	}
	return p, p.err
}

func gpus(n int) resources.Amounts {
	return resources.FromMap(map[string]resources.Quantity{gpu: resources.Quantity(n)})
}

// fail records the first thing that must not happen.
func (p *player) fail(format string, args ...any) {
	if p.err == nil {
		p.err = fmt.Errorf("after %v: %s", p.now, fmt.Sprintf(format, args...))
	}
}

// next goes on to the next event or deadline, and lets the Core decide until it is done.
func (p *player) next() {
	at := longest
	if len(p.events) > 0 {
		at = p.events[0].at
	}
	if t, ok := p.core.NextDeadline(); ok && t.Sub(began) > p.now { // what is due now is done
		at = min(at, t.Sub(began))
	}
	if at == longest {
		p.fail("%d jobs are never placed", p.left)
		return
	}
	p.out.idle += float64(p.idle) * (min(at, p.window) - min(p.now, p.window)).Hours()
	p.now = at
	p.step(scheduler.Wake{})
	for len(p.events) > 0 && p.events[0].at == p.now {
		p.apply(heap.Pop(&p.events).(event[*run]).of)
	}
	for more := true; more && p.err == nil; {
		var effects []scheduler.Effect
		effects, more = p.core.Schedule(began.Add(p.now), decisionsAtOnce)
		p.take(effects)
	}
	p.idle = p.idleReserved()
}

// apply does what is due of r: it arrives or ends.
func (p *player) apply(r *run) {
	switch {
	case r.attempt == 0:
		p.submit(r)
	case p.runs[r.app] != r: // it has ended
	case r.stop == p.now && r.started+r.Duration > p.now:
		p.out.wasted += r.within(p.window, r.started, p.now)
		p.end(r)
		p.submit(&run{Job: r.Job, number: r.number, attempt: r.attempt})
	default:
		p.out.starts[r.number] = r.started
		p.left--
		p.end(r)
	}
}

// submit submits a job, as an application of its own. Its asks are as old as the job, which so keeps its turn when it
// comes again.
func (p *player) submit(r *run) {
	r.attempt++
	r.app = objects.AppID(fmt.Sprintf("job-%d-%d", r.number, r.attempt))
	r.nodes, r.ordered = map[objects.AllocationKey]objects.NodeID{}, map[objects.AllocationKey]bool{}
	p.runs[r.app] = r
	add := scheduler.AddApplication{App: r.app, User: security.User{Name: "user"}, Queue: "root." + leafName(r.Leaf)}
	details := objects.AskDetails{Tags: map[string]string{runtimes.BoundTag: r.Bound.String()}}
	if r.Gang { // its members wait for each other, however long it takes
		add.Gang = gangs.Spec{Virtual: []gangs.VirtualGroup{{Name: taskGroup, MinMember: r.Members}}, Timeout: longest}
		details.TaskGroup = taskGroup
	}
	p.step(add)
	for i := range r.Members {
		p.step(scheduler.SubmitAsk{Ask: &objects.Ask{
			Key: objects.AllocationKey(fmt.Sprintf("%s-%d", r.app, i)), App: r.app, Amounts: gpus(r.Each),
			Created: objects.TimestampOf(began.Add(r.Arrival)), Details: objects.NewAskDetails(details),
			Policy: objects.PolicySent | objects.PolicyAllowPreemptSelf,
		}})
	}
}

// end ends all members of r.
func (p *player) end(r *run) {
	delete(p.runs, r.app)
	for _, key := range slices.Sorted(maps.Keys(r.nodes)) {
		reason := scheduler.StoppedByRM
		if r.ordered[key] {
			reason = scheduler.PreemptedByScheduler
		}
		p.free[r.nodes[key]] += r.Each
		p.step(scheduler.Release{App: r.app, Key: key, Type: reason})
	}
	p.step(scheduler.RemoveApplication{App: r.app})
}

func (p *player) step(cmd scheduler.Command) { p.take(p.core.Step(began.Add(p.now), cmd)) }

// take does what effects say.
func (p *player) take(effects []scheduler.Effect) {
	for _, e := range effects {
		switch x := e.(type) {
		case scheduler.Allocated:
			p.place(x)
		case scheduler.Released:
			switch r := p.runs[x.App]; {
			case r == nil: // an answer to its end
			case x.Type == scheduler.PreemptedByScheduler:
				p.order(r, x.Key)
			default:
				p.fail("%s", e)
			}
		case scheduler.NodeRejected, scheduler.ApplicationRejected, scheduler.AskRejected, scheduler.AskTimedOut,
			scheduler.Refused:
			p.fail("%s", e)
		}
	}
}

func (p *player) place(x scheduler.Allocated) {
	r := p.runs[x.Ask.App]
	r.nodes[x.Ask.Key] = x.Node
	p.free[x.Node] -= r.Each
	if p.free[x.Node] < 0 {
		p.fail("node %s has %d GPUs too few for %s", x.Node, -p.free[x.Node], x.Ask.Key)
	}
	if len(r.nodes) == r.Members {
		r.started = p.now
		heap.Push(&p.events, event[*run]{p.now + r.Duration, r.number, r})
	}
}

// order does what the Core asks for: a member ends, and with it the job. It takes the whole termination grace, which is
// the worst case.
func (p *player) order(r *run, key objects.AllocationKey) {
	r.ordered[key] = true
	if r.stop == 0 {
		r.stop = p.now + priorities.DefaultGracePeriod
		heap.Push(&p.events, event[*run]{r.stop, r.number, r})
	}
}

// idleReserved returns how many GPUs of reserved nodes are free and held.
func (p *player) idleReserved() (idle int) {
	l := p.core.Partition().Reservations()
	held := map[objects.NodeID]int{}
	for _, x := range l.Asks() {
		held[l.Of(x).ID()] += p.runs[x.Ask().App].Each
	}
	for id, n := range held {
		idle += min(n, p.free[id])
	}
	return idle
}
