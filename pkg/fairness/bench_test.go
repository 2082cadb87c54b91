package fairness_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"gotest.tools/v3/assert"

	"github.com/canopy-scheduler/canopy/pkg/configs/queuesyaml"
	"github.com/canopy-scheduler/canopy/pkg/objects"
	"github.com/canopy-scheduler/canopy/pkg/scheduler"
	"github.com/canopy-scheduler/canopy/pkg/security"
)

// BenchmarkDecision measures a release, an ask and the decision that places it, with 10,000 leaves below 100 parents
// that all run something and have something waiting: by shares, and by usage over time at each level. A decision takes
// a millisecond of the simulated time, so with a half-life of an hour a tick begins every 14,000 decisions.
func BenchmarkDecision(b *testing.B) {
	for _, halfLife := range []string{"off", "1h"} {
		b.Run("halflife="+halfLife, func(b *testing.B) {
			var text strings.Builder
			property := "properties: {fairness.halflife: '" + halfLife + "'}"
			fmt.Fprintf(&text, "partitions:\n- name: default\n  reservation: {enabled: false}\n  preemption: {enabled: false}\n"+
				"  queues:\n  - name: root\n    submitacl: '*'\n    %s\n    queues:\n", property)
			const parents, leaves = 100, 100
			for p := range parents {
				fmt.Fprintf(&text, "    - name: p%02d\n      %s\n      queues:\n", p, property)
				for l := range leaves {
					fmt.Fprintf(&text, "      - {name: l%02d, %s}\n", l, property)
				}
			}
			conf, problems := queuesyaml.Load([]byte(text.String()))
			assert.Assert(b, conf != nil, "%v", problems)
			core, now := scheduler.New(conf.Partitions[0], nil), time.Unix(1_700_000_000, 0)
			core.Step(now, scheduler.AddNode{Node: "n", Total: vcores(parents * leaves), Schedulable: true})
			keys := 0
			ask := func(app objects.AppID) {
				keys++
				core.Step(now, scheduler.SubmitAsk{Ask: &objects.Ask{Key: objects.AllocationKey(fmt.Sprint("k", keys)), App: app,
					Amounts: vcores(1)}})
			}
			var running []*scheduler.Binding
			decide := func() {
				effects, _ := core.Schedule(now, 1<<20)
				for _, e := range effects {
					if a, placed := e.(scheduler.Allocated); placed {
						running = append(running, a.Binding)
					}
				}
			}
			for p := range parents {
				for l := range leaves {
					app := objects.AppID(fmt.Sprintf("a-%02d-%02d", p, l))
					core.Step(now, scheduler.AddApplication{App: app, Queue: fmt.Sprintf("root.p%02d.l%02d", p, l),
						User: security.User{Name: "u"}})
					ask(app)
					ask(app)
				}
			}
			decide()
			b.ReportAllocs()
			b.ResetTimer()
			for range b.N {
				now = now.Add(time.Millisecond)
				ended := running[0]
				running = running[1:]
				core.Step(now, scheduler.Release{App: ended.Ask.App, Key: ended.Ask.Key})
				ask(ended.Ask.App)
				decide()
			}
		})
	}
}
