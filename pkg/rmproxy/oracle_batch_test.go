package rmproxy

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/apache/yunikorn-scheduler-interface/lib/go/si"
	"gotest.tools/v3/assert"

	"github.com/canopy-scheduler/canopy/internal/testing/fakerm"
)

var errTaint = errors.New("a taint")

// batchShim answers batches; it accepts one node.
type batchShim struct {
	fakerm.Recorder
	accepted string
	missing  int // how many answers of a batch it leaves out

	mu      sync.Mutex
	batches []string
}

func (s *batchShim) Predicates(m *si.PredicatesArgs) error { return s.answer(m.NodeID) }

func (s *batchShim) answer(node string) error {
	if node != s.accepted {
		return errTaint
	}
	return nil
}

func (s *batchShim) PredicatesOnNodes(key string, nodes []string) (answers []error) {
	s.mu.Lock()
	s.batches = append(s.batches, key+" on "+strings.Join(nodes, " "))
	s.mu.Unlock()
	for _, n := range nodes[s.missing:] {
		answers = append(answers, s.answer(n))
	}
	return answers
}

// nodeNames are n0, n1 and so on: at most ten, so that they are in order.
func nodeNames(n int) (names []string) {
	for i := range n {
		names = append(names, fmt.Sprintf("n%d", i))
	}
	return names
}

// After a refusal the next nodes are asked about in one call, and the first that is accepted is taken (NOD-40).
func TestInProcess_PredicatesInBatches(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &batchShim{accepted: "n4"}
		d := newLinkedShim(t, s)
		d.addNodes(nodeNames(7)...)
		d.addApp()
		d.submitAsks("k")
		synctest.Wait()
		assert.DeepEqual(t, s.batches, []string{"k on n1 n2 n3 n4 n5 n6"})
		calls := strings.Join(s.Calls(), "\n")
		assert.Assert(t, strings.Contains(calls, "allocations k@n4"), calls)
	})
}

// A shim that answers about another number of nodes than it was asked about has refused them.
func TestInProcess_PredicatesWithMissingAnswersRefuse(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &batchShim{accepted: "n4", missing: 1}
		d := newLinkedShim(t, s)
		d.addNodes(nodeNames(7)...)
		d.addApp()
		d.submitAsks("k")
		synctest.Wait()
		assert.Assert(t, !strings.Contains(strings.Join(s.Calls(), "\n"), "k@"), "%v", s.Calls())
		assert.Equal(t, d.logs.FilterMessageSnippet("about another number of nodes").Len(), 1)
	})
}

// concurrentShim answers after a second, and counts the calls that run at the same time.
type concurrentShim struct {
	fakerm.Recorder
	atOnce   int
	accepted string

	mu            sync.Mutex
	running, most int
	calls         []string
}

func (s *concurrentShim) PredicatesAtOnce() int { return s.atOnce }

func (s *concurrentShim) Predicates(m *si.PredicatesArgs) error {
	s.mu.Lock()
	s.running++
	s.most = max(s.most, s.running)
	s.calls = append(s.calls, m.NodeID)
	s.mu.Unlock()
	time.Sleep(time.Second)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.running--
	if m.NodeID != s.accepted {
		return errTaint
	}
	return nil
}

// Calls of Predicates run at the same time, as many as the shim allows; the decision is the same (NOD-40).
func TestInProcess_PredicatesAtTheSameTime(t *testing.T) {
	for _, c := range []struct {
		atOnce, most int
		calls        int
		took         time.Duration
	}{{0, 1, 6, 6 * time.Second}, {1, 1, 6, 6 * time.Second}, {4, 4, 9, 3 * time.Second}, {100, 8, 9, 2 * time.Second}} {
		t.Run(fmt.Sprint(c.atOnce), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := &concurrentShim{atOnce: c.atOnce, accepted: "n5"}
				placed := make(chan struct{}, 10)
				s.OnCall = func(call string) {
					if call == "allocations k@n5" {
						placed <- struct{}{}
					}
				}
				d := newLinkedShim(t, s)
				d.addNodes(nodeNames(9)...)
				d.addApp()
				start := time.Now()
				d.submitAsks("k")
				<-placed
				assert.Equal(t, time.Since(start), c.took)
				assert.Equal(t, s.most, c.most)
				assert.Equal(t, len(s.calls), c.calls)
			})
		})
	}
}
