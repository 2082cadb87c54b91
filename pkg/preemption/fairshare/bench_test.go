package fairshare_test

import (
	"fmt"
	"testing"

	"github.com/canopy-scheduler/canopy/pkg/configs"
	"github.com/canopy-scheduler/canopy/pkg/objects"
	"github.com/canopy-scheduler/canopy/pkg/preemption/fairshare"
	"github.com/canopy-scheduler/canopy/pkg/scheduler"
	"github.com/canopy-scheduler/canopy/pkg/security"
)

// What the shares of all children of root cost after an ask of one of them: that is once for each preemption.
func BenchmarkLevel(b *testing.B) {
	for _, queues := range []int{10, 1000, 10_000} {
		b.Run(fmt.Sprint(queues), func(b *testing.B) {
			root := configs.Queue{Name: "root", Parent: true, SubmitACL: security.Everyone()}
			root.FairShare = true
			for i := range queues {
				root.Children = append(root.Children, configs.Queue{Name: fmt.Sprint("q", i)})
			}
			core := scheduler.New(configs.Partition{Name: "default", Root: root}, nil)
			core.Step(epoch, scheduler.AddNode{Node: "n", Total: amounts(10*queues, queues), Schedulable: true})
			submit := func(i, n int) {
				core.Step(epoch, scheduler.SubmitAsk{Ask: &objects.Ask{Key: objects.AllocationKey(fmt.Sprint("k", n)),
					App: objects.AppID(fmt.Sprint("a", i)), Amounts: amounts(1+i%20, i%3)}})
			}
			for i := range queues {
				core.Step(epoch, scheduler.AddApplication{App: objects.AppID(fmt.Sprint("a", i)), Queue: fmt.Sprint("root.q", i),
					User: security.User{Name: "u"}})
				submit(i, i)
			}
			part := core.Partition()
			shares := fairshare.New(part)
			n := queues
			for b.Loop() {
				b.StopTimer()
				n++
				submit(n%queues, n)
				b.StartTimer()
				shares.Level(part.Root())
			}
		})
	}
}
