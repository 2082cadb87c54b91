package objects

import (
	"fmt"
	"testing"
	"time"

	"gotest.tools/v3/assert"

	"github.com/canopy-scheduler/canopy/pkg/configs"
	"github.com/canopy-scheduler/canopy/pkg/resources"
	"github.com/canopy-scheduler/canopy/pkg/security"
)

// hundredThousandQueues is a configuration of 100,000 queues: 100 parents, each with 10 parents,
// each with up to 99 leaves. max is the max of each leaf; 0: the leaf is left out.
func hundredThousandQueues(max func(leaf int) resources.Quantity) configs.Partition {
	conf := configs.Partition{Name: "default", PreemptionEnabled: true,
		Root: configs.Queue{Name: "root", Parent: true, SubmitACL: security.Everyone()}}
	leaf := 0
	for i := range 100 {
		top := configs.Queue{Name: fmt.Sprint("t", i), Parent: true, Settings: configs.DefaultSettings()}
		for j := range 10 {
			parent := configs.Queue{Name: fmt.Sprint("p", j), Parent: true, Settings: configs.DefaultSettings()}
			for k := range 99 {
				if q := max(leaf); q > 0 {
					parent.Children = append(parent.Children, configs.Queue{
						Name: fmt.Sprint("l", k), Settings: configs.DefaultSettings(),
						Max:        resources.LimitFromMap(map[string]resources.Quantity{"vcore": q, "memory": 1 << 40}),
						Guaranteed: resources.GuaranteeFromMap(map[string]resources.Quantity{"vcore": 5}),
					})
				}
				leaf++
			}
			top.Children = append(top.Children, parent)
		}
		conf.Root.Children = append(conf.Root.Children, top)
	}
	return conf
}

// reloadCases are pairs of configurations between which a partition switches.
var reloadCases = []struct {
	name     string
	from, to func(leaf int) resources.Quantity
}{
	{"nothing", constantMax(1000), constantMax(1000)},
	{"one", constantMax(1000),
		func(leaf int) resources.Quantity { return 1000 + resources.Quantity(boolToInt(leaf == 77_777)) }},
	{"thousand", constantMax(1000),
		func(leaf int) resources.Quantity { return 1000 + resources.Quantity(boolToInt(leaf%99 == 7)) }},
	{"all", constantMax(1000), constantMax(1001)},
	{"ten thousand added and removed", constantMax(1000),
		func(leaf int) resources.Quantity { return 1000 * resources.Quantity(boolToInt(leaf%10 != 7)) }},
}

func constantMax(n resources.Quantity) func(int) resources.Quantity {
	return func(int) resources.Quantity { return n }
}

// largeReloadPartition is a partition with 100,000 queues, 20,000 applications, each with an ask, and 1,000 nodes.
func largeReloadPartition(tb testing.TB, conf configs.Partition) *Partition {
	p, now := NewPartition(conf), time.Unix(1_000_000_000, 0)
	for i := range 1000 {
		assert.NilError(tb, p.AddNode(NodeID(fmt.Sprint("n", i)), cores(64_000), nil, true))
	}
	for i := range 20_000 {
		id, leaf := AppID(fmt.Sprint("app", i)), i*5%99_000
		if leaf%10 == 7 {
			leaf++ // so that every configuration has the leaf
		}
		path := QueuePath(fmt.Sprintf("root.t%d.p%d.l%d", leaf/990, leaf/99%10, leaf%99))
		assert.NilError(tb, p.AddApplication(id, security.User{Name: "ann"}, path, nil, now))
		_, err := p.AddAsk(&Ask{Key: AllocationKey(id), App: id, Amounts: cores(1 + int64(i%10))}, now)
		assert.NilError(tb, err)
	}
	p.RefreshShares()
	return p
}

// BenchmarkReconfigure measures for how long a reload keeps a partition of 100,000 queues from
// decisions.
func BenchmarkReconfigure(b *testing.B) {
	for _, c := range reloadCases {
		b.Run(c.name, func(b *testing.B) {
			confs := []configs.Partition{hundredThousandQueues(c.from), hundredThousandQueues(c.to)}
			p := largeReloadPartition(b, confs[0])
			b.ReportAllocs()
			for i := 0; b.Loop(); i++ {
				b.StopTimer()
				d := configs.NewDifference(confs[i%2], confs[(i+1)%2])
				b.StartTimer()
				assert.NilError(b, p.Reconfigure(confs[(i+1)%2], d))
				p.RefreshShares()
			}
		})
	}
}
