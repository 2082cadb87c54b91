package objects

import (
	"testing"
	"time"

	"gotest.tools/v3/assert"

	"github.com/canopy-scheduler/canopy/pkg/configs"
)

// A second Preempt for the same ask leaves nothing held on the first node. The scheduler makes
// none: it does not evaluate nominated asks.
func TestNomination_SecondReplacesFirst(t *testing.T) {
	p := busyPartition(t, configs.Queue{Name: "a"})
	assert.NilError(t, p.AddNode("m", cores(4), nil, true))
	x, err := p.AddAsk(&Ask{Key: "k", App: "app", Amounts: cores(1)}, epoch)
	assert.NilError(t, err)
	n, m := p.nodes["n"], p.nodes["m"]
	var ended endedNominations
	Attach(p, &ended)
	p.Preempt(x, n, nil, epoch)
	p.Preempt(x, m, nil, epoch.Add(time.Second))
	assert.Equal(t, p.Nomination(x), m)
	assert.Equal(t, len(p.Nominees()), 1)
	assert.Assert(t, n.extra.held.IsZero() && len(n.extra.nominees) == 0, "node n holds %v for %d", n.extra.held,
		len(n.extra.nominees))
	assert.DeepEqual(t, []NodeID(ended), []NodeID{"n"})
	assert.NilError(t, p.Check())
}

// endedNominations are the nodes of the nominations that ended.
type endedNominations []NodeID

func (*endedNominations) Wants() ChangeSet { return 1 << NominationEnded }

func (e *endedNominations) On(c *Change) { *e = append(*e, c.Node.ID()) }

// QUE-43: a victim counts as preempting in its leaf and in every queue above from its mark to its
// release, also when it is overdue.
func TestQueue_PreemptingCountsVictimsUntilTheirRelease(t *testing.T) {
	p := busyPartition(t, configs.Queue{Name: "a"}, "k1", "k2", "k3")
	leaf := p.queues["root.a"]
	expect := func(preempting, allocated int64) {
		t.Helper()
		for _, q := range []*Queue{leaf, p.root} {
			assert.Assert(t, p.Amounts(q.Preempting()).Equal(cores(preempting)), "%s: %v", q.path, p.Amounts(q.Preempting()))
			assert.Assert(t, p.Amounts(q.Allocated()).Equal(cores(allocated)), "%s: %v", q.path, p.Amounts(q.Allocated()))
		}
		assert.NilError(t, p.Check())
	}
	expect(0, 3)
	p.MarkPreempting([]*Allocation{p.mustFind("k1")}, epoch)
	expect(1, 3)
	p.MarkPreempting([]*Allocation{p.mustFind("k2")}, epoch.Add(time.Second))
	expect(2, 3)
	k1, _ := p.Allocation("k1")
	p.MarkOverdue(k1)
	at, overdue := p.PreemptingSince(k1)
	assert.Assert(t, overdue && at.Equal(epoch))
	expect(2, 3)
	_, err := p.Resize("k2", cores(5))
	assert.NilError(t, err)
	expect(6, 7)
	p.Release("k1", epoch.Add(time.Minute))
	expect(5, 6)
	p.Release("k2", epoch.Add(time.Minute))
	expect(0, 1)
}
