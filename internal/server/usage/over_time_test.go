package usage

import (
	"context"
	"fmt"
	"math"
	"testing"
	"time"

	"gotest.tools/v3/assert"

	"github.com/canopy-scheduler/canopy/pkg/configs/queuesyaml"
	"github.com/canopy-scheduler/canopy/pkg/objects"
	"github.com/canopy-scheduler/canopy/pkg/resources"
	"github.com/canopy-scheduler/canopy/pkg/scheduler"
	"github.com/canopy-scheduler/canopy/pkg/security"
)

// What the samples of a day add up to, each hour halved by the half-lives since, is the usage over time by which queues
// are ordered (FAI-3, USG-3).
func TestStore_AgreesWithUsageOverTime(t *testing.T) {
	const halfLife, cores = 5 * time.Hour, 40
	conf, problems := queuesyaml.Load([]byte(`
partitions:
  - name: default
    queues:
      - name: root
        submitacl: '*'
        properties: {fairness.halflife: 5h}
        queues: [{name: a}, {name: b}]
`))
	assert.Assert(t, conf != nil, "%v", problems)
	core, began := scheduler.New(conf.Partitions[0], nil), time.Unix(1_700_000_000, 0)
	s, err := Open("", Options{}, began)
	assert.NilError(t, err)
	defer s.Close()
	amounts := func(n resources.Quantity) resources.Amounts {
		return resources.FromMap(map[string]resources.Quantity{"vcore": n})
	}
	core.Step(began, scheduler.AddNode{Node: "n", Total: amounts(cores), Schedulable: true})
	for _, name := range []string{"a", "b"} {
		core.Step(began, scheduler.AddApplication{App: objects.AppID(name), Queue: "root." + name,
			User: security.User{Name: "u"}})
	}
	now := began
	var running []scheduler.Release
	for hour := range 24 {
		for _, r := range running {
			core.Step(now, r)
		}
		running = running[:0]
		for i, name := range []objects.AppID{"a", "b"} {
			key := objects.AllocationKey(fmt.Sprint(name, hour))
			core.Step(now, scheduler.ReportAllocation{Node: "n", Ask: &objects.Ask{Key: key, App: name,
				Amounts: amounts(resources.Quantity(1 + hour*(i+3)%20))}})
			running = append(running, scheduler.Release{App: name, Key: key})
		}
		for range 60 {
			snap := core.Snapshot(now)
			assert.NilError(t, s.Add(SampleOf(snap, TreeOf(context.Background(), snap, nil))))
			now = now.Add(time.Minute)
			core.Schedule(now, 10)
		}
	}
	snap := core.Snapshot(now)
	for q := range snap.Root.Children.All() {
		sampled := 0.0 // the average part of the cluster, in which each hour counts for its middle
		for hour := range 24 {
			from := began.Add(time.Duration(hour) * time.Hour)
			w, err := s.Read(context.Background(), Query{Partition: "default", Kind: Queue, Name: string(q.Path), Since: from,
				Until: from.Add(time.Hour)})
			assert.NilError(t, err)
			age := now.Sub(from) - 30*time.Minute
			sampled += w.Series[0].Total.Allocated["vcore"] / cores * math.Exp2(-age.Hours()/halfLife.Hours())
		}
		sampled *= math.Ln2 / halfLife.Seconds()
		got := q.UsageOverTime.Share(now)
		assert.Assert(t, math.Abs(got/sampled-1) < 0.02, "%s: %v, and %v by the samples", q.Path, got, sampled)
	}
}
