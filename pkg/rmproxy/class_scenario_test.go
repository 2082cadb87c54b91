package rmproxy

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/apache/yunikorn-scheduler-interface/lib/go/si"
	"gotest.tools/v3/assert"

	"github.com/canopy-scheduler/canopy/internal/server/reload"
	"github.com/canopy-scheduler/canopy/internal/testing/fakerm"
	"github.com/canopy-scheduler/canopy/pkg/configs/queuesyaml"
	"github.com/canopy-scheduler/canopy/pkg/priorities"
	"github.com/canopy-scheduler/canopy/pkg/registry"
	"github.com/canopy-scheduler/canopy/pkg/scheduler"
)

// classScenario is a scenario of classes and asks: steps in order, and the result of each.
type classScenario struct {
	ID, Shows string

	Given struct{ Steps []classStep }

	Expect struct {
		Steps []struct {
			Result           string // ok or rejected
			Why              string // the reason of a rejection
			Priority         int32  // of an ask, as the next two
			PreemptionPolicy string
			ClassName        string
		}
	}
}

type classStep struct {
	Op    string          // createClass, updateClass, deleteClass, admitAsk
	Class json.RawMessage // as it is sent over REST; an update has all fields
	Ask   struct {
		ClassName        string
		Priority         *int32
		PreemptionPolicy string
	}
}

// scenarioReasons maps reasons of the scenarios that have another name here.
var scenarioReasons = map[string]priorities.Reason{"not-int32": priorities.InvalidValue}

// SC-019, SC-047, SC-075, SC-103, over both APIs; TestScenarios_AllGiven of package scheduler
// runs them without one. In Kubernetes no pod has a priority without a class, so they need
// --strict-priority-classes.
func TestClassAdmissionScenarios(t *testing.T) {
	text, err := os.ReadFile("../scheduler/testdata/scenarios/given.json")
	assert.NilError(t, err)
	var file struct{ Scenarios []json.RawMessage }
	assert.NilError(t, json.Unmarshal(text, &file))
	var found []classScenario
	for _, text := range file.Scenarios {
		var header struct{ Topic string }
		assert.NilError(t, json.Unmarshal(text, &header))
		if header.Topic == "class-admission" {
			var s classScenario
			assert.NilError(t, json.Unmarshal(text, &s))
			found = append(found, s)
		}
	}
	assert.Equal(t, len(found), 4)
	endpoints := map[string]func(*testing.T, testOptions) *endpoint{"wire": newGRPCEndpoint,
		"in process": newInProcessEndpoint}
	for _, s := range found {
		for name, newEndpoint := range endpoints {
			t.Run(s.ID+" "+s.Shows+" "+name, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) { s.run(t, newEndpoint(t, testOptions{StrictClasses: true})) })
			})
		}
	}
}

func (s *classScenario) run(t *testing.T, at *endpoint) {
	assert.NilError(t,
		at.UpdateApplication(&si.ApplicationRequest{RmID: "rm",
			New: []*si.AddApplicationRequest{fakerm.App("app", "root.a")}}))
	synctest.Wait()
	assert.Equal(t, len(s.Given.Steps), len(s.Expect.Steps))
	for i, step := range s.Given.Steps {
		want := s.Expect.Steps[i]
		key, why := fmt.Sprintf("k%d", i), ""
		if step.Op == "admitAsk" {
			why = at.submitAsk(t, key, step)
		} else {
			why = at.changeClass(t, step)
		}
		if want.Result == "rejected" {
			reason, known := scenarioReasons[want.Why]
			if !known {
				reason = priorities.Reason(want.Why)
			}
			assert.Equal(t, why, string(reason), "step %d", i)
			continue
		}
		assert.Equal(t, why, "", "step %d", i)
		if step.Op != "admitAsk" {
			continue
		}
		got := at.findAsk(t, key)
		assert.Equal(t, got.Ask.Priority, want.Priority, "step %d", i)
		assert.Equal(t, got.PriorityClass, want.ClassName, "step %d", i)
		assert.Equal(t, got.Ask.Policy.AllowPreemptOther(), want.PreemptionPolicy == "PreemptLowerPriority", "step %d", i)
	}
}

// submitAsk sends an ask and returns the reason of its rejection; empty: it was accepted.
func (s *endpoint) submitAsk(t *testing.T, key string, step classStep) string {
	x := fakerm.Ask(key, "app")
	x.AllocationTags = map[string]string{priorityClassTag: step.Ask.ClassName}
	if step.Ask.Priority != nil {
		x.Priority = *step.Ask.Priority
	}
	// A shim always sends the policy of a pod; a message without a priority has neither a class
	// nor a policy.
	if policy := step.Ask.PreemptionPolicy; policy != "" || step.Ask.ClassName == "" {
		x.PreemptionPolicy = &si.PreemptionPolicy{AllowPreemptSelf: true, AllowPreemptOther: policy != "Never"}
	}
	assert.NilError(t, s.UpdateAllocation(&si.AllocationRequest{RmID: "rm", Allocations: []*si.Allocation{x}}))
	synctest.Wait()
	rejection, refused := strings.CutPrefix(s.takeAskAnswers(), "rejected ask "+key+" (app): ")
	if !refused {
		return ""
	}
	reason, _, _ := strings.Cut(rejection, ":")
	return reason
}

// changeClass creates, updates or deletes a class as REST does, and returns the reason of a
// refusal.
func (s *endpoint) changeClass(t *testing.T, step classStep) string {
	doc, problems := queuesyaml.PriorityClasses.ReadOne(step.Class, registry.Key{}, queuesyaml.Options{})
	if problems.HasErrors() {
		return strings.TrimPrefix(problems[0].RuleID, "class-")
	}
	current, next := s.proxy.Cluster().Config().Classes, priorities.Registry{}
	var err error
	switch step.Op {
	case "createClass":
		next, err = current.With(doc.Object)
	case "updateClass":
		next, err = current.Update(doc.Object)
	case "deleteClass":
		next, err = current.Without(doc.Object.Key())
	default:
		t.Fatalf("unknown operation %q", step.Op)
	}
	if problem := (*registry.Problem)(nil); errors.As(err, &problem) {
		return string(problem.Reason)
	}
	assert.NilError(t, err)
	text, err := queuesyaml.PriorityClasses.Edit([]byte(s.proxy.Reloads().Current().Text), next,
		s.proxy.Reloads().Bounds())
	assert.NilError(t, err)
	proposal, err := s.proxy.Reloads().Read(reload.REST, "", text)
	assert.NilError(t, err)
	_, err = s.proxy.Reloads().Apply(t.Context(), proposal)
	assert.NilError(t, err)
	return ""
}

func (s *endpoint) findAsk(t *testing.T, key string) scheduler.AllocationView {
	l, ok := s.proxy.Cluster().Partition("default")
	assert.Assert(t, ok)
	view, err := l.Snapshot(t.Context())
	assert.NilError(t, err)
	for q := range view.Root.Children.All() {
		for a := range q.Applications.All() {
			for w := range a.Allocations.All() {
				if string(w.Ask.Key) == key {
					return *w
				}
			}
		}
	}
	t.Fatalf("there is no ask %s", key)
	return scheduler.AllocationView{}
}
