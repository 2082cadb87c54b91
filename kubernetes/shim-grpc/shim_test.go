package main

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"gotest.tools/v3/assert"
	v1 "k8s.io/api/core/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	kubetesting "k8s.io/client-go/testing"
)

// Pods are bound while they fit, and those that wait take the place of those that end, by deletion or by themselves.
func TestShim_BindsWhatFits(t *testing.T) {
	f := start(t, testNode("n1", nil), testNode("n2", nil), testPod("early", "1", nil))
	for i := range 8 {
		f.create(testPod(fmt.Sprint("p", i), "1", nil))
	}
	f.untilPlaced(8)
	before := f.placed()
	for name := range before {
		f.delete(name)
		break
	}
	after := f.untilPlaced(8)
	p, err := f.client.CoreV1().Pods("work").Get(t.Context(), onlyIn(t, after, before), metav1.GetOptions{})
	assert.NilError(t, err)
	f.create(testPod("last", "1", nil))
	p.Status.Phase = v1.PodSucceeded // it keeps its node, as it does in Kubernetes
	_, err = f.client.CoreV1().Pods("work").UpdateStatus(t.Context(), p, metav1.UpdateOptions{})
	assert.NilError(t, err)
	f.untilPlaced(9)
	for name, times := range f.bindings {
		assert.Equal(t, times, 1, name)
	}
}

// The clock of the API server, which dates pods, may differ from that of the scheduler: the older pod still goes first,
// and the times of long ago and of the future keep no pod from being bound.
func TestShim_ClocksMayDiffer(t *testing.T) {
	dated := func(name string, year int) *v1.Pod {
		return testPod(name, "2", func(p *v1.Pod) {
			p.CreationTimestamp = metav1.Date(year, time.May, 1, 0, 0, 0, 0, time.UTC)
			p.Labels[labelQueue] = "root.bounded" // one at a time
		})
	}
	f := start(t, testNode("n1", nil), dated("future", 2200), dated("past", 2001))
	first := f.untilPlaced(1)
	assert.Assert(t, first["past"] != "", "%v", first)
	f.delete("past")
	f.until(func() error {
		if f.placed()["future"] == "" {
			return errors.New("future waits")
		}
		return nil
	})
}

// Pods of other schedulers, and those that do not tolerate, select or stand each other, are kept apart.
func TestShim_KeepsConstraints(t *testing.T) {
	f := start(t,
		testNode("gpu", func(n *v1.Node) {
			n.Labels["kind"] = "gpu"
			n.Spec.Taints = []v1.Taint{{Key: "gpu", Effect: v1.TaintEffectNoSchedule, TimeAdded: &metav1.Time{}}}
		}),
		testNode("plain", nil), testNode("full", nil),
		testPod("foreign", "3500m", func(p *v1.Pod) {
			p.Spec.SchedulerName, p.Spec.NodeName, p.Status.Phase = "default-scheduler", "full", v1.PodRunning
		}),
	)
	seconds := int64(300)
	f.create(
		testPod("plain-1", "1", nil),
		testPod("gpu-1", "1", func(p *v1.Pod) {
			p.Spec.NodeSelector = map[string]string{"kind": "gpu"}
			p.Spec.Tolerations = []v1.Toleration{{Key: "gpu", Operator: v1.TolerationOpExists},
				{Key: v1.TaintNodeNotReady, Operator: v1.TolerationOpExists, Effect: v1.TaintEffectNoExecute,
					TolerationSeconds: &seconds}}
		}),
	)
	for i := range 3 {
		f.create(testPod(fmt.Sprint("apart-", i), "100m", func(p *v1.Pod) {
			p.Labels["app"] = "apart"
			apart := &metav1.LabelSelector{MatchLabels: map[string]string{"app": "apart"}}
			terms := []v1.PodAffinityTerm{{TopologyKey: v1.LabelHostname, LabelSelector: apart}}
			p.Spec.Affinity = &v1.Affinity{PodAntiAffinity: &v1.PodAntiAffinity{
				RequiredDuringSchedulingIgnoredDuringExecution: terms}}
		}))
	}
	placed := f.untilPlaced(5) // with foreign; a third one apart has no node, as gpu is tainted
	assert.Equal(t, placed["plain-1"], "plain")
	assert.Equal(t, placed["gpu-1"], "gpu")
	assert.Equal(t, len(f.staysAt(5, testPod("another", "100m", nil))), 5)
	f.create(testPod("daemon", "100m", func(p *v1.Pod) {
		controller := true
		p.OwnerReferences = []metav1.OwnerReference{{APIVersion: "apps/v1", Kind: "DaemonSet", Name: "d",
			Controller: &controller}}
		p.Spec.Tolerations = []v1.Toleration{{Operator: v1.TolerationOpExists}}
		named := []v1.NodeSelectorRequirement{{Key: "metadata.name", Operator: v1.NodeSelectorOpIn, Values: []string{"gpu"}}}
		p.Spec.Affinity = &v1.Affinity{NodeAffinity: &v1.NodeAffinity{
			RequiredDuringSchedulingIgnoredDuringExecution: &v1.NodeSelector{
				NodeSelectorTerms: []v1.NodeSelectorTerm{{MatchFields: named}},
			},
		}}
	}))
	assert.Equal(t, f.untilPlaced(7)["daemon"], "gpu")
}

