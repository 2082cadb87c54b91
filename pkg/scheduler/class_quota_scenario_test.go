package scheduler_test

import (
	"encoding/json"
	"os"
	"strings"
	"testing"

	"gopkg.in/yaml.v3"
	"gotest.tools/v3/assert"

	"github.com/canopy-scheduler/canopy/pkg/configs"
	"github.com/canopy-scheduler/canopy/pkg/objects"
	"github.com/canopy-scheduler/canopy/pkg/priorities"
	"github.com/canopy-scheduler/canopy/pkg/scheduler"
	"github.com/canopy-scheduler/canopy/pkg/security"
)

// selectorText is which asks something is about, as queues.yaml has it.
type selectorText struct {
	Operator string   `yaml:"operator"`
	Classes  []string `yaml:"classes,omitempty"`
}

// quotaScenario is a worked case of class quotas: asks are submitted in order, and those that
// are taken in use the quotas.
type quotaScenario struct {
	ID    string
	Shows string
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

// SC-025, SC-081. Without the quotas nothing is refused, and without those that are needed
// everything is; so each case also shows what it would be without them.
func TestClassQuotaScenarios(t *testing.T) {
	text, err := os.ReadFile("testdata/scenarios/class_quotas.json")
	assert.NilError(t, err)
	var file struct{ Scenarios []quotaScenario }
	assert.NilError(t, json.Unmarshal(text, &file))
	assert.Equal(t, len(file.Scenarios), 2)
	for _, s := range file.Scenarios {
		t.Run(s.ID+" "+s.Shows, func(t *testing.T) {
			for _, reason := range s.play(t, s.Expect.Results) {
				assert.Assert(t, strings.HasPrefix(reason, string(priorities.ExceedsQuota)+": "), reason)
			}
		})
		t.Run(s.ID+" without quotas", func(t *testing.T) {
			s.Given.Quotas = nil
			want := []string{"ok", "ok", "ok", "ok"}[:len(s.Given.Asks)]
			if len(s.Given.ClassesNeedingQuota) > 0 {
				want = []string{"rejected", "rejected", "rejected"}[:len(s.Given.Asks)]
			}
			for _, reason := range s.play(t, want) {
				assert.Equal(t, reason, `class-needs-quota: priority class "cluster-services": insufficient quota to match these scopes: `+
					`[{PriorityClass In [cluster-services]}]: no class quota of queue root.default or those above counts it for user ann`)
			}
		})
	}
}

// play submits the asks and returns the reasons of those that were refused.
func (s *quotaScenario) play(t *testing.T, want []string) (reasons []string) {
	core := scheduler.New(s.config(t), nil)
	tell := func(cmd scheduler.Command) (refused string) {
		for _, e := range core.Step(epoch, cmd) {
			if r, ok := e.(scheduler.AskRejected); ok {
				refused = r.Reason
			}
		}
		assert.NilError(t, core.Check())
		return refused
	}
	tell(scheduler.AddApplication{App: "app", User: security.User{Name: "ann"}, Queue: "root.default"})
	var got []string
	for _, a := range s.Given.Asks {
		ask := &objects.Ask{Key: objects.AllocationKey(a.Key), App: "app", Amounts: plain(a.Request)}
		if reason := tell(scheduler.SubmitClassed{Ask: ask, Class: a.ClassName}); reason != "" {
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
		quotas = append(quotas, map[string]any{"name": q.Name, "match": q.Match, "hard": written(q.Hard)})
	}
	text, err := yaml.Marshal(map[string]any{"partitions": []any{map[string]any{
		"name": "default", "classesneedingquota": s.Given.ClassesNeedingQuota,
		"queues": []any{map[string]any{"name": "root", "submitacl": "*", "queues": []any{
			map[string]any{"name": "default", "classquotas": quotas},
		}}},
	}}})
	assert.NilError(t, err)
	conf, problems := configs.Load(text)
	assert.Assert(t, conf != nil, "%v", problems)
	return conf.Partitions[0]
}
