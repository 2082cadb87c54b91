package chaos

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"gotest.tools/v3/assert"

	"github.com/canopy-scheduler/canopy/internal/testing/testscale"
	"github.com/canopy-scheduler/canopy/pkg/resources"
)

const recoveryConfig = `
partitions:
- name: default
  preemption: {nominationtimeout: 1m}
  queues:
  - name: root
    submitacl: '*'
    properties: {preemption.delay: 1s}
    queues:
    - {name: a, properties: {preemption.priority: leaf}, limits: [{limit: bob, users: [bob], maxresources: {vcore: 9}}]}
    - {name: b, resources: {max: {vcore: 12}}}
`

func newShim(t *testing.T, seed uint64, events map[string]int) *shim {
	s := &shim{
		t: t, seed: seed, rng: rand.New(rand.NewPCG(seed, 63)), serve: newEndpoint(t), events: events,
		nodes: map[string]*shimNode{}, apps: map[string]*shimApp{}, pods: map[string]*pod{},
		foreigns: map[string]*foreignPod{}, creating: map[string]int{},
	}
	for k := range s.link {
		s.link[k] = newLink()
	}
	for i := range 3 {
		s.addNode(fmt.Sprint("n", i))
	}
	for range 3 {
		s.newApp()
	}
	s.recover()
	return s
}

// restart ends the core, and begins another, which knows nothing.
func (s *shim) restart() {
	s.events["the core is restarted"]++
	if s.phase != live {
		s.events["the core is restarted during a recovery"]++
	}
	s.drop()
	s.serve.stop()
	s.serve = newEndpoint(s.t)
}

// inject injects a fault.
func (s *shim) inject() {
	k := kind(s.rng.IntN(int(streamKinds)))
	l := s.link[k]
	switch s.rng.IntN(8) {
	case 0:
		s.restart()
		s.recover()
	case 1: // the connection breaks
		s.recover()
		s.events["registered again"]++
	case 2, 3, 4:
		if l.stream == nil {
			return
		}
		lost := len(l.out)
		switch {
		case lost == 0 && l.in.len() == 0:
			s.closeStream(k)
			s.events["a stream without messages breaks"]++
		case s.phase == live && lost > 0 && s.rng.IntN(2) == 0:
			s.closeStream(k)
			s.readAll(k)
			s.openStream(k)
			s.resync(k)
			s.events["messages are lost with their stream, and sent again"]++
		default:
			s.recover()
			s.events["messages are lost with their stream, and it registers again"]++
		}
	case 5:
		s.resync(k)
		s.events["messages are sent twice"]++
	default:
		s.open()
	}
}

// settle lets all messages arrive.
func (s *shim) settle() {
	s.open()
	for range 100_000 {
		if !s.transfer() {
			return
		}
	}
	s.fail("messages and answers do not end")
}

// quiesce is the end without faults: nodes are schedulable, orders are confirmed, and deadlines pass.
func (s *shim) quiesce() {
	s.settle()
	s.hold = false
	for i := range 4 {
		if id := fmt.Sprint("n", i); s.nodes[id] == nil {
			s.addNode(id)
		} else {
			s.drain(id, false)
		}
	}
	for idle := 0; idle < 40; idle++ {
		s.settle()
		for _, p := range s.podsWhere(func(p *pod) bool { return p.ordered }) {
			s.confirm(p)
			idle = 0
		}
		<-time.After(5 * time.Second)
		synctest.Wait()
	}
	s.settle()
}

// books are the accounts of the shim, or of the core: a line for each node, allocation, foreign allocation, queue and
// user.
type books struct {
	lines []string
	sums  map[string]int // in cores
}

func newBooks() *books { return &books{sums: map[string]int{}} }

func (b *books) text() string {
	for what, n := range b.sums {
		if n != 0 {
			b.lines = append(b.lines, fmt.Sprintf("%s %d", what, n))
		}
	}
	slices.Sort(b.lines)
	return strings.Join(b.lines, "\n")
}

