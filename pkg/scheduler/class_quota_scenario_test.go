package scheduler_test

import (
	"slices"
	"strings"
	"testing"

	"gopkg.in/yaml.v3"
	"gotest.tools/v3/assert"

	"github.com/canopy-scheduler/canopy/pkg/configs"
	"github.com/canopy-scheduler/canopy/pkg/configs/queuesyaml"
	"github.com/canopy-scheduler/canopy/pkg/objects"
	"github.com/canopy-scheduler/canopy/pkg/priorities"
	"github.com/canopy-scheduler/canopy/pkg/scheduler"
	"github.com/canopy-scheduler/canopy/pkg/security"
)

// selectorText is a selector of asks by class, as in queues.yaml.
type selectorText struct {
	Operator string   `yaml:"operator"`
	Classes  []string `yaml:"classes,omitempty"`
}

// quotaScenario is a scenario of class quotas: asks are submitted in order, and accepted asks count in the
// quotas.
type quotaScenario struct {
	scenarioHeader
	Given struct {
		Quotas []struct {
			Name  string
			Hard  map[string]int64
			Match selectorText
		}
		ClassesNeedingQuota []selectorText
		Asks                []struct {
			Key, ClassName string
			Request        map[string]int64
		}
	}
	Expect struct{ Results []string } // ok or rejected, ask by ask
}

// runQuotaScenario also runs the scenario without its quotas: then no ask is rejected, or every ask that
// needs a quota is.
func runQuotaScenario(t *testing.T, s quotaScenario) {
	for _, reason := range s.submitAsks(t, s.Expect.Results) {
		assert.Assert(t, strings.HasPrefix(reason, string(priorities.ExceedsQuota)+": "), reason)
	}
	s.Given.Quotas = nil
	without := "ok"
	if len(s.Given.ClassesNeedingQuota) > 0 {
		without = "rejected"
	}
	for _, reason := range s.submitAsks(t, slices.Repeat([]string{without}, len(s.Given.Asks))) {
		assert.Equal(t, reason,
			`class-needs-quota: priority class "cluster-services": insufficient quota to match these scopes: `+
				`[{PriorityClass In [cluster-services]}]: no class quota of queue root.default or those above counts it for user `+
				`ann`)
	}
}

// submitAsks submits the asks and returns the reasons of those that were rejected.
func (s *quotaScenario) submitAsks(t *testing.T, want []string) (reasons []string) {
	core := scheduler.New(s.config(t), nil)
	apply := func(cmd scheduler.Command) (rejected string) {
		for _, e := range core.Step(epoch, cmd) {
			if r, ok := e.(scheduler.AskRejected); ok {
				rejected = r.Reason
			}
		}
		assert.NilError(t, core.Check())
		return rejected
	}
	apply(scheduler.AddApplication{App: "app", User: security.User{Name: "ann"}, Queue: "root.default"})
	var got []string
	for _, a := range s.Given.Asks {
		ask := &objects.Ask{Key: objects.AllocationKey(a.Key), App: "app", Amounts: amountsFromMap(a.Request)}
		if reason := apply(scheduler.SubmitAskWithClass{Ask: ask, Class: a.ClassName}); reason != "" {
			got, reasons = append(got, "rejected"), append(reasons, reason)
			continue
		}
		got = append(got, "ok")
	}
	assert.DeepEqual(t, got, want)
	return reasons
}

func (s *quotaScenario) config(t *testing.T) configs.Partition {
	var quotas []any
	for _, q := range s.Given.Quotas {
		quotas = append(quotas, map[string]any{"name": q.Name, "match": q.Match, "hard": yamlAmounts(q.Hard)})
	}
	text, err := yaml.Marshal(map[string]any{"partitions": []any{map[string]any{
		"name": "default", "classesneedingquota": s.Given.ClassesNeedingQuota,
		"queues": []any{map[string]any{"name": "root", "submitacl": "*", "queues": []any{
			map[string]any{"name": "default", "classquotas": quotas},
		}}},
	}}})
	assert.NilError(t, err)
	conf, problems := queuesyaml.Load(text)
	assert.Assert(t, conf != nil, "%v", problems)
	return conf.Partitions[0]
}
