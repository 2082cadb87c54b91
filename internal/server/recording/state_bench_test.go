package recording_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/canopy-scheduler/canopy/internal/server/recording"
	"github.com/canopy-scheduler/canopy/internal/testing/randomrun"
	"github.com/canopy-scheduler/canopy/pkg/configs"
	"github.com/canopy-scheduler/canopy/pkg/objects"
	"github.com/canopy-scheduler/canopy/pkg/resources"
	"github.com/canopy-scheduler/canopy/pkg/scheduler"
	"github.com/canopy-scheduler/canopy/pkg/security"
)

// BenchmarkState writes and reads a Core with 100 queues, 10 applications in each, and nodes of which each has ten
// allocations.
func BenchmarkState(b *testing.B) {
	for _, nodes := range []int{100, 1_000, 10_000} {
		c := filled(nodes)
		var data []byte
		b.Run(fmt.Sprintf("encode/nodes=%d", nodes), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				var err error
				if data, err = recording.EncodeState(c, nil); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(len(data))/float64(10*nodes), "bytes/allocation")
		})
		b.Run(fmt.Sprintf("decode/nodes=%d", nodes), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, err := recording.DecodeState(data, nil); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func filled(nodes int) *scheduler.Core {
	conf := configs.Partition{Name: "default",
		Root: configs.Queue{Name: "root", Parent: true, SubmitACL: security.Everyone()}}
	for i := range 100 {
		conf.Root.Children = append(conf.Root.Children, configs.Queue{Name: fmt.Sprintf("q%d", i)})
	}
	c, at := scheduler.New(conf, nil), randomrun.StartTime()
	for i := range nodes {
		c.Step(at,
			scheduler.AddNode{Node: objects.NodeID(fmt.Sprintf("node-%d", i)), Schedulable: true,
				Total: resources.FromMap(map[string]resources.Quantity{"vcore": 10, "memory": 100})})
	}
	for i := range 1000 {
		c.Step(at,
			scheduler.AddApplication{App: objects.AppID(fmt.Sprintf("app-%d", i)), User: security.User{Name: "ann"},
				Queue: fmt.Sprintf("root.q%d", i%100)})
	}
	for i := range 10 * nodes {
		c.Step(at, scheduler.SubmitAsk{Ask: &objects.Ask{
			Key: objects.AllocationKey(fmt.Sprintf("ask-%d", i)), App: objects.AppID(fmt.Sprintf("app-%d", i%1000)),
			Amounts: resources.FromMap(map[string]resources.Quantity{"vcore": 1, "memory": resources.Quantity(1 + i%7)}),
			Details: objects.NewAskDetails(
				objects.AskDetails{Tags: map[string]string{"kubernetes.io/meta/podName": fmt.Sprintf("pod-%d", i),
					"kubernetes.io/meta/namespace": "default"}}),
		}})
	}
	for more := true; more; {
		_, more = c.Schedule(at.Add(time.Second), 1000)
	}
	return c
}