// An ask of a high priority gets the place of pods of a lower one, which are deleted; a priority class can forbid that.
func TestShim_Preempts(t *testing.T) {
	f := start(t, testNode("n1", nil), &schedulingv1.PriorityClass{
		ObjectMeta: metav1.ObjectMeta{Name: "protected", Annotations: map[string]string{annotationPreemption: "false"}},
	})
	for i := range 3 {
		f.create(testPod(fmt.Sprint("low-", i), "1", in("root.default")))
	}
	f.create(testPod("protected", "1", func(p *v1.Pod) { in("root.default")(p); p.Spec.PriorityClassName = "protected" }))
	f.untilPlaced(4)
	priority := int32(100)
	for i := range 3 {
		f.create(testPod(fmt.Sprint("high-", i), "1", func(p *v1.Pod) { in("root.urgent")(p); p.Spec.Priority = &priority }))
	}
	f.until(func() error {
		placed := f.placed()
		for _, name := range []string{"protected", "high-0", "high-1", "high-2"} {
			if placed[name] == "" {
				return fmt.Errorf("%v", placed)
			}
		}
		return nil
	})
	f.untilPlaced(4)
	f.untilEvent("low-0", "preempted")
	said := 0
	for _, action := range f.client.Actions() {
		if patch, is := action.(kubetesting.PatchAction); is && strings.Contains(string(patch.GetPatch()),
			`"reason":"PreemptionByScheduler","status":"True","type":"DisruptionTarget"`) {
			said++
		}
	}
	assert.Equal(t, said, 3, "each of the three says that it is preempted, before it is deleted")
}

// A server that is killed while a queue is full and pods wait loses nothing, moves nothing, and keeps to the max of the
// queue when it is back; and so does a shim.
func TestShim_RecoversWhatRuns(t *testing.T) {
	f := start(t, testNode("n1", nil), testNode("n2", func(n *v1.Node) { n.Spec.Unschedulable = true }))
	for i := range 30 {
		f.create(testPod(fmt.Sprint("p", i), "100m", in("root.bounded")))
	}
	before := f.untilPlaced(20)
	for i, restart := range []func(){
		func() { f.killServer(); f.startServer() },
		func() { f.stop(); f.startShim() },
		func() { f.stop(); f.killServer(); f.startServer(); f.startShim() },
	} {
		restart()
		assert.DeepEqual(t, f.staysAt(20+i, testPod(fmt.Sprint("after-", i), "100m", nil)), before)
		before[fmt.Sprint("after-", i)] = "n1"
	}
	for name, times := range f.bindings {
		assert.Equal(t, times, 1, name)
	}
}

