package ha

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/apache/yunikorn-scheduler-interface/lib/go/si"
	"gotest.tools/v3/assert"

	"github.com/canopy-scheduler/canopy/internal/lab/sim"
	"github.com/canopy-scheduler/canopy/internal/testing/testscale"
	"github.com/canopy-scheduler/canopy/pkg/resources"
)

// traceDirectory is the environment variable with the directory of an openb trace. Without it the trace is a synthetic
// one of the same form.
const traceDirectory = "CANOPY_OPENB"

// openTrace reads the trace, its tasks in the order in which they come.
func openTrace(t *testing.T) (nodes []sim.Node, tasks []sim.Task) {
	t.Helper()
	dir := os.Getenv(traceDirectory)
	if dir == "" {
		s := sim.DefaultSynth()
		s.Nodes, s.Tasks, s.Load = 200, testscale.Runs(5000), 0.9
		synthNodes, synthTasks, err := s.Make()
		assert.NilError(t, err)
		for _, n := range synthNodes {
			nodes = append(nodes, n.Node)
		}
		for _, x := range synthTasks {
			tasks = append(tasks, x.Task)
		}
	} else {
		read := func(name string, parse func(*os.File) error) {
			f, err := os.Open(filepath.Join(dir, name))
			assert.NilError(t, err)
			defer f.Close()
			assert.NilError(t, parse(f))
		}
		read("openb_node_list_all_node.csv",
			func(f *os.File) (err error) { nodes, err = sim.ReadNodes(f.Name(), f); return err })
		read("openb_pod_list_default.csv",
			func(f *os.File) (err error) { tasks, err = sim.ReadTasks(f.Name(), f); return err })
	}
	slices.SortStableFunc(tasks, func(a, b sim.Task) int { return cmp.Compare(a.Created, b.Created) })
	t.Logf("%d nodes, %d tasks", len(nodes), len(tasks))
	return nodes, tasks
}

// traceReplay plays a trace to a shim: tasks come in the order of the trace, and each ends so long after it was seen
// placed, in the time of the trace, as it took there.
type traceReplay struct {
	shim      *shim
	tasks     []sim.Task
	submitted int   // of tasks
	clock     int64 // in the time of the trace
	durations map[string]int64
	ends      map[string]int64 // of placed tasks
}

func newTraceReplay(t *testing.T, g *group) *traceReplay {
	t.Helper()
	nodes, tasks := openTrace(t)
	r := &traceReplay{tasks: tasks, durations: map[string]int64{}, ends: map[string]int64{}}
	requests := map[string]*si.Resource{}
	for _, x := range tasks {
		requests[x.Name] = resourceOf(x.Amounts)
		r.durations[x.Name] = x.Deleted - x.Created
	}
	var infos []*si.NodeInfo
	for _, n := range nodes {
		infos = append(infos,
			&si.NodeInfo{NodeID: string(n.ID), Action: si.NodeInfo_CREATE, SchedulableResource: resourceOf(n.Capacity)})
	}
	r.shim = newShimWith(g, infos, requests)
	return r
}

func resourceOf(a resources.Amounts) *si.Resource {
	r := &si.Resource{Resources: map[string]*si.Quantity{}}
	for name, n := range a.All() {
		r.Resources[name] = &si.Quantity{Value: int64(n)}
	}
	return r
}

// play submits tasks up to the n-th, evenly over a time of the test, and ends those whose time has come.
func (r *traceReplay) play(n int, during time.Duration) {
	const tick = 20 * time.Millisecond
	for ticks := max(1, int(during/tick)); ticks > 0; ticks-- {
		to := r.submitted + (n-r.submitted)/ticks
		var names []string
		for _, x := range r.tasks[r.submitted:to] {
			r.clock = x.Created
			names = append(names, x.Name)
		}
		r.submitted = to
		if len(names) > 0 {
			r.shim.submit(names...)
		}
		r.finishDue()
		r.shim.wait(min(tick, during))
	}
}

// finishDue ends the tasks whose time has come.
func (r *traceReplay) finishDue() {
	var due []string
	for _, name := range r.shim.running() {
		end, ok := r.ends[name]
		if !ok {
			end = r.clock + r.durations[name]
			r.ends[name] = end
		}
		if end <= r.clock {
			due = append(due, name)
		}
	}
	r.shim.finish(due...)
}

// skip lets the time of the trace pass to the next end of a task.
func (r *traceReplay) skip() {
	r.finishDue()
	next := int64(-1)
	for _, name := range r.shim.running() {
		if end := r.ends[name]; next < 0 || end < next {
			next = end
		}
	}
	r.clock = max(r.clock, next)
}

// running are the tasks that are placed.
func (s *shim) running() (names []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for name := range s.placed {
		names = append(names, name)
	}
	return names
}

// goesOn is an error until the shim has a session and more tasks are placed than before, or none waits. In a full
// cluster time passes.
func (r *traceReplay) goesOn(placedBefore int) error {
	s := r.shim
	s.mu.Lock()
	waiting, placed, session, ended := len(s.pending), len(s.placed)+len(s.finished), s.stream != nil, s.ended
	s.mu.Unlock()
	if !session {
		return fmt.Errorf("there is no session; the one before has ended: %v", ended)
	}
	if waiting > 0 && placed == placedBefore {
		r.skip()
		return fmt.Errorf("%d tasks wait, and none was placed", waiting)
	}
	return nil
}

// Random faults of members and of etcd while a trace of a cluster is replayed: every task is placed once, none is lost,
// no node has more than it can hold, and no member answers in an epoch that is over.
func TestGroup_RandomFaultsDuringATrace(t *testing.T) {
	random := newRandom(t)
	g := newGroup(t, 3)
	p := newProbe(g)
	_, epoch := p.leaderAfter(g, 0, electedWithin)
	r := newTraceReplay(t, g)
	rounds, faults := testscale.Runs(50), map[string]int{}
	for round := range rounds {
		f := drawFault(random, drawVictim(t, random, g, p, epoch))
		faults[f.kind]++
		from, to := round*len(r.tasks)/rounds, (round+1)*len(r.tasks)/rounds
		r.play((3*from+to)/4, 200*time.Millisecond)
		f.happen(g, func(pause time.Duration) { r.play((from+to)/2, pause) })
		placed, _, _, _, problems := r.shim.state()
		assert.Equal(t, len(problems), 0, "%v", problems)
		t.Logf("round %d: %s; %d tasks of %d are placed", round, f, placed, r.submitted)
		r.play(to, 200*time.Millisecond)
		until(t, 2*placedWithin, func() error { return r.goesOn(placed) })
		epoch = p.last().epoch
	}
	until(t, 6*placedWithin, func() error { r.skip(); return r.shim.allPlaced() })
	checkShim(t, r.shim, len(r.tasks))
	assert.Equal(t, len(p.problems()), 0, "%v", p.problems())
	_, sessions, _, _, _ := r.shim.state()
	t.Logf("%d tasks, %v, %d sessions, the last epoch is %d", len(r.tasks), faults, sessions, epoch)
}
