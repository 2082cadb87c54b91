package twin

import (
	"math/rand/v2"
	"testing"
	"time"

	"gotest.tools/v3/assert"

	"github.com/canopy-scheduler/canopy/internal/testscale"
	"github.com/canopy-scheduler/canopy/pkg/objects"
	"github.com/canopy-scheduler/canopy/pkg/preemption"
	"github.com/canopy-scheduler/canopy/pkg/resources"
	"github.com/canopy-scheduler/canopy/pkg/scheduler"
	"github.com/canopy-scheduler/canopy/pkg/security"
)

// notSupposed are the fields that a supposition may change: who looks for victims takes the
// list of the nodes that have changed.
var notSupposed = map[string]bool{"Partition.touched": true, "Node.touched": true, "List.root": true}

// Whatever is supposed, and however often: the partition is the same bytes afterwards, and
// the story goes on as if nobody had asked. Stories with somebody to take are told more often.
func TestSupposingChangesNothing(t *testing.T) {
	stories := uint64(testscale.Runs(60))
	outcomes, refused := map[scheduler.SupposedOutcome]int{}, 0
	for seed := uint64(1); seed <= stories; seed++ {
		s := Random(seed, beats)
		opt := objects.Options{Shapes: s.Shapes, Lifetimes: s.Lifetimes, Candidates: s.Candidates}
		asked := scheduler.NewWith(s.Partition, s.RM.oracle(), opt)
		unasked := scheduler.NewWith(s.Partition, s.RM.oracle(), opt)
		d, now := rand.New(rand.NewPCG(seed, 28)), start()
		for i, b := range s.Beats {
			now = now.Add(b.After)
			got, more := b.act(asked, now)
			want, wantMore := b.act(unasked, now)
			if retell(got) != retell(want) || more != wantMore {
				t.Fatalf("seed %d, step %d: %s\nit is another story:\n%s\nand was:\n%s", seed, i, b, retell(got), retell(want))
			}
			if d.IntN(6) > 0 {
				continue
			}
			var all []scheduler.Hypothesis
			for range 1 + d.IntN(3) {
				all = append(all, hypothesis(d, asked, now))
			}
			var before string
			if exact := d.IntN(8) == 0; exact {
				asked.ForgetSnapshots()
				asked.Partition().Settle()
				before = dumped(asked.Partition(), notSupposed)
			}
			for _, h := range all {
				compareClaims(t, asked.Partition(), h.Key, now)
				out, err := asked.Suppose(h, now)
				if err != nil {
					refused++
					continue
				}
				outcomes[out.Outcome]++
			}
			if after := dumped(asked.Partition(), notSupposed); before != "" && before != after {
				t.Fatalf("seed %d, step %d: something is left behind:\n%s", seed, i, firstDifference(before, after))
			}
			assert.NilError(t, asked.Check())
		}
		assert.DeepEqual(t, asked.Preemptions().Made, unasked.Preemptions().Made)
	}
	for o := scheduler.WouldFit; o <= scheduler.WouldNotStart; o++ {
		assert.Assert(t, outcomes[o] > 0, "nothing was supposed that %s: %v", o, outcomes)
	}
	assert.Assert(t, refused > 0)
}

// compareClaims compares what is said about the rights of an ask with those it has.
func compareClaims(t *testing.T, p *objects.Partition, key objects.AllocationKey, now time.Time) {
	t.Helper()
	x, ok := p.Allocation(key)
	if !ok {
		return
	}
	var claimed []preemption.Right
	var due time.Time
	for _, c := range preemption.Entitlements(p, x, now) {
		if c.Bar == preemption.HasRight {
			claimed = append(claimed, c.Right)
		}
		if !c.Due.IsZero() {
			due = c.Due
		}
	}
	rights, at := preemption.Rights(p, x, now)
	assert.DeepEqual(t, claimed, rights)
	assert.Equal(t, due, at)
}

// hypothesis is about an ask that is pending, or one that could be.
func hypothesis(d *rand.Rand, c *scheduler.Core, now time.Time) scheduler.Hypothesis {
	var pending []objects.AllocationKey
	var apps []objects.AppID
	var queues []objects.QueuePath
	var visit func(q *scheduler.QueueView)
	visit = func(q *scheduler.QueueView) {
		queues = append(queues, q.Path)
		for child := range q.Children.All() {
			visit(child)
		}
		for a := range q.Applications.All() {
			apps = append(apps, a.ID)
			for w := range a.Work.All() {
				if w.Node == "" {
					pending = append(pending, w.Ask.Key)
				}
			}
		}
	}
	snap := c.Snapshot(now)
	visit(snap.Root)
	h := scheduler.Hypothesis{Waited: d.IntN(2) == 0}
	if n := snap.Nodes.Len(); n > 0 && d.IntN(3) == 0 {
		h.Node = snap.Nodes.At(d.IntN(n)).ID
	}
	if len(pending) > 0 && d.IntN(3) == 0 {
		h.Key = pending[d.IntN(len(pending))]
		return h
	}
	h.Ask = &objects.Ask{
		Key: "supposed", App: "supposed", Priority: int32(d.IntN(20)), Policy: objects.PolicySent | objects.PolicyOther,
		Amounts: resources.FromMap(map[string]resources.Quantity{
			"vcore": resources.Quantity(d.IntN(6)), "memory": resources.Quantity(d.IntN(6)), "seldom": resources.Quantity(d.IntN(30) / 29),
		}),
	}
	if n := snap.Nodes.Len(); n > 0 && d.IntN(6) == 0 {
		h.Ask.RequiredNode = snap.Nodes.At(d.IntN(n)).ID
	}
	if len(apps) > 0 && d.IntN(2) == 0 {
		h.Ask.App = apps[d.IntN(len(apps))]
	}
	h.Who = objects.Applicant{User: security.User{Name: "ann", Groups: []string{"dev"}}, Queue: queues[d.IntN(len(queues))]}
	return h
}
