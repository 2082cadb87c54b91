package preemption_test

import (
	"fmt"
	"maps"
	"slices"
	"testing"
	"time"

	"gotest.tools/v3/assert"

	"github.com/canopy-scheduler/canopy/pkg/objects"
	"github.com/canopy-scheduler/canopy/pkg/preemption"
	"github.com/canopy-scheduler/canopy/pkg/resources"
)

// What is kept in mind about nodes, and brought up to date by what has changed, is what who
// knew nothing finds out.
func TestWhatIsKnownOfNodesIsUpToDate(t *testing.T) {
	happened := map[string]int{}
	for seed := range uint64(300) {
		d := roll(seed)
		p := d.cluster(t)
		known := preemption.NewSearch(p, 0, nil)
		for step := range 40 {
			what := d.change(t, p, step)
			happened[what]++
			if d.oneIn(3) {
				continue // several changes between two looks
			}
			got, want := preemption.RollOf(known), preemption.RollOf(preemption.NewSearch(p, 0, nil))
			assert.DeepEqual(t, got, want)
			assert.NilError(t, p.Check(), "seed %d, step %d, %s", seed, step, what)
		}
	}
	t.Log(happened)
	for _, what := range slices.Sorted(maps.Keys(happened)) {
		assert.Check(t, happened[what] > 100, "%s happened %d times", what, happened[what])
	}
}

// change does something to p that matters to who looks for victims, and says what.
func (d dice) change(t *testing.T, p *objects.Partition, step int) (what string) {
	now := late.Add(time.Duration(step) * time.Second)
	n := pick(d, p.Nodes()...)
	var there *objects.Allocation
	for _, y := range n.Work() {
		if there == nil || d.oneIn(2) {
			there = y
		}
	}
	switch d.IntN(9) {
	case 0:
		what = "a node comes"
		assert.NilError(t, p.AddNode(objects.NodeID(fmt.Sprint(pick(d, "a", "n", "z"), 10+step)), d.amounts(12), nil, !d.oneIn(6)))
	case 1:
		if what = "a node goes"; len(p.Nodes()) > 2 {
			_, err := p.RemoveNode(n.ID(), now)
			assert.NilError(t, err)
		}
	case 2:
		what = "a node has another size"
		assert.NilError(t, p.SetCapacity(n.ID(), d.amounts(14)))
	case 3:
		what = "a node drains or does not"
		assert.NilError(t, p.SetSchedulable(n.ID(), !n.Schedulable()))
	case 4, 5:
		ask := d.ask(fmt.Sprint("late", step))
		if what = "work comes"; d.oneIn(6) {
			what = "work comes with another resource"
			ask.Amounts = ask.Amounts.Add(resources.FromMap(map[string]resources.Quantity{fmt.Sprint("r", step%2): 1}))
		}
		_, err := p.Report(ask, n.ID(), now)
		assert.NilError(t, err)
	case 6:
		if what = "work goes"; there != nil {
			p.Free(there.Key(), now)
		}
	case 7:
		if what = "somebody is told to leave"; there != nil && !p.Leaving(there) && n.Schedulable() {
			x, err := p.AddAsk(d.ask(fmt.Sprint("taker", step)), now)
			assert.NilError(t, err)
			p.Preempt(x, n, []*objects.Allocation{there}, now)
		}
	case 8:
		what = "a configuration"
		conf := p.Config()
		conf.Root = d.tree()
		if d.oneIn(2) {
			what, conf.Budgets = "other budgets", d.budgets(t)
		}
		assert.NilError(t, p.Reconfigure(conf))
	}
	return what
}

// The places come by rank and then by name, each once, whatever the order in which they were found.
func TestPlacesComeInTurn(t *testing.T) {
	for seed := range uint64(500) {
		d := roll(seed)
		var ranks []int64
		var places []int32
		of := map[int32]int64{}
		for range d.IntN(40) {
			place := int32(d.IntN(25))
			if _, known := of[place]; !known {
				of[place] = int64(d.IntN(4))
			}
			places, ranks = append(places, place), append(ranks, of[place])
		}
		var want []int
		for rank := range int64(4) {
			for _, place := range slices.Sorted(maps.Keys(of)) {
				if of[place] == rank {
					want = append(want, int(place))
				}
			}
		}
		assert.DeepEqual(t, preemption.InTurn(ranks, places), want)
	}
}
