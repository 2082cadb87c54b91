package scheduler

import (
	"fmt"
	"testing"
	"time"

	"gotest.tools/v3/assert"

	"github.com/canopy-scheduler/canopy/pkg/objects"
)

// batchOracle refuses all nodes but some, and records what it is asked.
type batchOracle struct {
	accepted objects.NodeID
	calls    []string
}

func (o *batchOracle) Fits(_ objects.AllocationKey, node objects.NodeID) bool {
	o.calls = append(o.calls, string(node))
	return node == o.accepted
}

func (o *batchOracle) FitsEach(_ objects.AllocationKey, nodes []objects.NodeID) (fits []bool) {
	o.calls = append(o.calls, fmt.Sprint(nodes))
	for _, n := range nodes {
		fits = append(fits, n == o.accepted)
	}
	return fits
}

// oracle is an Oracle that asks o; it has FitsEach.
func (o *batchOracle) oracle() *objects.Oracle {
	return &objects.Oracle{Fits: o.Fits, FitsEach: o.FitsEach}
}

// coreWithNodes is a Core with nodes n000, n001 and so on, which are asked about in this order, and an application.
func coreWithNodes(n int, oracle *objects.Oracle, now time.Time) *Core {
	core := New(treeConfig(1, 1), oracle)
	for i := range n {
		core.Step(now, AddNode{Node: objects.NodeID(fmt.Sprintf("n%03d", i)), Total: amounts(10, 1<<20), Schedulable: true})
	}
	path := "root"
	for q := core.part.Root(); !q.Leaf(); q = q.Children()[0] {
		path = string(q.Children()[0].Path())
	}
	core.Step(now, AddApplication{App: "app", Queue: path})
	return core
}

func askOfClass(key, class string) SubmitAsk {
	x := &objects.Ask{Key: objects.AllocationKey(key), App: "app", Amounts: amounts(1, 1)}
	if class != "" {
		x = x.WithTags(map[string]string{PredicateClassTag: class})
	}
	return SubmitAsk{Ask: x}
}

// The first node is asked about alone; then come batches of 8, of 64 and of what is left (NOD-40).
func TestPredicates_BatchesGrow(t *testing.T) {
	now := time.Unix(1_000_000_000, 0)
	for _, c := range []struct {
		accepted objects.NodeID
		calls    int
	}{{"n000", 1}, {"n001", 2}, {"n008", 2}, {"n009", 3}, {"n072", 3}, {"n099", 4}, {"none", 4}} {
		oracle := &batchOracle{accepted: c.accepted}
		core := coreWithNodes(100, oracle.oracle(), now)
		core.Step(now, askOfClass("ask", ""))
		effects, _ := core.Schedule(now, 1)
		assert.Equal(t, len(oracle.calls), c.calls, "%s", c.accepted)
		placed := ""
		for _, e := range effects {
			if e, ok := e.(Allocated); ok {
				placed = string(e.Node)
			}
		}
		if c.accepted != "none" {
			assert.Equal(t, placed, string(c.accepted))
		}
	}
}

// How often the resource manager is called for 100 asks, of which it accepts none on any of 100 nodes, in the first run
// and in that a second later.
func TestPredicates_CountOfCalls(t *testing.T) {
	for _, c := range []struct {
		name          string
		batches       bool
		class         string
		first, second int
	}{
		{"one by one", false, "", 10_000, 10_000},
		{"in batches", true, "", 400, 400},
		{"one by one, with a class", false, "c", 100, 0},
		{"in batches, with a class", true, "c", 4, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			now := time.Unix(1_000_000_000, 0)
			counts := &batchOracle{}
			oracle := counts.oracle()
			if !c.batches {
				oracle.FitsEach = nil
			}
			core := coreWithNodes(100, oracle, now)
			for i := range 100 {
				core.Step(now, askOfClass(fmt.Sprint("ask-", i), c.class))
			}
			core.Schedule(now, 10)
			assert.Equal(t, len(counts.calls), c.first)
			counts.calls = nil
			core.Step(now.Add(refusalRetry), Wake{})
			core.Schedule(now.Add(refusalRetry), 10)
			assert.Equal(t, len(counts.calls), c.second)
		})
	}
}

