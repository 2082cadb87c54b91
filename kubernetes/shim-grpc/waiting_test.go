package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"gotest.tools/v3/assert"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	kubetesting "k8s.io/client-go/testing"
)

// A pod that no node can take is Unschedulable, which autoscalers read, with the explanation of the scheduler; one that
// a quota keeps is not, also if it was before; and one that neither does has no condition any more.
func TestWaiting_ConditionFollowsTheState(t *testing.T) {
	f := start(t, testNode("n1", nil))
	f.create(testPod("large", "3", nil))
	f.untilPlaced(1)
	f.create(testPod("waits", "1500m", in("root.bounded"))) // n1 has 1 core, the queue 2
	f.untilCondition("waits", "Unschedulable", "it asks for vcore 1500m")
	f.untilEvent("waits", "it asks for vcore 1500m")

	f.create(testPod("small", "900m", in("root.bounded"))) // the queue has 1100m now
	f.untilPlaced(2)
	f.untilCondition("waits", "SchedulingSkipped", "root.bounded")
	f.untilEvent("waits", "root.bounded")

	_, err := f.client.CoreV1().Nodes().Create(t.Context(), testNode("n2", nil), metav1.CreateOptions{})
	assert.NilError(t, err)
	f.staysAt(2, testPod("another", "100m", nil))
	f.delete("small")
	f.untilPlaced(3)
	f.untilCondition("waits", "", "")
}

// A condition of a former session is kept until the new one knows better, and goes when the pod is held.
func TestWaiting_ConditionOutlivesASession(t *testing.T) {
	f := start(t, testNode("n1", nil))
	f.create(testPod("waits", "5", nil))
	f.untilCondition("waits", "Unschedulable", "it asks for vcore 5")
	patches := f.statusPatches()
	for i := range 2 {
		f.stop()
		f.killServer()
		f.startServer()
		f.startShim()
		f.staysAt(i, testPod(fmt.Sprint("after-", i), "10m", nil))
		f.untilCondition("waits", "Unschedulable", "it asks for vcore 5")
	}
	assert.Equal(t, f.statusPatches(), patches, "the condition was not written again")
	_, err := f.client.CoreV1().Nodes().Create(t.Context(), testNode("n2", func(n *v1.Node) {
		n.Status.Allocatable[v1.ResourceCPU] = *n.Status.Allocatable.Pods()
	}), metav1.CreateOptions{})
	assert.NilError(t, err)
	f.until(func() error {
		if f.placed()["waits"] != "n2" {
			return errors.New("it waits")
		}
		return nil
	})
}

// A pod for which victims end names their node, which keeps autoscalers from adding one, and no longer when it has lost
// the node.
func TestWaiting_NominatedNode(t *testing.T) {
	f := newFixture(t, testQueues, testNode("n1", nil))
	removed := make(chan string, 8)
	f.client.PrependReactor("delete", "pods", func(action kubetesting.Action) (bool, runtime.Object, error) {
		removed <- action.(kubetesting.DeleteAction).GetName()
		return true, nil, nil // it takes its time to end
	})
	f.startServer()
	f.startShim()
	f.create(testPod("low-0", "2", in("root.default")), testPod("low-1", "2", in("root.default")))
	f.untilPlaced(2)
	f.create(testPod("high", "3", in("root.urgent")))
	pods := f.client.CoreV1().Pods("work")
	untilNominated := func(node string) {
		t.Helper()
		f.until(func() error {
			p, err := pods.Get(t.Context(), "high", metav1.GetOptions{})
			assert.NilError(t, err)
			if is := p.Status.NominatedNodeName; is != node {
				return fmt.Errorf("it is nominated for %q, not %q", is, node)
			}
			return nil
		})
	}
	untilNominated("n1")
	victims := []string{<-removed, <-removed}
	cordoned := testNode("n1", func(n *v1.Node) { n.Spec.Unschedulable = true })
	_, err := f.client.CoreV1().Nodes().Update(t.Context(), cordoned, metav1.UpdateOptions{})
	assert.NilError(t, err)
	f.untilCondition("high", "Unschedulable", "")
	untilNominated("")
	for _, victim := range victims {
		assert.NilError(t, f.client.Tracker().Delete(v1.SchemeGroupVersion.WithResource("pods"), "work", victim))
	}
	_, err = f.client.CoreV1().Nodes().Update(t.Context(), testNode("n1", nil), metav1.UpdateOptions{})
	assert.NilError(t, err)
	f.untilPlaced(1)
}

