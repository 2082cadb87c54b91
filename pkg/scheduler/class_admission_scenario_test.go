package scheduler_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"gotest.tools/v3/assert"

	"github.com/canopy-scheduler/canopy/pkg/configs/queuesyaml"
	"github.com/canopy-scheduler/canopy/pkg/objects"
	"github.com/canopy-scheduler/canopy/pkg/priorities"
	"github.com/canopy-scheduler/canopy/pkg/registry"
	"github.com/canopy-scheduler/canopy/pkg/scheduler"
	"github.com/canopy-scheduler/canopy/pkg/security"
)

// admissionScenario is a scenario of priority classes and asks: steps in order, with the result of each.
// TestClassAdmissionScenarios of rmproxy runs the same scenarios through the APIs.
type admissionScenario struct {
	scenarioHeader
	Given  struct{ Steps []classStep }
	Expect struct {
		Steps []struct {
			Result           string // ok or rejected
			Why              string // the reason of a rejection
			Priority         int32  // of an ask, like the next two
			PreemptionPolicy string
			ClassName        string
		}
	}
}

type classStep struct {
	Op    string          // createClass, updateClass, admitAsk
	Class json.RawMessage // as sent over REST; an update has all fields that count
	Ask   struct {
		ClassName        string
		Priority         int32
		PreemptionPolicy string
	}
}

// ourReasons are the reasons that scenarios give another name.
var ourReasons = map[string]priorities.Reason{"not-int32": priorities.InvalidValue}

// runAdmissionScenario does what the APIs do: it admits an ask by the classes, and sends the result to the
// Core. It is strict, because Kubernetes has no numbers without a class.
func runAdmissionScenario(t *testing.T, s admissionScenario) {
	st := &scenarioCore{queues: []scenarioQueue{{Path: "root.default"}}}
	st.core = scheduler.New(st.config(t), nil)
	st.mustApply(t, scheduler.AddApplication{App: "app", User: security.User{Name: "ann"}, Queue: "root.default"})
	assert.Equal(t, len(s.Given.Steps), len(s.Expect.Steps))
	var classes priorities.Registry
	for i, step := range s.Given.Steps {
		want := s.Expect.Steps[i]
		key, got := objects.AllocationKey(fmt.Sprint("k", i)), ""
		if step.Op == "admitAsk" {
			got = st.admit(t, classes, key, step)
		} else {
			classes, got = applyClassStep(t, classes, step)
		}
		got, _, _ = strings.Cut(got, ":")
		if want.Result == "rejected" {
			reason, ours := ourReasons[want.Why]
			if !ours {
				reason = priorities.Reason(want.Why)
			}
			assert.Equal(t, got, string(reason), "step %d", i)
			continue
		}
		assert.Equal(t, got, "", "step %d", i)
		if step.Op != "admitAsk" {
			continue
		}
		x, ok := st.core.Partition().Allocation(key)
		assert.Assert(t, ok, "step %d", i)
		assert.Equal(t, x.Ask().Priority, want.Priority, "step %d", i)
		assert.Equal(t, st.core.Partition().PriorityClass(x), want.ClassName, "step %d", i)
		assert.Equal(t, x.Ask().Policy.AllowPreemptOther(), want.PreemptionPolicy == "PreemptLowerPriority", "step %d", i)
	}
}

// admit returns why the ask was rejected; empty: it was not.
func (st *scenarioCore) admit(t *testing.T, classes priorities.Registry, key objects.AllocationKey,
	step classStep) (rejected string) {
	const strict = true
	q := priorities.Request{
		Class: step.Ask.ClassName, Priority: step.Ask.Priority,
		// A shim sends the policy of a pod that has neither a class nor a policy (PRI-40).
		HasPolicy: step.Ask.PreemptionPolicy != "" || step.Ask.ClassName == "",
		Preempts:  step.Ask.PreemptionPolicy != "Never",
	}
	ask := &objects.Ask{Key: key, App: "app", Amounts: amountsFromMap(map[string]int64{"vcore": 1}),
		Policy: objects.PolicySent | objects.PolicyAllowPreemptSelf}
	cmd := scheduler.SubmitAskWithClass{Ask: ask}
	g, problem := priorities.Admit(classes, q, strict)
	if problem == nil {
		ask.Priority = g.Priority
	}
	switch {
	case problem != nil:
		cmd.RejectReason = problem.Error()
	case g.Class == nil:
		ask.Policy = ask.Policy.With(objects.PolicyAllowPreemptOther, q.Preempts)
	default:
		cmd.Class = g.Class.Name
		ask.Policy = ask.Policy.With(objects.PolicyAllowPreemptOther, g.Preempts)
	}
	for _, e := range st.core.Step(epoch, cmd) {
		if r, ok := e.(scheduler.AskRejected); ok {
			rejected = r.Reason
		}
	}
	assert.NilError(t, st.core.Check())
	_, known := st.core.Partition().Allocation(key)
	assert.Equal(t, known, rejected == "")
	return rejected
}

// applyClassStep returns the classes after a change, or the unchanged classes and the reason of the
// rejection.
func applyClassStep(t *testing.T, classes priorities.Registry, step classStep) (priorities.Registry, string) {
	doc, problems := queuesyaml.PriorityClasses.ReadOne(step.Class, registry.Key{}, queuesyaml.Options{})
	if problems.HasErrors() {
		return classes, strings.TrimPrefix(problems[0].RuleID, "class-")
	}
	change := map[string]func(priorities.Class) (priorities.Registry, error){
		"createClass": classes.With, "updateClass": classes.Update,
	}[step.Op]
	assert.Assert(t, change != nil, "unknown operation %q", step.Op)
	next, err := change(doc.Object)
	if problem := (*registry.Problem)(nil); errors.As(err, &problem) {
		return classes, string(problem.Reason)
	}
	assert.NilError(t, err)
	return next, ""
}
