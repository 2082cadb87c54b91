package scheduler

import (
	"fmt"
	"testing"
	"time"

	"gotest.tools/v3/assert"

	"github.com/canopy-scheduler/canopy/pkg/configs"
	"github.com/canopy-scheduler/canopy/pkg/limits"
	"github.com/canopy-scheduler/canopy/pkg/objects"
	"github.com/canopy-scheduler/canopy/pkg/policies"
	"github.com/canopy-scheduler/canopy/pkg/resources"
	"github.com/canopy-scheduler/canopy/pkg/security"
)

// Hundreds of applications have identical pending asks, and no allocation is eligible: one of the asks is
// evaluated, or one for each user if users have limits (PRE-93).
func TestPreemption_IdenticalAsksShareOneSearch(t *testing.T) {
	for _, c := range []struct {
		name  string
		rules []limits.Limit
		want  int
	}{
		{"no limits", nil, 1},
		{"each user has a limit", []limits.Limit{{Users: []string{limits.Wildcard}, MaxApplications: 100}}, 3},
	} {
		t.Run(c.name, func(t *testing.T) {
			leaf := configs.Queue{Name: "a", Settings: configs.DefaultSettings(), Limits: c.rules}
			leaf.PriorityPreemption = policies.PriorityPreemptionLeaf
			opt := objects.DefaultOptions()
			opt.Evaluations = 1000
			core := NewWith(configs.Partition{Name: "default", PreemptionEnabled: true, Root: configs.Queue{
				Name: "root", Parent: true, SubmitACL: security.Everyone(), Settings: configs.DefaultSettings(),
				Children: []configs.Queue{leaf},
			}}, nil, opt)
			now := time.Unix(1_000_000_000, 0).UTC()
			one := resources.FromMap(map[string]resources.Quantity{"vcore": 1})
			core.Step(now, AddNode{Node: "n", Total: one, Schedulable: true})
			add := func(i int, priority int32) {
				app := objects.AppID(fmt.Sprint("app-", i))
				core.Step(now, AddApplication{App: app, Queue: "root.a", User: security.User{Name: fmt.Sprint("user-", i%3)}})
				core.Step(now, SubmitAsk{Ask: &objects.Ask{
					Key: objects.AllocationKey(fmt.Sprint("ask-", i)), App: app, Amounts: one, Priority: priority,
					Policy: objects.PolicySent | objects.PolicyAllowPreemptOther,
				}})
			}
			add(0, 10) // it gets the node, and has higher priority than the others
			core.Schedule(now, 10)
			for i := range 300 {
				add(1+i, 5)
			}
			core.Schedule(now, 10)
			assert.Equal(t, core.searches, c.want)
			assert.Equal(t, len(core.backOff.byGroup), 300)
		})
	}
}