// statusPatches counts the changes of the status of pods.
func (f *fixture) statusPatches() (n int) {
	for _, a := range f.client.Actions() {
		if a.Matches("patch", "pods/status") {
			n++
		}
	}
	return n
}

// A pod cannot get a condition after its binding: a binding waits for a change that is on its way.
func TestWaiting_NoConditionAfterTheBinding(t *testing.T) {
	f := newFixture(t, testQueues, testNode("n1", nil))
	patching, lost := make(chan struct{}, 1), atomic.Bool{}
	lost.Store(true)
	f.client.PrependReactor("patch", "pods", func(kubetesting.Action) (bool, runtime.Object, error) {
		if lost.Load() { // it is tried again
			makeReady(patching)
			return true, nil, errors.New("the connection is lost")
		}
		return false, nil, nil
	})
	f.startServer()
	f.startShim()
	f.create(testPod("waits", "5", nil))
	<-patching
	n := testNode("n1", func(n *v1.Node) { n.Status.Allocatable[v1.ResourceCPU] = *n.Status.Allocatable.Pods() })
	_, err := f.client.CoreV1().Nodes().Update(t.Context(), n, metav1.UpdateOptions{})
	assert.NilError(t, err)
	f.create(testPod("after", "10m", nil)) // it is placed behind the pod that waits
	f.untilPlaced(1)
	assert.Equal(t, f.placed()["waits"], "")
	lost.Store(false)
	f.untilPlaced(2)
	f.untilCondition("waits", "", "")
}

// A scheduler without the service of waiting states is used as it is.
func TestWaiting_WithoutTheService(t *testing.T) {
	f := newFixture(t, testQueues, testNode("n1", nil))
	asked := make(chan struct{}, 8)
	f.change = func(_ *settings, wire grpc.ClientConnInterface) grpc.ClientConnInterface {
		return withoutHints{wire, asked}
	}
	f.startServer()
	f.startShim()
	f.create(testPod("waits", "5", nil), testPod("fits", "1", nil))
	f.untilPlaced(1)
	f.untilCondition("waits", "", "")
	<-asked
	assert.Equal(t, len(asked), 0, "it is asked once")
}

type withoutHints struct {
	grpc.ClientConnInterface
	asked chan struct{}
}

func (w withoutHints) NewStream(ctx context.Context, desc *grpc.StreamDesc, method string,
	options ...grpc.CallOption) (grpc.ClientStream, error) {
	if strings.HasPrefix(method, "/canopy.v1.Hints/") {
		w.asked <- struct{}{}
		return nil, status.Error(codes.Unimplemented, "unknown service canopy.v1.Hints")
	}
	return w.ClientConnInterface.NewStream(ctx, desc, method, options...)
}

// A pod with resource claims is not asked for, and says so.
func TestWaiting_ResourceClaims(t *testing.T) {
	f := start(t, testNode("n1", nil))
	f.create(testPod("claims", "1", func(p *v1.Pod) {
		p.Spec.ResourceClaims = []v1.PodResourceClaim{{Name: "gpu"}}
	}))
	f.untilCondition("claims", "Unschedulable", "resource claims are not supported")
	f.untilEvent("claims", "resource claims are not supported")
	f.staysAt(0, testPod("another", "1", nil))
}
