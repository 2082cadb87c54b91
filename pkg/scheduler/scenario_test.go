package scheduler_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"gopkg.in/yaml.v3"
	"gotest.tools/v3/assert"

	"github.com/canopy-scheduler/canopy/pkg/configs"
	"github.com/canopy-scheduler/canopy/pkg/configs/queuesyaml"
	"github.com/canopy-scheduler/canopy/pkg/objects"
	"github.com/canopy-scheduler/canopy/pkg/resources"
	"github.com/canopy-scheduler/canopy/pkg/scheduler"
	"github.com/canopy-scheduler/canopy/pkg/security"
)

// orderScenario is a scenario of priorities and the scheduling order. Quantities are plain integers; start
// is an age, larger is newer; null as a priority means that nothing is pending.
type orderScenario struct {
	scenarioHeader
	Given struct {
		Queues []scenarioQueue
		Nodes  []struct {
			Name     string
			Capacity map[string]int64
		}
		Running []scenarioAsk // bound already
		Asks    []scenarioAsk // pending before the first cycle
		Steps   []scenarioStep
	}
	Expect struct {
		Order []string // the asks in the order of their placement, one for each Schedule
		Steps []struct {
			QueuePriority map[objects.QueuePath]*int32
			AppPriority   map[objects.AppID]*int32
		}
	}
}

type scenarioQueue struct {
	Path            string
	Guaranteed, Max map[string]int64
	Properties      map[string]string
}

type scenarioAsk struct {
	Key, App, Queue, Node string
	Priority              int32
	Start                 int64
	Request               map[string]int64
}

type scenarioStep struct {
	Op, App, Key, Queue string
	Ask                 scenarioAsk
	Set                 map[string]string // "<remove>" removes a property
}

func runOrderScenario(t *testing.T, s orderScenario) {
	assert.Assert(t, len(s.Expect.Order)+len(s.Expect.Steps) > 0, "nothing is expected")
	newScenarioCore(t, s).runSteps(t, s)
}

// scenarioCore is a Core set up as a scenario says.
type scenarioCore struct {
	core   *scheduler.Core
	queues []scenarioQueue
	node   objects.NodeID
}

func newScenarioCore(t *testing.T, s orderScenario) *scenarioCore {
	st := &scenarioCore{queues: s.Given.Queues}
	st.core = scheduler.New(st.config(t), nil)
	for _, n := range s.Given.Nodes {
		st.node = objects.NodeID(n.Name)
		st.mustApply(t, scheduler.AddNode{Node: st.node, Total: amountsFromMap(n.Capacity), Schedulable: true})
	}
	for _, w := range s.Given.Running {
		st.application(t, w)
		st.mustApply(t, scheduler.ReportAllocation{Ask: w.ask(), Node: objects.NodeID(w.Node)})
	}
	return st
}

func (st *scenarioCore) runSteps(t *testing.T, s orderScenario) {
	for _, w := range s.Given.Asks {
		st.submit(t, w)
	}
	var got []string
	for range s.Expect.Order {
		effects, _ := st.core.Schedule(epoch, 1)
		for _, e := range effects {
			if x, ok := e.(scheduler.Allocated); ok {
				got = append(got, string(x.Ask.Key))
			}
		}
	}
	assert.DeepEqual(t, got, s.Expect.Order)

	assert.Assert(t, len(s.Given.Steps) >= len(s.Expect.Steps))
	for i, want := range s.Expect.Steps {
		st.applyStep(t, s.Given.Steps[i])
		assert.NilError(t, st.core.Check())
		for path, want := range want.QueuePriority {
			q, ok := st.core.Partition().Queue(path)
			assert.Assert(t, ok, "step %d: queue %s is gone", i, path)
			assert.Equal(t, q.CurrentPriority().String(), priorityText(want), "step %d: queue %s", i, path)
		}
		for id, want := range want.AppPriority {
			a, ok := st.core.Partition().Application(id)
			assert.Assert(t, ok, "step %d: application %s is gone", i, id)
			assert.Equal(t, a.AskMaxPriority().String(), priorityText(want), "step %d: application %s", i, id)
		}
	}
}

