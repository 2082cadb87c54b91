package rmproxy

import (
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/apache/yunikorn-scheduler-interface/lib/go/api"
	"github.com/apache/yunikorn-scheduler-interface/lib/go/si"
	"github.com/cockroachdb/datadriven"
	"gotest.tools/v3/assert"

	"github.com/canopy-scheduler/canopy/internal/server/reload"
	"github.com/canopy-scheduler/canopy/internal/testing/fakerm"
	"github.com/canopy-scheduler/canopy/pkg/objects"
	"github.com/canopy-scheduler/canopy/pkg/scheduler"
)

// endpoint is one of the APIs, with a resource manager "rm" that is registered.
type endpoint struct {
	api.SchedulerAPI
	proxy    *Proxy
	recorder *fakerm.Recorder
}

func newGRPCEndpoint(t *testing.T, opt testOptions) *endpoint {
	r := newBubbleRig(t, opt)
	return registerEndpoint(t, fakerm.OverGRPC(r.ctx, r.client), r.p)
}

func newInProcessEndpoint(t *testing.T, opt testOptions) *endpoint {
	d := newTestInProcess(opt)
	t.Cleanup(d.Stop)
	return registerEndpoint(t, d, d.p)
}

func registerEndpoint(t *testing.T, s api.SchedulerAPI, p *Proxy) *endpoint {
	e := &endpoint{SchedulerAPI: s, proxy: p, recorder: &fakerm.Recorder{}}
	_, err := s.RegisterResourceManager(&si.RegisterResourceManagerRequest{RmID: "rm", Config: queues}, e.recorder)
	assert.NilError(t, err)
	return e
}

// takeAskAnswers are the answers to asks since the last call, as lines.
func (s *endpoint) takeAskAnswers() string {
	return lines(s.recorder.Take(fakerm.Allocated, fakerm.AskRejected))
}

// TestPriorityClasses_Transcripts reads each file as the messages of a resource manager and of
// operators, and after the line the answers to asks. Both APIs must give the same answers. Run
// with -rewrite after a change, then read the diff.
func TestPriorityClasses_Transcripts(t *testing.T) {
	endpoints := map[string]func(*testing.T, testOptions) *endpoint{"wire": newGRPCEndpoint,
		"in process": newInProcessEndpoint}
	for file, strict := range map[string]bool{"classes": false, "classes_strict": true, "class_quotas": false,
		"classes_off": false} {
		for name, newEndpoint := range endpoints {
			t.Run(file+" "+name, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					s, directives := newEndpoint(t, testOptions{StrictClasses: strict}), 0
					datadriven.RunTest(t, "testdata/transcripts/"+file+".txt", func(t *testing.T, d *datadriven.TestData) string {
						directives++
						out := s.runDirective(t, d)
						synctest.Wait()
						return out + s.takeAskAnswers()
					})
					assert.Assert(t, directives > 8, "only %d directives", directives)
				})
			})
		}
	}
}

func (s *endpoint) runDirective(t *testing.T, d *datadriven.TestData) string {
	app, key := directiveArg(d, "app"), directiveArg(d, "key")
	switch d.Cmd {
	case "config":
		p, err := s.proxy.Reloads().Read(reload.REST, "", []byte(queues+d.Input))
		if err == nil {
			_, err = s.proxy.Reloads().Apply(t.Context(), p)
		}
		return errorLine(0, err)
	case "add-node":
		assert.NilError(t,
			s.UpdateNode(&si.NodeRequest{RmID: "rm", Nodes: []*si.NodeInfo{fakerm.Node(directiveArg(d, "node"))}}))
	case "add-app":
		a := fakerm.App(app, directiveArg(d, "queue"))
		a.Ugi = &si.UserGroupInformation{User: directiveArg(d, "user"), Groups: directiveArgs(d, "groups")}
		assert.NilError(t, s.UpdateApplication(&si.ApplicationRequest{RmID: "rm", New: []*si.AddApplicationRequest{a}}))
	case "ask":
		assert.NilError(t,
			s.UpdateAllocation(&si.AllocationRequest{RmID: "rm", Allocations: []*si.Allocation{classedAsk(t, d)}}))
	case "release":
		assert.NilError(t, s.UpdateAllocation(&si.AllocationRequest{RmID: "rm", Releases: &si.AllocationReleasesRequest{
			AllocationsToRelease: []*si.AllocationRelease{{ApplicationID: app, AllocationKey: key}},
		}}))
	case "asks":
		return s.listAsks(t)
	default:
		d.Fatalf(t, "unknown command %q", d.Cmd)
	}
	return ""
}

