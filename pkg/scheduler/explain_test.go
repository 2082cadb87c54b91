package scheduler

import (
	"fmt"
	"testing"
	"time"

	"gotest.tools/v3/assert"

	"github.com/canopy-scheduler/canopy/pkg/objects"
	"github.com/canopy-scheduler/canopy/pkg/security"
)

// nominationCore is a Core with so many full nodes, and a pending ask in a queue at the given depth.
func nominationCore(tb testing.TB, nodes, depth int) (*Core, time.Time) {
	tb.Helper()
	path := "root"
	conf := treeConfig(depth, 1)
	for q := &conf.Root; len(q.Children) > 0; q = &q.Children[0] {
		path += "." + q.Children[0].Name
	}
	c, now := New(conf, nil), time.Unix(1_000_000_000, 0)
	c.Step(now, AddApplication{App: "app", Queue: path, User: security.User{Name: "ann"}})
	for i := range nodes {
		id := objects.NodeID(fmt.Sprintf("n%05d", i))
		c.Step(now, AddNode{Node: id, Total: amounts(1000, 1<<30), Schedulable: true})
		c.Step(now,
			ReportAllocation{Node: id,
				Ask: &objects.Ask{Key: objects.AllocationKey("run-" + id), App: "app", Amounts: amounts(999, 1<<29)}})
	}
	c.Step(now, SubmitAsk{Ask: &objects.Ask{Key: "waits", App: "app", Amounts: amounts(2, 1<<10)}})
	c.Schedule(now, 10)
	return c, now
}

// An explanation makes as many heap allocations in a large cluster as in a small one, and changes nothing.
func TestExplain_AllocatesTheSameForAnyNumberOfNodes(t *testing.T) {
	count := func(nodes int) float64 {
		c, now := nominationCore(t, nodes, 3)
		assert.Equal(t, *c.Explain("waits", now).Nodes, NodeCounts{Total: nodes, TooFull: nodes})
		assert.NilError(t, c.Check())
		return testing.AllocsPerRun(20, func() { c.Explain("waits", now) })
	}
	few, many := count(300), count(3000) // below 256, the numbers of the texts need no memory
	t.Logf("%.0f and %.0f heap allocations", few, many)
	assert.Equal(t, few, many)
}

func BenchmarkExplain(b *testing.B) {
	for _, nodes := range []int{100, 10_000} {
		b.Run(fmt.Sprint(nodes, " nodes"), func(b *testing.B) {
			c, now := nominationCore(b, nodes, 10)
			b.ReportAllocs()
			for b.Loop() {
				c.Explain("waits", now)
			}
		})
	}
}

// Each reason has its own code and its own text.
func TestExplain_CodesAreUnique(t *testing.T) {
	seen := map[string]PendingReason{}
	for o := NotPending; o <= NominatedNodeRejectedByRM; o++ {
		code := o.Code()
		other, duplicate := seen[code]
		assert.Assert(t, !duplicate && code != "", "%d and %d are both %q", o, other, code)
		seen[code] = o
		assert.Assert(t, o == NotPending || Verdict{Reason: o, Subject: "x"}.String() != "not pending", "%s has no words",
			code)
		assert.Equal(t, o.Permanent(), code == "askExceedsLimit" || code == "askExceedsMax" || code == "unknownNode" ||
			code == "noNodeAdmitted" || code == "noSuchResource" || code == "askExceedsNodes")
	}
}