// What runs counts after a restart with a configuration that has no place for it: no more is bound to a node than it
// has. The application is in the recovery queue, as the parent of its queue is a leaf now, so that the placement rule
// fails (PLC-28).
func TestShim_CountsWhatRunsInNoQueueOfTheRules(t *testing.T) {
	const queues = `
partitions:
  - name: default
    placementrules: [{name: provided}, {name: tag, value: namespace, create: true, parent: {name: user}}]
    queues: [{name: root, submitacl: '*', queues: [{name: default}, {name: ann%s}]}]
`
	f := startWith(t, fmt.Sprintf(queues, ", parent: true"), testNode("n1", nil))
	f.create(testPod("old", "3", func(p *v1.Pod) { p.Labels[labelUser] = "ann" }))
	f.untilPlaced(1)
	assert.Assert(t, strings.Contains(f.rest("/ws/v1/partition/default/queue/root.ann.work/applications"), `"app"`))

	f.killServer()
	f.queues = fmt.Sprintf(queues, "")
	f.startServer()
	for i := range 3 {
		f.create(testPod(fmt.Sprint("new-", i), "900m", in("root.default")))
	}
	f.untilPlaced(2) // the pods have no time of creation, so the next one might go first
	f.staysAt(2, testPod("last-0", "50m", in("root.default")))
	placed := f.staysAt(3, testPod("last-1", "50m", in("root.default")))
	assert.Equal(t, placed["old"], "n1")
	assert.Equal(t, f.boundCores("n1"), 4.0, "n1 has 4 cores: %v", f.placed())
	recovered := f.rest("/ws/v1/partition/default/queue/root.@recovery@/applications")
	assert.Assert(t, strings.Contains(recovered, `"app"`) && strings.Contains(recovered, `"uid-old"`), recovered)
}

// A node that goes takes its pods with it, and may come back; what changes about one counts at once.
func TestShim_FollowsNodes(t *testing.T) {
	f := start(t, testNode("n1", nil))
	f.create(testPod("p1", "3", nil), testPod("p2", "3", nil))
	f.untilPlaced(1)
	nodes := f.client.CoreV1().Nodes()
	_, err := nodes.Create(t.Context(), testNode("n2", func(n *v1.Node) { n.Spec.Unschedulable = true }),
		metav1.CreateOptions{})
	assert.NilError(t, err)
	f.staysAt(1, testPod("small", "100m", nil))
	_, err = nodes.Update(t.Context(), testNode("n2", nil), metav1.UpdateOptions{})
	assert.NilError(t, err)
	f.untilPlaced(3)
	assert.NilError(t, nodes.Delete(t.Context(), "n1", metav1.DeleteOptions{}))
	for name, node := range f.placed() { // as the controller for lost pods does
		if node == "n1" {
			f.delete(name)
		}
	}
	f.create(testPod("p3", "3", nil))
	_, err = nodes.Create(t.Context(),
		testNode("n1", func(n *v1.Node) { n.Status.Allocatable[v1.ResourceCPU] = *n.Status.Allocatable.Pods() }),
		metav1.CreateOptions{})
	assert.NilError(t, err)
	f.until(func() error {
		if node := f.placed()["p3"]; node != "n1" {
			return fmt.Errorf("p3 is on %q", node)
		}
		return nil
	})
}

// What the scheduler rejects has an event that says why, and is asked for again.
func TestShim_SaysWhatIsRejected(t *testing.T) {
	f := start(t, testNode("n1", nil))
	f.create(testPod("elsewhere", "1", func(p *v1.Pod) { in("root.nowhere")(p); p.Labels[labelUser] = "mallory" }))
	f.untilEvent("elsewhere", "application app-root-nowhere is rejected: ")
	f.create(testPod("odd", "1", func(p *v1.Pod) { p.Spec.Tolerations = []v1.Toleration{{Key: "k", Operator: "Like"}} }))
	f.untilEvent("odd", `operator "Like"`)
	f.create(testPod("good", "1", nil))
	f.untilPlaced(1)
}