// What changes a node, and what the resource manager says of it, makes it asked about again, and no other (NOD-41).
func TestPredicates_AnswersAreForgottenWithTheNode(t *testing.T) {
	now := time.Unix(1_000_000_000, 0)
	oracle := &batchOracle{}
	core := coreWithNodes(20, oracle.oracle(), now)
	for i := range 5 {
		core.Step(now, askOfClass(fmt.Sprint("ask-", i), "c"))
	}
	core.Step(now, askOfClass("other", "d"))
	core.Schedule(now, 10)
	assert.Equal(t, len(oracle.calls), 2*3, "each class")
	bound := &objects.Ask{Key: "bound", App: "app", Amounts: amounts(1, 1)}
	for _, c := range []struct {
		what string
		cmd  Command
	}{
		{"the same capacity again", SetCapacity{Node: "n003", Total: amounts(10, 1<<20)}},
		{"the same attributes again", SetAttributes{Node: "n003"}},
		{"schedulable again", SetSchedulable{Node: "n003", Schedulable: true}},
		{"a foreign allocation", ReportForeign{Foreign: objects.Foreign{Key: "f", Node: "n003", Amounts: amounts(1, 1)}}},
		{"an allocation", ReportAllocation{Ask: bound, Node: "n003"}},
		{"other tags of it", SubmitAsk{Ask: bound.WithTags(map[string]string{"canopy.scheduler/usage": `{"vcore":"1"}`})}},
		{"its end", Release{App: "app", Key: "bound", Type: StoppedByRM}},
	} {
		oracle.calls = nil
		core.Step(now, c.cmd)
		now = now.Add(refusalRetry)
		core.Step(now, Wake{})
		core.Schedule(now, 10)
		assert.DeepEqual(t, oracle.calls, []string{"n003", "n003"})
	}
	oracle.calls = nil
	core.Step(now, Wake{})
	core.Schedule(now, 10)
	assert.Equal(t, len(oracle.calls), 0)
}

// An answer that is remembered as an acceptance ends the search, behind the nodes that are not known.
func TestPredicates_RememberedAcceptanceIsNotAskedAgain(t *testing.T) {
	now := time.Unix(1_000_000_000, 0)
	oracle := &batchOracle{}
	core := coreWithNodes(3, oracle.oracle(), now)
	core.Step(now, askOfClass("ask", "c"))
	x, _ := core.part.Allocation("ask")
	last, _ := core.part.Node("n002")
	core.answers.remember(x, last, true)
	core.part.RefreshShares()
	assert.Equal(t, core.firstFeasibleNode(x), last)
	assert.DeepEqual(t, oracle.calls, []string{"n000", "n001"})
}

// A node keeps a bounded number of answers.
func TestPredicates_AnswersOfANodeAreBounded(t *testing.T) {
	now := time.Unix(1_000_000_000, 0)
	oracle := &batchOracle{}
	core := coreWithNodes(1, oracle.oracle(), now)
	for i := range 1000 {
		core.Step(now, askOfClass(fmt.Sprintf("ask-%04d", i), fmt.Sprint("class-", i)))
	}
	core.Schedule(now, 10)
	assert.Equal(t, len(oracle.calls), 1000)
	n, _ := core.part.Node("n000")
	known := 0
	for i := range 1000 {
		x, _ := core.part.Allocation(objects.AllocationKey(fmt.Sprintf("ask-%04d", i)))
		if _, ok := core.answers.of(x, n); ok {
			known++
		}
	}
	assert.Assert(t, 0 < known && known <= 64, "%d answers", known)
}
