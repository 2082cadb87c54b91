package main

import (
	"errors"
	"fmt"
	"testing"

	"gotest.tools/v3/assert"
	v1 "k8s.io/api/core/v1"
	schedulingv1beta1 "k8s.io/api/scheduling/v1beta1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
)

// startWithGroups starts a cluster that has pod groups.
func startWithGroups(t *testing.T, objects ...runtime.Object) *fixture {
	t.Helper()
	f := newFixture(t, testQueues, objects...)
	f.client.Resources = []*metav1.APIResourceList{{GroupVersion: "scheduling.k8s.io/v1beta1",
		APIResources: []metav1.APIResource{{Name: "podgroups"}, {Name: "podgroups/status"}}}}
	f.kinds++
	f.startServer()
	f.startShim()
	return f
}

func testGroup(name string, minCount int32) *schedulingv1beta1.PodGroup {
	return &schedulingv1beta1.PodGroup{
		ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: "work", UID: types.UID("uid-" + name)},
		Spec: schedulingv1beta1.PodGroupSpec{SchedulingPolicy: schedulingv1beta1.PodGroupSchedulingPolicy{
			Gang: &schedulingv1beta1.GangSchedulingPolicy{MinCount: minCount}}},
	}
}

// member puts a pod into a group.
func member(group string) func(*v1.Pod) {
	return func(p *v1.Pod) {
		p.Labels = nil
		p.Spec.SchedulingGroup = &v1.PodSchedulingGroup{PodGroupName: &group}
	}
}

func (f *fixture) createGroup(g *schedulingv1beta1.PodGroup) {
	f.t.Helper()
	_, err := f.client.SchedulingV1beta1().PodGroups(g.Namespace).Create(f.t.Context(), g, metav1.CreateOptions{})
	assert.NilError(f.t, err)
}

// untilGroup waits until a group has the condition PodGroupInitiallyScheduled with a status and a reason.
func (f *fixture) untilGroup(name string, status metav1.ConditionStatus, reason string) {
	f.t.Helper()
	f.until(func() error {
		g, err := f.client.SchedulingV1beta1().PodGroups("work").Get(f.t.Context(), name, metav1.GetOptions{})
		assert.NilError(f.t, err)
		c := meta.FindStatusCondition(g.Status.Conditions, schedulingv1beta1.PodGroupInitiallyScheduled)
		if c == nil || c.Status != status || c.Reason != reason {
			return fmt.Errorf("%s has %+v", name, c)
		}
		return nil
	})
}

// members are pods of a group.
func (f *fixture) members(name string, n int, cpu string) (pods []*v1.Pod) {
	for i := range n {
		pods = append(pods, testPod(fmt.Sprint(name, "-", i), cpu, member(name)))
	}
	return pods
}

// The pods of a group start together when minCount are there and fit; later ones start alone. Of two groups of which
// one fits only one starts, and the other one follows when there is room.
func TestPodGroups_StartTogether(t *testing.T) {
	f := startWithGroups(t, testNode("n1", nil), testNode("n2", nil))
	f.createGroup(testGroup("a", 6))
	f.createGroup(testGroup("b", 6))
	a, b := f.members("a", 7, "1"), f.members("b", 6, "1")
	for i := range 5 {
		f.create(a[i], b[i])
	}
	f.staysAt(0, testPod("single", "100m", nil))
	f.create(a[5], b[5])
	f.untilPlaced(7)
	placed := f.staysAt(7, testPod("single-2", "100m", nil))
	first, second := "a", "b"
	if placed["b-0"] != "" {
		first, second = "b", "a"
	}
	for i := range 6 {
		assert.Assert(t, placed[fmt.Sprint(first, "-", i)] != "", "%v", placed)
	}
	f.untilGroup(first, metav1.ConditionTrue, "Scheduled")
	f.untilGroup(second, metav1.ConditionFalse, "Unschedulable")
	f.untilCondition(second+"-0", "Unschedulable", "")
	if first == "a" {
		f.create(a[6]) // an ordinary pod now
		f.untilPlaced(9)
	}
	for i := range 6 {
		f.delete(fmt.Sprint(first, "-", i))
	}
	f.untilGroup(second, metav1.ConditionTrue, "Scheduled")
	f.until(func() error {
		for i := range 6 {
			if name := fmt.Sprint(second, "-", i); f.placed()[name] == "" {
				return errors.New(name + " waits")
			}
		}
		return nil
	})
}

// A pod whose group does not exist waits, says so after a while, and is asked for when there is one.
func TestPodGroups_GroupComesLater(t *testing.T) {
	f := startWithGroups(t, testNode("n1", nil))
	f.create(f.members("late", 2, "1")...)
	f.untilCondition("late-0", "SchedulingSkipped", "pod group work/late, which does not exist")
	f.untilEvent("late-1", "waits for the pod group work/late")
	f.staysAt(0, testPod("single", "100m", nil))
	f.createGroup(testGroup("late", 2))
	f.untilPlaced(3)
}

