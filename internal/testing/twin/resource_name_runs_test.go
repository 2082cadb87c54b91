package twin

import (
	"fmt"
	"hash/fnv"
	"testing"

	"gotest.tools/v3/assert"

	"github.com/canopy-scheduler/canopy/internal/testing/randomrun"
	"github.com/canopy-scheduler/canopy/internal/testing/testscale"
	"github.com/canopy-scheduler/canopy/pkg/feasibility"
	"github.com/canopy-scheduler/canopy/pkg/objects"
	"github.com/canopy-scheduler/canopy/pkg/resources"
	"github.com/canopy-scheduler/canopy/pkg/scheduler"
)

// withScarceNames returns a run with more resource names than are allowed: gpu and disk get one of several
// names, by the key of the ask or the ID of the node.
func withScarceNames(s randomrun.Run) randomrun.Run {
	s.MaxNames, s.MaxAskNames = 5+int(s.Seed%3), 1+int(s.Seed/3%3)
	other := func(of string, a resources.Amounts) resources.Amounts {
		h := fnv.New32a()
		fmt.Fprint(h, of)
		m := a.Map()
		for _, name := range []string{"gpu", "disk"} {
			if n, ok := m[name]; ok {
				delete(m, name)
				m[fmt.Sprint(name, h.Sum32()%4)] = n
			}
		}
		return resources.FromMap(m)
	}
	ask := func(x *objects.Ask) *objects.Ask {
		y := *x
		y.Amounts = other(string(x.Key), x.Amounts)
		return &y
	}
	for i := range s.Steps {
		switch c := s.Steps[i].Command.(type) {
		case scheduler.AddNode:
			c.Total = other(string(c.Node), c.Total)
			s.Steps[i].Command = c
		case scheduler.SetCapacity:
			c.Total = other(fmt.Sprint(c.Node, i), c.Total)
			s.Steps[i].Command = c
		case scheduler.SubmitAsk:
			c.Ask = ask(c.Ask)
			s.Steps[i].Command = c
		case scheduler.SubmitAskWithClass:
			c.Ask = ask(c.Ask)
			s.Steps[i].Command = c
		case scheduler.ReportAllocation:
			c.Ask = ask(c.Ask)
			s.Steps[i].Command = c
		case scheduler.ReportForeign:
			c.Foreign.Amounts = other(string(c.Foreign.Key), c.Foreign.Amounts)
			s.Steps[i].Command = c
		}
	}
	return s
}

// Core and twin agree on rejections when names run out, and on everything else, although the numbers of
// names are reused.
func TestRandomRuns_ResourceNamesAreReused(t *testing.T) {
	runs, refused := testscale.Runs(300), 0
	if !testscale.Full() {
		runs = 10 // each is executed by cores and twin, and twice more to count
	}
	for seed := range uint64(runs) {
		s := withScarceNames(randomrun.RandomRun(seed+7000, 300))
		if f := Execute(s); f != nil {
			t.Fatalf("seed %d: %v", seed+7000, f)
		}
		plain := s
		plain.MaxNames, plain.MaxAskNames = 0, 0
		refused += countRejections(s) - countRejections(plain)
	}
	assert.Assert(t, refused > runs, "names ran out %d times", refused)
}

// countRejections returns how many asks and nodes a core rejects in a run.
func countRejections(s randomrun.Run) (n int) {
	core := scheduler.NewWith(s.Partition, s.Oracle.Oracle(), objects.Options{
		Shapes: feasibility.DefaultShapes, Lifetimes: s.Lifetimes, Evaluations: 1 << 30, Candidates: s.MaxCandidates,
		Names: s.MaxNames, AskNames: s.MaxAskNames,
	})
	now := randomrun.StartTime()
	for _, b := range s.Steps {
		now = now.Add(b.After)
		if b.Command == nil {
			core.Schedule(now, b.Budget)
			continue
		}
		for _, e := range core.Step(now, b.Command) {
			switch e.(type) {
			case scheduler.AskRejected, scheduler.NodeRejected:
				n++
			}
		}
	}
	return n
}