func (st *scenarioCore) applyStep(t *testing.T, s scenarioStep) {
	switch s.Op {
	case "add":
		st.submit(t, s.Ask)
	case "remove":
		st.mustApply(t, scheduler.Release{App: objects.AppID(s.App), Key: objects.AllocationKey(s.Key)})
	case "removeApp":
		st.mustApply(t, scheduler.RemoveApplication{App: objects.AppID(s.App)})
	case "allocate":
		x, ok := st.core.Partition().Allocation(objects.AllocationKey(s.Key))
		assert.Assert(t, ok, "ask %s is gone", s.Key)
		st.mustApply(t, scheduler.ReportAllocation{Ask: x.Ask(), Node: st.node})
	case "return": // the resource manager releases the allocation and submits its ask again
		x, ok := st.core.Partition().Allocation(objects.AllocationKey(s.Key))
		assert.Assert(t, ok, "allocation %s is gone", s.Key)
		st.mustApply(t, scheduler.Release{App: objects.AppID(s.App), Key: objects.AllocationKey(s.Key)})
		st.mustApply(t, scheduler.SubmitAsk{Ask: x.Ask()})
	case "configure":
		i := slices.IndexFunc(st.queues, func(q scenarioQueue) bool { return q.Path == s.Queue })
		for name, value := range s.Set {
			st.queues[i].Properties[name] = value
			if value == "<remove>" {
				delete(st.queues[i].Properties, name)
			}
		}
		st.mustApply(t, scheduler.UseConfig{Partition: st.config(t)})
	default:
		t.Fatalf("unknown operation %q", s.Op)
	}
}

func (st *scenarioCore) submit(t *testing.T, w scenarioAsk) {
	st.application(t, w)
	st.mustApply(t, scheduler.SubmitAsk{Ask: w.ask()})
}

func (st *scenarioCore) application(t *testing.T, w scenarioAsk) {
	if _, ok := st.core.Partition().Application(objects.AppID(w.App)); !ok {
		st.mustApply(t, scheduler.AddApplication{App: objects.AppID(w.App), User: security.User{Name: "ann"}, Queue: w.Queue})
	}
}

// mustApply applies a command that must not be refused.
func (st *scenarioCore) mustApply(t *testing.T, cmd scheduler.Command) {
	t.Helper()
	for _, e := range st.core.Step(epoch, cmd) {
		switch e.(type) {
		case scheduler.AskRejected, scheduler.ApplicationRejected, scheduler.NodeRejected, scheduler.Refused:
			t.Fatalf("%v", e)
		}
	}
}

// config writes the queues as a queues.yaml and loads it.
func (st *scenarioCore) config(t testing.TB) configs.Partition {
	root := map[string]any{"name": "root", "submitacl": "*"}
	for _, q := range st.queues {
		at := root
		for _, name := range strings.Split(q.Path, ".")[1:] {
			at = child(at, name)
		}
		at["properties"] = q.Properties
		at["resources"] = map[string]any{"guaranteed": yamlAmounts(q.Guaranteed), "max": yamlAmounts(q.Max)}
	}
	delete(root, "resources")
	text, err := yaml.Marshal(map[string]any{"partitions": []any{map[string]any{"name": "default",
		"queues": []any{root}}}})
	assert.NilError(t, err)
	conf, problems := queuesyaml.Load(text)
	assert.Assert(t, conf != nil, "%v", problems)
	return conf.Partitions[0]
}

func child(of map[string]any, name string) map[string]any {
	list, _ := of["queues"].([]any)
	for _, c := range list {
		if q := c.(map[string]any); q["name"] == name {
			return q
		}
	}
	q := map[string]any{"name": name}
	of["queues"] = append(list, q)
	return q
}

// yamlAmounts formats integers as quantities: vcore is in thousandths.
func yamlAmounts(m map[string]int64) map[string]string {
	out := map[string]string{}
	for name, n := range m {
		out[name] = fmt.Sprint(n)
		if name == resources.VCore {
			out[name] += "m"
		}
	}
	return out
}

func (w scenarioAsk) ask() *objects.Ask {
	return &objects.Ask{
		Key: objects.AllocationKey(w.Key), App: objects.AppID(w.App), Amounts: amountsFromMap(w.Request),
		Priority: w.Priority,
		// before epoch, so that only Start counts
		Created: objects.TimestampOf(epoch.Add(time.Duration(w.Start-1000) * time.Second)),
	}
}

func amountsFromMap(m map[string]int64) resources.Amounts {
	out := map[string]resources.Quantity{}
	for name, n := range m {
		out[name] = resources.Quantity(n)
	}
	return resources.FromMap(out)
}

func priorityText(n *int32) string {
	if n == nil {
		return "none"
	}
	return fmt.Sprint(*n)
}
