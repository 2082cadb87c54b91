package twin

import (
	"math/rand/v2"
	"testing"
	"time"

	"gotest.tools/v3/assert"

	"github.com/canopy-scheduler/canopy/internal/testing/randomrun"
	"github.com/canopy-scheduler/canopy/internal/testing/testscale"
	"github.com/canopy-scheduler/canopy/pkg/objects"
	"github.com/canopy-scheduler/canopy/pkg/preemption"
	"github.com/canopy-scheduler/canopy/pkg/preemption/fairshare"
	"github.com/canopy-scheduler/canopy/pkg/preemption/victim"
	"github.com/canopy-scheduler/canopy/pkg/resources"
	"github.com/canopy-scheduler/canopy/pkg/scheduler"
	"github.com/canopy-scheduler/canopy/pkg/security"
)

// dryRunIgnoredFields are the fields that a dry run may change: the list of freed nodes, which may have removed nodes
// with the names of their resources; and what the affinity of a hypothetical ask has the tracker count, until it is
// swept: Check counts it anew; and that an explanation has just looked for a node for a shape, and there was none. The
// queue of a member of usage over time may have been removed, with the names of its resources; prices have them as
// text.
var dryRunIgnoredFields = map[string]bool{
	"List.root": true, "retries.nodes": true,
	"Nodes.tracker": true, "Nodes.tracking": true, "Nodes.grouped": true, "Nodes.bySlot": true,
	"Node.AffinityNode": true,
	"Shape.noFitSince":  true, "member.queue": true, "prices.capacity": true, "prices.weights": true,
	// shares are computed when they are asked for
	"Shares.levels": true, "Shares.demands": true, "Shares.largest": true, "Shares.largestKnown": true,
	"Shares.priced": true, "Shares.enabled": true, "Shares.enabledKnown": true,
}

// After any number of dry runs the partition is the same bytes, and the random run continues unchanged.
// Runs with possible victims are more frequent.
func TestDryRun_ChangesNothing(t *testing.T) {
	runs := uint64(testscale.Runs(60))
	outcomes, refused, explained := map[scheduler.DryRunOutcome]int{}, 0, 0
	for seed := uint64(1); seed <= runs; seed++ {
		s := randomrun.RandomRun(seed, stepsPerRun)
		opt := objects.Options{Shapes: s.Shapes, Lifetimes: s.Lifetimes, Candidates: s.MaxCandidates}
		dryRunCore := scheduler.NewWith(s.Partition, s.Oracle.Oracle(), opt)
		referenceCore := scheduler.NewWith(s.Partition, s.Oracle.Oracle(), opt)
		rng, now := rand.New(rand.NewPCG(seed, 28)), randomrun.StartTime()
		for i, b := range s.Steps {
			now = now.Add(b.After)
			got, more := applyStep(b, dryRunCore, now)
			want, wantMore := applyStep(b, referenceCore, now)
			if effectsText(got) != effectsText(want) || more != wantMore {
				t.Fatalf("seed %d, step %d: %s\nthe dry run changed the effects:\n%s\nand was:\n%s", seed, i, b, effectsText(got),
					effectsText(want))
			}
			if rng.IntN(6) > 0 {
				continue
			}
			var all []scheduler.DryRunRequest
			for range 1 + rng.IntN(3) {
				all = append(all, randomHypothesis(rng, dryRunCore, now))
			}
			var before string
			if exact := rng.IntN(8) == 0; exact {
				dryRunCore.ForgetSnapshots()
				dryRunCore.Refresh()
				before = dumpText(dryRunCore.Partition(), dryRunIgnoredFields)
			}
			for _, h := range all {
				compareReasons(t, dryRunCore.Partition(), h.Key, now)
				out, err := dryRunCore.DryRun(h, now)
				if err != nil {
					refused++
					continue
				}
				outcomes[out.Outcome]++
				if out.Pending && !h.AssumeDelayPassed && s.Oracle.Oracle() == nil {
					explained += compareSearches(t, dryRunCore.ExplainWithVictims(h.Key, now), out)
				}
			}
			if before != "" {
				if after := dumpText(dryRunCore.Partition(), dryRunIgnoredFields); before != after {
					t.Fatalf("seed %d, step %d: the dry run has changed something:\n%s", seed, i, firstDifference(before, after))
				}
			}
			assert.NilError(t, dryRunCore.Check())
		}
		assert.DeepEqual(t, dryRunCore.Preemptions().Total, referenceCore.Preemptions().Total)
	}
	for _, o := range []scheduler.DryRunOutcome{scheduler.WouldFit, scheduler.WouldWait, scheduler.WouldPreempt,
		scheduler.WouldNotFit, scheduler.WouldNotStart} {
		assert.Assert(t, outcomes[o] > 0, "no dry run %s: %v", o, outcomes)
	}
	assert.Assert(t, refused > 0)
	assert.Assert(t, explained > 0)
}

