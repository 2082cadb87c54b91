package own

import (
	"context"
	"fmt"

	"gotest.tools/v3/assert"
	appsv1 "k8s.io/api/apps/v1"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// template returns the template and the selector of a controller, whose pods are one application with its name.
func (c *cluster) template(name, cpu string) (v1.PodTemplateSpec, *metav1.LabelSelector) {
	labels := map[string]string{"applicationId": name}
	return v1.PodTemplateSpec{
		ObjectMeta: metav1.ObjectMeta{Labels: labels},
		Spec: v1.PodSpec{SchedulerName: c.scheduler, Containers: []v1.Container{{Name: "c", Image: "none",
			Resources: v1.ResourceRequirements{Requests: v1.ResourceList{"cpu": resource.MustParse(cpu)}}}}},
	}, &metav1.LabelSelector{MatchLabels: labels}
}

// daemonSet creates a DaemonSet in the namespace of the test.
func (c *autoscaled) daemonSet(name, cpu string) {
	c.t.Helper()
	pods, selector := c.template(name, cpu)
	_, err := c.client.AppsV1().DaemonSets(c.namespace).Create(c.t.Context(), &appsv1.DaemonSet{
		ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: appsv1.DaemonSetSpec{Template: pods, Selector: selector},
	}, metav1.CreateOptions{})
	assert.NilError(c.t, err)
}

// deployment creates a Deployment in the namespace of the test.
func (c *autoscaled) deployment(name string, replicas int32, cpu string) {
	c.t.Helper()
	pods, selector := c.template(name, cpu)
	_, err := c.client.AppsV1().Deployments(c.namespace).Create(c.t.Context(), &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec:       appsv1.DeploymentSpec{Replicas: &replicas, Template: pods, Selector: selector},
	}, metav1.CreateOptions{})
	assert.NilError(c.t, err)
}

// scale changes the replicas of a Deployment.
func (c *autoscaled) scale(name string, replicas int) {
	c.t.Helper()
	scale, err := c.client.AppsV1().Deployments(c.namespace).GetScale(c.t.Context(), name, metav1.GetOptions{})
	assert.NilError(c.t, err)
	scale.Spec.Replicas = int32(replicas)
	_, err = c.client.AppsV1().Deployments(c.namespace).UpdateScale(c.t.Context(), name, scale, metav1.UpdateOptions{})
	assert.NilError(c.t, err)
}

// untilReady waits until a Deployment has its pods, and all are ready.
func (c *autoscaled) untilReady(name string, replicas int) {
	c.t.Helper()
	c.until(fmt.Sprint(name, " is ready"), func(ctx context.Context) error {
		d, err := c.client.AppsV1().Deployments(c.namespace).Get(ctx, name, metav1.GetOptions{})
		if err != nil {
			return err
		}
		if d.Status.ReadyReplicas != int32(replicas) || d.Status.Replicas != int32(replicas) {
			return fmt.Errorf("%d of %d pods are ready", d.Status.ReadyReplicas, d.Status.Replicas)
		}
		return nil
	})
}