func (b *books) pod(key, app, node string, size int, placeholder bool, queue, user string) {
	b.lines = append(b.lines, fmt.Sprintf("pod %s of %s on %q with %d, placeholder %t", key, app, node, size, placeholder))
	if node == "" {
		b.sums["pending in "+queue] += size
		return
	}
	b.sums["allocated on "+node] += size
	b.sums["allocated in "+queue] += size
	b.sums["allocated to "+user] += size
	if queue == "root.a" && user == "bob" {
		b.sums["counted in the limit of bob"] += size
	}
}

// booksOfShim is what really is.
func (s *shim) booksOfShim() string {
	b := newBooks()
	for id, n := range s.nodes {
		b.lines = append(b.lines, fmt.Sprintf("node %s with %d, schedulable %t", id, n.cores, !n.draining && !s.hold))
	}
	for _, f := range s.foreigns {
		b.sums["occupied on "+f.node] += f.size
	}
	for _, p := range s.pods {
		a := s.apps[p.app].request
		b.pod(p.key, p.app, p.node, p.size, p.placeholder, a.QueueName, a.Ugi.User)
	}
	return b.text()
}

// booksOfCore is what the core says. Its sums are not computed from its allocations.
func (s *shim) booksOfCore() string {
	view, b := s.serve.snapshot(s), newBooks()
	for n := range view.Nodes.All() {
		b.lines = append(b.lines, fmt.Sprintf("node %s with %d, schedulable %t", n.ID, coresOf(n.Total), n.Schedulable))
		b.sums["allocated on "+string(n.ID)] += coresOf(n.Allocated)
		b.sums["occupied on "+string(n.ID)] += coresOf(n.Occupied)
	}
	for q := range view.Root.Children.All() {
		b.sums["pending in "+string(q.Path)] += coresOf(q.Pending)
		b.sums["allocated in "+string(q.Path)] += coresOf(q.Allocated)
		for l := range q.Limits.All() {
			b.sums["counted in the limit of bob"] += coresOf(l.Allocated)
		}
		for a := range q.Applications.All() {
			b.sums["allocated to "+a.User.Name] += coresOf(a.Allocated) + coresOf(a.Placeholders)
			for x := range a.Allocations.All() {
				b.lines = append(b.lines,
					fmt.Sprintf("pod %s of %s on %q with %d, placeholder %t", x.Ask.Key, a.ID, x.Node, coresOf(x.Ask.Amounts),
						x.Ask.Placeholder))
			}
		}
	}
	return b.text()
}

// checkBooks: no ask is lost, none is allocated twice, and every sum is right.
func (s *shim) checkBooks() {
	s.t.Helper()
	assert.Equal(s.t, s.booksOfCore(), s.booksOfShim(), "seed %d", s.seed)
}

// overcommitted returns the nodes on which more runs than they have.
func (s *shim) overcommitted() (out []string) {
	for n := range s.serve.snapshot(s).Nodes.All() {
		if n.Available.HasNegative() {
			out = append(out, string(n.ID))
		}
	}
	return out
}

// checkPlaced: an ask that fits does not wait, unless a node is overcommitted, which the cluster lacks elsewhere.
func (s *shim) checkPlaced() {
	s.t.Helper()
	view := s.serve.snapshot(s)
	if len(s.overcommitted()) > 0 {
		s.events["a node is overcommitted at the end"]++
		return
	}
	for q := range view.Root.Children.All() {
		for a := range q.Applications.All() {
			for x := range a.Allocations.All() {
				for n := range view.Nodes.All() {
					if p := s.pods[string(x.Ask.Key)]; p != nil && p.mayWait() {
						continue
					}
					if x.Node == "" && q.Path == "root.a" && a.User.Name == "ann" && coresOf(n.Available) >= coresOf(x.Ask.Amounts) {
						s.fail("%s of %d cores waits, and %s has %d", x.Ask.Key, coresOf(x.Ask.Amounts), n.ID, coresOf(n.Available))
					}
				}
			}
		}
	}
}

