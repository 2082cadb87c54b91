package own

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"gotest.tools/v3/assert"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// A scheduler that is killed while a queue is full and more pods wait loses nothing, moves nothing, and keeps to the
// max of the queue when it is back.
func TestKilledScheduler_KeepsPodsAndTheMax(t *testing.T) {
	c := connect(t, "killed")
	c.create("killed", "killed", "root.bounded", queueMaxPods+25, "100m")
	before := c.untilPlaced("killed", queueMaxPods)
	for range 3 {
		c.restart("")
		assert.DeepEqual(t, c.untilPlaced("killed", queueMaxPods), before)
		assert.Equal(t, c.allocated("root.bounded"), int64(queueMaxPods*100))
	}
	assert.Assert(t, c.logHas("the recovery is over: decisions begin"))
	assert.NilError(t, c.client.CoreV1().Pods("killed").Delete(t.Context(), "killed-0", metav1.DeleteOptions{}))
	after := c.untilPlaced("killed", queueMaxPods) // what waits takes the place of what has ended
	assert.Assert(t, after["killed-0"] == "" || before["killed-0"] == "")
}

// The original core is replaced by Canopy on a running cluster, and back.
func TestChangeOfTheCore_MovesNoPod(t *testing.T) {
	c := connect(t, "changed")
	c.create("changed", "first", "root.bounded", queueMaxPods+5, "100m")
	before := c.untilPlaced("changed", queueMaxPods)
	for i, program := range []string{"scheduler-original", "scheduler-canopy", "scheduler-original", "scheduler-canopy"} {
		c.restart(program)
		c.create("changed", fmt.Sprint("later", i), "root.other", 3, "100m")
		c.until("new pods are bound", func(ctx context.Context) error {
			if n := len(c.placed(ctx, "changed")); n < len(before)+3 {
				return fmt.Errorf("%d of %d", n, len(before)+3)
			}
			return nil
		})
		now := c.placed(t.Context(), "changed")
		for name, node := range before {
			assert.Equal(t, now[name], node, "%s with %s", name, program)
		}
		before = now
	}
}

// A pod that no node can take has the condition that the autoscaler looks for, an event, and an explanation; one that a
// quota keeps says so, and is none of the autoscaler's business.
func TestPendingPods_SayWhy(t *testing.T) {
	c := connect(t, "pending")
	c.create("pending", "large", "", 1, "1000")
	c.create("pending", "bounded", "root.bounded", 1, fmt.Sprint(queueMaxPods*100+100, "m"))
	var large *v1.Pod
	c.until("the pod is Unschedulable", func(ctx context.Context) error {
		var err error
		if large, err = c.client.CoreV1().Pods("pending").Get(ctx, "large-0", metav1.GetOptions{}); err != nil {
			return err
		}
		for _, condition := range large.Status.Conditions {
			if condition.Type == v1.PodScheduled && condition.Reason == v1.PodReasonUnschedulable {
				return nil
			}
		}
		return fmt.Errorf("%v", large.Status.Conditions)
	})
	c.until("the pod has an event", func(ctx context.Context) error {
		all, err := c.client.CoreV1().Events("pending").List(ctx,
			metav1.ListOptions{FieldSelector: "involvedObject.name=large-0"})
		if err != nil {
			return err
		}
		for _, e := range all.Items {
			if strings.HasPrefix(e.Message, "FAILED: ") {
				return nil
			}
		}
		return fmt.Errorf("%d events", len(all.Items))
	})
	var explanation struct {
		State   string `json:"state"`
		Message string `json:"message"`
	}
	assert.NilError(t, c.rest(t.Context(), fmt.Sprintf("ask/%s/explain", large.UID), &explanation))
	assert.Equal(t, explanation.State, "pending")
	assert.Assert(t, strings.Contains(explanation.Message, "no schedulable node has more than vcore"), explanation.Message)

	c.until("the quota is in the allocationLog", func(ctx context.Context) error {
		var app struct {
			Requests []struct {
				Log []struct {
					Message string `json:"message"`
				} `json:"allocationLog"`
			} `json:"requests"`
		}
		if err := c.rest(ctx, "queue/root.bounded/application/bounded", &app); err != nil {
			return err
		}
		if len(app.Requests) != 1 || len(app.Requests[0].Log) != 1 ||
			app.Requests[0].Log[0].Message != "Not enough queue quota" {
			return fmt.Errorf("%+v", app)
		}
		return nil
	})
	bounded, err := c.client.CoreV1().Pods("pending").Get(t.Context(), "bounded-0", metav1.GetOptions{})
	assert.NilError(t, err)
	for _, condition := range bounded.Status.Conditions {
		if condition.Reason == v1.PodReasonUnschedulable {
			t.Fatal(errors.New("the autoscaler would add a node for a pod that a quota keeps"), bounded.Status.Conditions)
		}
	}
}
