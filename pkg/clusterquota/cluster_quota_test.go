package clusterquota

import (
	"fmt"
	"testing"
	"time"

	"gotest.tools/v3/assert"

	"github.com/canopy-scheduler/canopy/pkg/configs"
	"github.com/canopy-scheduler/canopy/pkg/objects"
	"github.com/canopy-scheduler/canopy/pkg/resources"
)

// manyQueues returns 100 parents with 100 leaves each. All have the quotas, of vcore and memory.
func manyQueues(percent resources.Percent, written resources.Quantity) configs.Partition {
	most, least := resources.Limit{}, resources.Guarantee{}
	if percent > 0 {
		p := map[string]resources.Percent{"vcore": percent, "memory": percent}
		most, least = most.WithPercents(p), least.WithPercents(p)
	} else {
		n := map[string]resources.Quantity{"vcore": written, "memory": written}
		most, least = resources.LimitFromMap(n), resources.GuaranteeFromMap(n)
	}
	conf := configs.Partition{Name: "default", Root: configs.Queue{Name: "root", Parent: true}}
	for i := range 100 {
		parent := configs.Queue{Name: fmt.Sprint("p", i), Parent: true, Max: most, Guaranteed: least}
		for j := range 100 {
			parent.Children = append(parent.Children,
				configs.Queue{Name: fmt.Sprint("l", j), Max: most, Guaranteed: least})
		}
		conf.Root.Children = append(conf.Root.Children, parent)
	}
	return conf
}

// BenchmarkRefresh_EachNode is the time from a change of the capacity to the next decision, in a tree of 10,100 queues.
func BenchmarkRefresh_EachNode(b *testing.B) {
	for _, c := range []struct {
		name    string
		percent resources.Percent
	}{{"written", 0}, {"percents", 1_00}, {"percents that are scaled down", 50_00}} {
		b.Run(c.name, func(b *testing.B) {
			p := objects.NewPartition(manyQueues(c.percent, 100))
			q := New(p)
			assert.NilError(b, p.AddNode("n", resources.Amounts{}, nil, true))
			for i := 0; b.Loop(); i++ {
				n := resources.Quantity(1_000_000 * (2 + i%2))
				assert.NilError(b, p.SetCapacity("n", resources.FromMap(map[string]resources.Quantity{"vcore": n, "memory": n})))
				q.Refresh(time.Unix(int64(i), 0))
				p.RefreshShares()
			}
		})
	}
}

// Without percents a change of the nodes computes nothing, and nothing is computed twice.
func TestRefresh_ComputesOnce(t *testing.T) {
	node := resources.FromMap(map[string]resources.Quantity{"vcore": 1_000_000})
	p := objects.NewPartition(manyQueues(0, 5))
	q := New(p)
	q.Refresh(time.Unix(0, 0))
	assert.Assert(t, !q.some)
	assert.NilError(t, p.AddNode("n", node, nil, true))
	assert.Assert(t, q.Stale())
	allocations := testing.AllocsPerRun(1, func() {
		q.stale = true
		q.Refresh(time.Unix(1, 0))
	})
	assert.Assert(t, allocations == 0, "%v allocations without percents", allocations)

	assert.NilError(t, p.Reconfigure(manyQueues(50_00, 0), nil))
	q.Refresh(time.Unix(2, 0))
	leaf, _ := p.Queue("root.p7.l7")
	most, _ := leaf.Max().Get("vcore")
	least, _ := leaf.Guaranteed().Get("vcore")
	assert.Equal(t, most, resources.Quantity(250_000))
	assert.Equal(t, least, resources.Quantity(100), "10,000 of the 100 of 100 queues")
	assert.NilError(t, q.Check(true))
	assert.Assert(t, testing.AllocsPerRun(1, func() { q.Refresh(time.Unix(3, 0)) }) == 0)

	assert.NilError(t, p.Reconfigure(manyQueues(0, 5), nil))
	q.Refresh(time.Unix(4, 0))
	assert.Assert(t, !q.some, "no queue has a percent any more")
	assert.Assert(t, !leaf.Quota().HasPercents())
}