// minCount counts until the group has started.
func TestPodGroups_MinCountChanges(t *testing.T) {
	f := startWithGroups(t, testNode("n1", nil))
	f.createGroup(testGroup("g", 3))
	f.create(f.members("g", 2, "1")...)
	f.staysAt(0, testPod("single", "100m", nil))
	g := testGroup("g", 2)
	g.Generation = 2
	_, err := f.client.SchedulingV1beta1().PodGroups("work").Update(t.Context(), g, metav1.UpdateOptions{})
	assert.NilError(t, err)
	f.untilPlaced(3)
	f.untilGroup("g", metav1.ConditionTrue, "Scheduled")

	g, err = f.client.SchedulingV1beta1().PodGroups("work").Get(t.Context(), "g", metav1.GetOptions{})
	assert.NilError(t, err)
	g.Spec.SchedulingPolicy.Gang.MinCount = 4
	_, err = f.client.SchedulingV1beta1().PodGroups("work").Update(t.Context(), g, metav1.UpdateOptions{})
	assert.NilError(t, err)
	f.create(testPod("more", "1", member("g")))
	f.untilPlaced(4)
	for name, times := range f.bindings {
		assert.Equal(t, times, 1, name)
	}
}

// A restart of both sides moves no pod of a group; one that comes afterwards belongs to what runs.
func TestPodGroups_Restart(t *testing.T) {
	f := startWithGroups(t, testNode("n1", nil))
	f.createGroup(testGroup("g", 2))
	f.create(f.members("g", 2, "1")...)
	before := f.untilPlaced(2)
	f.stop()
	f.killServer()
	f.startServer()
	f.startShim()
	f.create(testPod("more", "1", member("g")))
	after := f.untilPlaced(3)
	delete(after, "more")
	assert.DeepEqual(t, before, after)
}

// A group that is created again under its name is another one: its pods start together, although the application of the
// former one has not ended yet.
func TestPodGroups_CreatedAgain(t *testing.T) {
	f := startWithGroups(t, testNode("n1", nil))
	f.createGroup(testGroup("g", 2))
	f.create(f.members("g", 2, "1")...)
	f.untilPlaced(2)
	f.delete("g-0", "g-1")
	groups := f.client.SchedulingV1beta1().PodGroups("work")
	assert.NilError(t, groups.Delete(t.Context(), "g", metav1.DeleteOptions{}))
	again := testGroup("g", 2)
	again.UID = "other"
	f.createGroup(again)
	f.create(testPod("first", "1", member("g")))
	f.staysAt(0, testPod("single", "100m", nil))
	f.create(testPod("second", "1", member("g")))
	f.untilPlaced(3)
	f.untilGroup("g", metav1.ConditionTrue, "Scheduled")
}

// The priority of a group precedes those of its pods, and its topology keeps them in one domain.
func TestPodGroups_PriorityAndTopology(t *testing.T) {
	zone := func(name string) func(*v1.Node) { return func(n *v1.Node) { n.Labels["zone"] = name } }
	f := startWithGroups(t, testNode("n1", zone("a")), testNode("n2", zone("b")), testNode("n3", zone("b")))
	g := testGroup("g", 6)
	priority := int32(7)
	g.Spec.Priority = &priority
	g.Spec.SchedulingConstraints = &schedulingv1beta1.PodGroupSchedulingConstraints{
		Topology: []schedulingv1beta1.TopologyConstraint{{Key: "zone"}}}
	f.createGroup(g)
	f.create(f.members("g", 6, "1")...)
	for name, node := range f.untilPlaced(6) {
		assert.Assert(t, node != "n1", "%s is on %s", name, node)
	}
	text := f.rest("/ws/v1/partition/default/queue/root.work/applications")
	assert.Assert(t, containsAll(text, `"work-g-uid-g-6"`, `"priority":"7"`), text)
}

// In a queue with preemption.victim.unit the pods of a group are preempted together, although the node of one is
// enough: that is disruptionMode all.
func TestPodGroups_DisruptedTogether(t *testing.T) {
	f := startWithGroups(t, testNode("n1", nil), testNode("n2", nil))
	f.createGroup(testGroup("g", 2))
	for _, p := range f.members("g", 2, "4") {
		p.Labels = map[string]string{labelQueue: "root.units"}
		f.create(p)
	}
	f.untilPlaced(2)
	f.create(testPod("urgent", "1", in("root.urgent")))
	f.until(func() error {
		if placed := f.placed(); len(placed) != 1 || placed["urgent"] == "" {
			return fmt.Errorf("%v", placed)
		}
		return nil
	})
}

// Groups that are not honoured as a whole say so: those of a composite group are not asked for.
func TestPodGroups_WhatIsNotSupported(t *testing.T) {
	f := startWithGroups(t, testNode("n1", nil))
	parent := "parent"
	part := testGroup("part", 1)
	part.Spec.ParentCompositePodGroupName = &parent
	f.createGroup(part)
	f.create(testPod("part-0", "100m", member("part")))
	f.untilCondition("part-0", "Unschedulable", "composite pod groups such as parent")

	together := testGroup("together", 1)
	together.Spec.DisruptionMode = &schedulingv1beta1.DisruptionMode{All: &schedulingv1beta1.AllDisruptionMode{}}
	f.createGroup(together)
	f.create(testPod("together-0", "100m", member("together")))
	f.untilPlaced(1)
	f.untilEvent("together", "disruptionMode all")

	basic := testGroup("basic", 1)
	basic.Spec.SchedulingPolicy = schedulingv1beta1.PodGroupSchedulingPolicy{
		Basic: &schedulingv1beta1.BasicSchedulingPolicy{}}
	f.createGroup(basic)
	f.create(testPod("basic-0", "100m", member("basic")))
	f.untilPlaced(2)
}