// compareSearches compares the searches for victims of an explanation with those of a dry run at the same time
// (EXP-18).
func compareSearches(t *testing.T, e *scheduler.Explanation, dry *scheduler.DryRunResult) (compared int) {
	t.Helper()
	if len(e.Searches) == 0 || e.SearchedAt > e.At {
		assert.Assert(t, dry.Outcome != scheduler.WouldPreempt, "%s: the dry run has victims, and the explanation says: %v",
			e.Key, e.Verdict)
		return 0
	}
	assert.DeepEqual(t, e.Searches, dry.Searches)
	return 1
}

// compareReasons compares the reported reasons of preemption with those of the twin.
func compareReasons(t *testing.T, p *objects.Partition, key objects.AllocationKey, now time.Time) {
	t.Helper()
	x, ok := p.Allocation(key)
	if !ok {
		return
	}
	var explained []victim.Reason
	var due time.Time
	for _, c := range preemption.Entitlements(fairshare.Of(p), x, now) {
		if c.NotEntitled == preemption.Entitled {
			explained = append(explained, c.Reason)
		}
		if !c.Due.IsZero() {
			due = c.Due
		}
	}
	reasons, at := preemption.EntitledReasons(fairshare.Of(p), x, now)
	assert.DeepEqual(t, explained, reasons)
	assert.Equal(t, due, at)
}

// randomHypothesis returns a pending ask, or a hypothetical one.
func randomHypothesis(rng *rand.Rand, c *scheduler.Core, now time.Time) scheduler.DryRunRequest {
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
			for w := range a.Allocations.All() {
				if w.Node == "" {
					pending = append(pending, w.Ask.Key)
				}
			}
		}
	}
	snap := c.Snapshot(now)
	visit(snap.Root)
	h := scheduler.DryRunRequest{AssumeDelayPassed: rng.IntN(2) == 0}
	if n := snap.Nodes.Len(); n > 0 && rng.IntN(3) == 0 {
		h.Node = snap.Nodes.At(rng.IntN(n)).ID
	}
	if len(pending) > 0 && rng.IntN(3) == 0 {
		h.Key = pending[rng.IntN(len(pending))]
		return h
	}
	h.Ask = &objects.Ask{
		Key: "hypothetical", App: "hypothetical", Priority: int32(rng.IntN(20)),
		Policy: objects.PolicySent | objects.PolicyAllowPreemptOther,
		Amounts: resources.FromMap(map[string]resources.Quantity{
			"vcore": resources.Quantity(rng.IntN(6)), "memory": resources.Quantity(rng.IntN(6)),
			"seldom": resources.Quantity(rng.IntN(30) / 29),
		}),
	}
	if n := snap.Nodes.Len(); n > 0 && rng.IntN(6) == 0 {
		h.Ask.Details = &objects.AskDetails{RequiredNode: snap.Nodes.At(rng.IntN(n)).ID}
	}
	if len(apps) > 0 && rng.IntN(2) == 0 {
		h.Ask.App = apps[rng.IntN(len(apps))]
	}
	h.Applicant = objects.HypotheticalOwner{User: security.User{Name: "ann", Groups: []string{"dev"}},
		Queue: queues[rng.IntN(len(queues))]}
	return h
}