// A shim whose streams break, whose messages are lost, come twice or in another order than that of other streams, and
// whose core is restarted at any time, ends with the accounts that it had itself: no ask is lost, and none is allocated
// twice.
func TestChaos_Recovery(t *testing.T) {
	runRecovery(t, func(t *testing.T, seed uint64, events map[string]int) {
		s := newShim(t, seed, events)
		defer func() { s.serve.stop() }()
		for range 300 {
			switch s.rng.IntN(10) {
			case 0, 1, 2:
				s.change()
			case 3:
				if s.rng.IntN(4) == 0 {
					s.inject()
				}
			default:
				s.transfer()
			}
		}
		s.quiesce()
		s.checkBooks()
		s.checkPlaced()
		s.restart()
		s.recover()
		s.quiesce()
		s.checkBooks()
		s.countConstrained()
	}, "a pod with constraints runs at the end", "a member without a placeholder runs at the end", "the core is restarted",
		"registered again", "a stream without messages breaks", "messages are sent twice",
		"messages are lost with their stream, and sent again", "messages are lost with their stream, and it registers again",
		"rejected because it came too early", "a node fails", "a node comes back", "ordered: TIMEOUT",
		"ordered: PLACEHOLDER_REPLACED",
		"ordered: PREEMPTED_BY_SCHEDULER")
}

// A recovery in the order of docs/PROTOCOL.md, with the streams in any order, gives the same accounts as before.
func TestChaos_RecoveryGivesTheSameAccounts(t *testing.T) {
	runRecovery(t, func(t *testing.T, seed uint64, events map[string]int) {
		s := newShim(t, seed, events)
		defer func() { s.serve.stop() }()
		for range 150 {
			if s.rng.IntN(3) == 0 {
				s.change()
			} else {
				s.transfer()
			}
		}
		s.settle()
		s.checkBooks()
		s.restart()
		s.hold = true
		s.recover()
		s.settle()
		s.checkBooks()
		for _, p := range s.pods {
			if p.placeholder {
				events["a placeholder is recovered"]++
			}
		}
		events["a foreign allocation is recovered"] += len(s.foreigns)
		before, together := s.overcommitted(), s.colocated()
		s.restart()
		s.hold, s.inOrder = false, true
		s.recover()
		s.settle()
		s.checkBooks()
		for _, id := range s.overcommitted() {
			if !slices.Contains(before, id) {
				s.fail("node %s is overcommitted by a recovery in order", id)
			}
		}
		assert.DeepEqual(t, s.colocated(), together)
		s.quiesce()
		s.checkBooks()
		s.checkPlaced()
		if len(together) == 0 {
			assert.Equal(t, len(s.colocated()), 0)
		}
		s.countConstrained()
	}, "a pod with constraints runs at the end", "a member without a placeholder runs at the end",
		"a placeholder is recovered", "a foreign allocation is recovered")
}

// runRecovery runs 200 seeds, or those of CANOPY_CHAOS_SEED and CANOPY_CHAOS_RUNS. Each of the events must have
// happened in all of them together.
func runRecovery(t *testing.T, run func(t *testing.T, seed uint64, events map[string]int), required ...string) {
	events, first, runs := map[string]int{}, envNumber(t, "CANOPY_CHAOS_SEED", 1),
		envNumber(t, "CANOPY_CHAOS_RUNS", uint64(testscale.Runs(200)))
	for seed := first; seed < first+runs; seed++ {
		synctest.Test(t, func(t *testing.T) { run(t, seed, events) })
		if t.Failed() {
			return
		}
	}
	for _, what := range slices.Sorted(maps.Keys(events)) {
		t.Logf("%6d %s", events[what], what)
	}
	for _, what := range required {
		assert.Check(t, runs < 20 || events[what] >= int(runs)/20, "%q happened %d times", what, events[what])
	}
}

func coresOf(a resources.Amounts) int { return int(a.Get("vcore")) / millicoresPerCore }