// classedAsk is an ask for a whole node, so that only the first is placed.
func classedAsk(t *testing.T, d *datadriven.TestData) *si.Allocation {
	x := fakerm.Ask(directiveArg(d, "key"), directiveArg(d, "app"))
	x.ResourcePerAlloc, x.NodeID = fakerm.Resource(100, 100), directiveArg(d, "node")
	if size := directiveArg(d, "size"); size != "" {
		n, err := strconv.ParseInt(size, 10, 64)
		assert.NilError(t, err)
		x.ResourcePerAlloc = fakerm.Resource(n, n)
	}
	if p := directiveArg(d, "priority"); p != "" {
		n, err := strconv.ParseInt(p, 10, 32)
		assert.NilError(t, err)
		x.Priority = int32(n)
	}
	if d.HasArg("class") {
		x.AllocationTags = map[string]string{"kubernetes.io/meta/priorityClassName": directiveArg(d, "class")}
	}
	x.Placeholder, x.TaskGroupName = d.HasArg("placeholder"), directiveArg(d, "placeholder")
	if p := directiveArg(d, "policy"); p != "" {
		x.PreemptionPolicy = &si.PreemptionPolicy{AllowPreemptSelf: true, AllowPreemptOther: p == "preempts"}
	}
	return x
}

// listAsks lists asks and allocations with their priority and policy.
func (s *endpoint) listAsks(t *testing.T) string {
	l, ok := s.proxy.Cluster().Partition("default")
	assert.Assert(t, ok)
	view, err := l.Snapshot(t.Context())
	assert.NilError(t, err)
	var lines []string
	for q := range view.Root.Children.All() {
		for a := range q.Applications.All() {
			for w := range a.Allocations.All() {
				lines = append(lines, fmt.Sprintf("%s: priority %d%s\n", w.Ask.Key, w.Ask.Priority, policyText(w.Ask.Policy)))
			}
		}
	}
	slices.Sort(lines)
	return strings.Join(lines, "")
}

func policyText(p objects.PreemptionPolicy) string {
	if !p.Sent() {
		return ""
	}
	text := ", never preempts"
	if p.AllowPreemptOther() {
		text = ", preempts lower priorities"
	}
	if p.AllowPreemptSelf() {
		return text + ", may be preempted"
	}
	return text
}

// An ask without a class costs no object for the admission. An ask of a class costs the command
// with the class, which is short-lived.
func TestClassAdmission_AllocatesOnlyForAClass(t *testing.T) {
	const high, normal = "{name: high, value: 9}", "{name: normal, value: 7, globalDefault: true}"
	for _, c := range []struct {
		classes string
		tags    map[string]string
		want    int32
		allocs  float64
	}{
		{high, nil, 0, 0},
		{high, map[string]string{"a": "b"}, 0, 0},
		{high, map[string]string{priorityClassTag: "high"}, 9, 1},
		{normal, nil, 7, 1},
	} {
		s := newSessionWithConfig(t, "\npriorityclasses: ["+c.classes+"]\n")
		x := typicalRequest(1, 0)
		x.Allocations[0].PreemptionPolicy = nil
		x.Allocations[0].Priority = 0
		x.Allocations[0].AllocationTags = c.tags
		m := newRequest(allocationStream)
		assert.NilError(t, m.decode(marshalled(t, x)))
		batch := &commandBatch{s: s}
		one := &m.allocations.Allocations[0]
		made, err := readAsk(one)
		assert.NilError(t, err)
		assert.Equal(t, testing.AllocsPerRun(100, func() { batch.submitCommand(made, one) }), c.allocs, "%v", c)
		assert.Equal(t, made.Priority, c.want)
	}
}

// newSessionWithConfig is a session without an RM, under a configuration.
func newSessionWithConfig(t *testing.T, more string) *session {
	first, err := reload.Read(reload.File, "", []byte(queues+more), reload.Options{}.Bounds)
	assert.NilError(t, err)
	p := newTestProxy(testOptions{InitialConfig: first})
	t.Cleanup(p.stop)
	return newSession(p, "rm")
}