// A binding that gets no answer is tried again; one that is refused frees the place, and the pod is asked for again,
// and goes to another node; a pod that is deleted meanwhile frees its place, too.
func TestShim_BindingFails(t *testing.T) {
	f := start(t)
	failed := map[string]int{}
	f.refuse = func(pod, node string) error {
		failed[pod]++
		switch {
		case pod == "lost" && failed[pod] < 3:
			return errors.New("the connection is lost")
		case pod == "refused" && node == "n1":
			return apierrors.NewForbidden(v1.Resource("pods"), pod, errors.New("not now"))
		case pod == "deleted":
			assert.Check(f.t, f.client.Tracker().Delete(v1.SchemeGroupVersion.WithResource("pods"), "work", pod))
			return apierrors.NewNotFound(v1.Resource("pods"), pod)
		}
		return nil
	}
	f.create(testPod("deleted", "4", nil))
	_, err := f.client.CoreV1().Nodes().Create(t.Context(), testNode("n1", nil), metav1.CreateOptions{})
	assert.NilError(t, err)
	f.create(testPod("lost", "1", nil), testPod("refused", "1", nil))
	f.untilPlaced(1)
	f.untilEvent("refused", "not now")
	f.create(testPod("all", "3", nil))
	f.untilPlaced(2)
	_, err = f.client.CoreV1().Nodes().Create(t.Context(), testNode("n2", nil), metav1.CreateOptions{})
	assert.NilError(t, err)
	f.untilPlaced(3)
	assert.Equal(t, failed["refused"], 2, "the node that refused it is not tried again")
	assert.DeepEqual(t, f.bindings, map[string]int{"lost": 1, "refused": 1, "all": 1})
}

// A pod that is bound, although the answer to that was lost and the informer does not know it yet, keeps its place:
// without it another pod could take what it has.
func TestShim_AnswerToABindingIsLost(t *testing.T) {
	f := start(t, testNode("n1", nil))
	f.lose = func(string) error {
		f.events.Lock()
		return errors.New("the connection is lost")
	}
	f.create(testPod("bound", "1", func(p *v1.Pod) { in("root.bounded")(p) }))
	f.untilEvent("bound", "Successfully assigned")
	f.events.Unlock()
	f.untilPlaced(1)
	events, err := f.client.CoreV1().Events("work").List(t.Context(), metav1.ListOptions{})
	assert.NilError(t, err)
	for _, e := range events.Items {
		assert.Equal(t, e.Reason, "Scheduled", e.Message)
	}
	assert.DeepEqual(t, f.bindings, map[string]int{"bound": 1})
}

// The members of a task group are bound together, without placeholders.
func TestShim_PlacesGangsTogether(t *testing.T) {
	f := start(t, testNode("n1", nil))
	member := func(p *v1.Pod) {
		p.Labels[labelApplication] = "gang"
		p.Annotations = map[string]string{annotationGroup: "workers",
			annotationGroups: `[{"name": "workers", "minMember": 3}]`}
	}
	f.create(testPod("w0", "1", member), testPod("w1", "1", member))
	f.staysAt(0, testPod("single", "100m", nil))
	f.create(testPod("w2", "1", member))
	f.untilPlaced(4)
}

// onlyIn is the one key of a that b does not have.
func onlyIn(t *testing.T, a, b map[string]string) (only string) {
	t.Helper()
	for name := range a {
		if _, both := b[name]; !both {
			assert.Equal(t, only, "", "and %s", name)
			only = name
		}
	}
	assert.Assert(t, only != "")
	return only
}