// S0-3: the class determines the priority, whatever the ask is for.
func TestS0_3PriorityDependsOnTheClassAlone(t *testing.T) {
	s := newSessionWithConfig(t, "\npriorityclasses: [{name: high, value: 7}]\n")
	for kind, modify := range map[string]func(*si.Allocation){
		"plain": func(*si.Allocation) {}, "of a task group": func(x *si.Allocation) { x.TaskGroupName = "g" },
		"placeholder":     func(x *si.Allocation) { x.TaskGroupName, x.Placeholder = "g", true },
		"node-bound":      func(x *si.Allocation) { x.AllocationTags[requiredNodeTag] = "n1" },
		"originator":      func(x *si.Allocation) { x.Originator = true },
		"what runs":       func(x *si.Allocation) { x.NodeID = "n1" },
		"never preempted": func(x *si.Allocation) { x.PreemptionPolicy = &si.PreemptionPolicy{AllowPreemptOther: true} },
	} {
		x := typicalRequest(1, 0)
		x.Allocations[0].PreemptionPolicy, x.Allocations[0].Priority = nil, 0
		x.Allocations[0].AllocationTags = map[string]string{priorityClassTag: "high"}
		modify(x.Allocations[0])
		o := &commandBatch{s: s}
		one := &s.fromProto(x).Allocations[0]
		made, err := readAsk(one)
		assert.NilError(t, err)
		if one.Node != "" {
			o.reportCommand(made, one)
		} else {
			o.submitCommand(made, one)
		}
		assert.Equal(t, made.Priority, int32(7), kind)
	}
}

// S0-34, S3-60: priority does not depend on the QoS class of a pod.
func TestS0_34QualityOfServiceAndPriorityAreIndependent(t *testing.T) {
	s := newSessionWithConfig(t, "\npriorityclasses: [{name: low, value: -5}, {name: high, value: 1000000000}]\n")
	for _, qos := range []string{"BestEffort", "Burstable", "Guaranteed"} {
		for class, want := range map[string]int32{"low": -5, "": 0, "high": 1_000_000_000} {
			x := typicalRequest(1, 0)
			x.Allocations[0].PreemptionPolicy, x.Allocations[0].Priority = nil, 0
			x.Allocations[0].AllocationTags = map[string]string{priorityClassTag: class, "kubernetes.io/meta/qosClass": qos}
			o := &commandBatch{s: s}
			one := &s.fromProto(x).Allocations[0]
			made, err := readAsk(one)
			assert.NilError(t, err)
			switch cmd := o.submitCommand(made, one).(type) {
			case scheduler.SubmitAsk:
				assert.Equal(t, class, "")
			case scheduler.SubmitAskWithClass:
				assert.Assert(t, cmd.RejectReason == "" && cmd.AllowedUsers == nil && cmd.Class == class)
			}
			assert.Equal(t, made.Priority, want)
		}
	}
}

// S0-20, S0-21: the classes of the example, on a cluster with space for one allocation.
func TestS0_21ExampleClassesArePlacedInPriorityOrder(t *testing.T) {
	example, err := os.ReadFile("../../examples/priority-classes.yaml")
	assert.NilError(t, err)
	synctest.Test(t, func(t *testing.T) {
		s := newGRPCEndpoint(t, testOptions{})
		p, err := s.proxy.Reloads().Read(reload.REST, "", example)
		assert.NilError(t, err)
		_, err = s.proxy.Reloads().Apply(t.Context(), p)
		assert.NilError(t, err)
		assert.NilError(t, s.UpdateNode(&si.NodeRequest{RmID: "rm", Nodes: []*si.NodeInfo{fakerm.Node("n1")}}))
		a := fakerm.App("app", "root.services")
		a.Ugi = &si.UserGroupInformation{
			User: "system:serviceaccount:kube-system:daemons", Groups: []string{"cluster-admins", "platform"},
		}
		assert.NilError(t, s.UpdateApplication(&si.ApplicationRequest{RmID: "rm", New: []*si.AddApplicationRequest{a}}))
		synctest.Wait()
		ask := func(class string) {
			x := fakerm.Ask(class, "app")
			x.ResourcePerAlloc = fakerm.Resource(100, 100)
			x.AllocationTags = map[string]string{priorityClassTag: class}
			assert.NilError(t, s.UpdateAllocation(&si.AllocationRequest{RmID: "rm", Allocations: []*si.Allocation{x}}))
		}
		classes := []string{"high-priority-nonpreempting", "system-node-critical", "system-cluster-critical", "user-critical",
			"serving", "interruptible-important", "interruptible", "best-effort"}
		ask(classes[0])
		synctest.Wait()
		for i := len(classes) - 1; i > 0; i-- {
			ask(classes[i]) // the lowest priority first
		}
		synctest.Wait()
		for _, class := range classes {
			assert.Equal(t, s.takeAskAnswers(), "allocated "+class+" (app) on n1\n")
			assert.NilError(t, s.UpdateAllocation(&si.AllocationRequest{RmID: "rm", Releases: &si.AllocationReleasesRequest{
				AllocationsToRelease: []*si.AllocationRelease{{ApplicationID: "app", AllocationKey: class}},
			}}))
			synctest.Wait()
		}
	})
}
