package own

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"gotest.tools/v3/assert"
	v1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// untilWaits waits until a pod has the condition PodScheduled=False with a reason, and a message that has a text.
func (n *native) untilWaits(namespace, name, reason, text string) {
	n.t.Helper()
	n.until(name+" says why it waits", func(ctx context.Context) error {
		p, err := n.client.CoreV1().Pods(namespace).Get(ctx, name, metav1.GetOptions{})
		if err != nil {
			return err
		}
		for _, c := range p.Status.Conditions {
			if c.Type == v1.PodScheduled && c.Status == v1.ConditionFalse && c.Reason == reason &&
				strings.Contains(c.Message, text) {
				return nil
			}
		}
		return fmt.Errorf("%+v", p.Status.Conditions)
	})
}

// A pod that no node can take is Unschedulable, which autoscalers read, with the reason; one that a quota keeps is not.
func TestNativeShim_SaysWhyPodsWait(t *testing.T) {
	n := startNative(t, "waiting")
	n.create("waiting", "huge", "root.default", 1, "100")
	n.untilWaits("waiting", "huge-0", v1.PodReasonUnschedulable, "it asks for vcore 100")
	n.until("an event says it, too", func(ctx context.Context) error {
		events, err := n.client.CoreV1().Events("waiting").List(ctx,
			metav1.ListOptions{FieldSelector: "involvedObject.name=huge-0,reason=FailedScheduling"})
		if err == nil && len(events.Items) == 0 {
			err = fmt.Errorf("no event")
		}
		return err
	})
	n.create("waiting", "bounded", "root.bounded", 1, "7") // of 6
	n.untilWaits("waiting", "bounded-0", "SchedulingSkipped", "root.bounded")
}

// While its victims end, a pod names their node, so that an autoscaler adds none; and there it is bound.
func TestNativeShim_NominatesTheNode(t *testing.T) {
	n := startNative(t, "nominated")
	pods := n.client.CoreV1().Pods("nominated")
	n.createWith("nominated", "large", "root.large", 16, "1", func(p *v1.Pod) {
		p.Finalizers = []string{"canopy.scheduler/slow"} // of 16 CPU
	})
	end := func() {
		list, err := pods.List(context.Background(), metav1.ListOptions{})
		assert.NilError(t, err)
		for _, p := range list.Items {
			_, err := pods.Patch(context.Background(), p.Name, types.MergePatchType,
				[]byte(`{"metadata": {"finalizers": null}}`), metav1.PatchOptions{})
			assert.Check(t, err)
		}
	}
	t.Cleanup(end)
	n.untilPlaced("nominated", 16)
	n.create("nominated", "urgent", "root.urgent", 1, "1")
	node := ""
	n.until("the urgent pod names a node", func(ctx context.Context) error {
		p, err := pods.Get(ctx, "urgent-0", metav1.GetOptions{})
		if err == nil && p.Status.NominatedNodeName == "" {
			err = fmt.Errorf("none: %+v", p.Status)
		}
		if err == nil {
			node = p.Status.NominatedNodeName
		}
		return err
	})
	end()
	n.until("it is bound there", func(ctx context.Context) error {
		if got := n.placed(ctx, "nominated")["urgent-0"]; got != node {
			return fmt.Errorf("it is on %q, not on %q", got, node)
		}
		return nil
	})
}

// A pod goes where its volume is, once that is bound.
func TestNativeShim_PodsFollowTheirVolumes(t *testing.T) {
	n := startNative(t, "volumes")
	claim := map[string]any{
		"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": map[string]any{"name": "data"},
		"spec": map[string]any{"storageClassName": "", "volumeName": "volumes-data", "accessModes": []string{"ReadWriteOnce"},
			"resources": map[string]any{"requests": map[string]any{"storage": "1Gi"}}},
	}
	n.post("/api/v1/namespaces/volumes/persistentvolumeclaims", claim)
	n.createWith("volumes", "reader", "root.default", 3, "100m", func(p *v1.Pod) {
		p.Spec.Volumes = []v1.Volume{{Name: "data", VolumeSource: v1.VolumeSource{
			PersistentVolumeClaim: &v1.PersistentVolumeClaimVolumeSource{ClaimName: "data"}}}}
	})
	n.untilWaits("volumes", "reader-0", "SchedulingSkipped", "waits until the volume claim data exists and is bound")
	n.post("/api/v1/persistentvolumes", map[string]any{
		"apiVersion": "v1", "kind": "PersistentVolume", "metadata": map[string]any{"name": "volumes-data"},
		"spec": map[string]any{"capacity": map[string]any{"storage": "1Gi"}, "accessModes": []string{"ReadWriteOnce"},
			"local": map[string]any{"path": "/data"}, "nodeAffinity": map[string]any{"required": map[string]any{
				"nodeSelectorTerms": []any{map[string]any{"matchExpressions": []any{map[string]any{
					"key": "kubernetes.io/hostname", "operator": "In", "values": []string{"worker-1"}}}}}}}},
	})
	t.Cleanup(func() {
		volumes := n.client.CoreV1().PersistentVolumes()
		assert.Check(t, volumes.Delete(context.Background(), "volumes-data", metav1.DeleteOptions{}))
	})
	for name, node := range n.untilPlaced("volumes", 3) {
		assert.Equal(t, node, "worker-1", name)
	}
}

// podGroups is the path of the API of pod groups.
const podGroups = "/apis/scheduling.k8s.io/v1beta1/namespaces/%s/podgroups"

// post creates an object whose type may be newer than this module.
func (c *cluster) post(path string, object map[string]any) {
	c.t.Helper()
	text, err := json.Marshal(object)
	assert.NilError(c.t, err)
	assert.NilError(c.t, c.client.CoreV1().RESTClient().Post().AbsPath(path).SetHeader("Content-Type", "application/json").
		Body(text).Do(c.t.Context()).Error())
}

// createGroup creates a pod group.
func (c *cluster) createGroup(namespace, name string, minCount int) {
	c.t.Helper()
	c.post(fmt.Sprintf(podGroups, namespace), map[string]any{
		"apiVersion": "scheduling.k8s.io/v1beta1", "kind": "PodGroup", "metadata": map[string]any{"name": name},
		"spec": map[string]any{"schedulingPolicy": map[string]any{"gang": map[string]any{"minCount": minCount}}},
	})
}

// createGang creates a pod group and its pods.
func (n *native) createGang(namespace, name string, pods int, cpu string) {
	n.t.Helper()
	n.createGroup(namespace, name, pods)
	for i := range pods {
		n.post("/api/v1/namespaces/"+namespace+"/pods", map[string]any{
			"apiVersion": "v1", "kind": "Pod", "metadata": map[string]any{"name": fmt.Sprint(name, "-", i)},
			"spec": map[string]any{
				"schedulerName": n.scheduler, "restartPolicy": "Never", "schedulingGroup": map[string]any{"podGroupName": name},
				"containers": []any{map[string]any{"name": "c", "image": "none",
					"resources": map[string]any{"requests": map[string]any{"cpu": cpu}}}},
			},
		})
	}
}

// The pods of a pod group start together: of two groups of which one fits, one starts as a whole and the other not at
// all, until there is room.
func TestNativeShim_PodGroupsStartTogether(t *testing.T) {
	n := startNative(t, "grouped")
	_, err := n.client.CoreV1().RESTClient().Get().AbsPath(fmt.Sprintf(podGroups, "grouped")).DoRaw(t.Context())
	if errors.IsNotFound(err) {
		t.Skip("the API server has no pod groups: they are in Kubernetes 1.37, with the feature gate GenericWorkload")
	}
	assert.NilError(t, err)
	n.createGang("grouped", "a", 8, "1500m") // 12 of 16 CPU
	n.createGang("grouped", "b", 8, "1500m")
	placed := n.untilPlaced("grouped", 8)
	first, second := "a-", "b-"
	if count(placed, first) == 0 {
		first, second = second, first
	}
	assert.Equal(t, count(placed, first), 8)
	n.untilWaits("grouped", second+"0", v1.PodReasonUnschedulable, "")
	condition := func(name string) string {
		text, err := n.client.CoreV1().RESTClient().Get().AbsPath(fmt.Sprintf(podGroups, "grouped") + "/" + name).
			DoRaw(t.Context())
		assert.NilError(t, err)
		var group struct {
			Status struct{ Conditions []metav1.Condition }
		}
		assert.NilError(t, json.Unmarshal(text, &group))
		for _, c := range group.Status.Conditions {
			if c.Type == "PodGroupInitiallyScheduled" {
				return fmt.Sprint(c.Status, " ", c.Reason)
			}
		}
		return ""
	}
	until := func(name, want string) {
		n.until("the group "+name+" has its condition", func(context.Context) error {
			if got := condition(name); got != want {
				return fmt.Errorf("%q", got)
			}
			return nil
		})
	}
	until(first[:1], "True Scheduled")
	until(second[:1], "False Unschedulable")
	for i := range 8 {
		err := n.client.CoreV1().Pods("grouped").Delete(t.Context(), fmt.Sprint(first, i), metav1.DeleteOptions{})
		assert.NilError(t, err)
	}
	n.until("the other group starts", func(ctx context.Context) error {
		if got := count(n.placed(ctx, "grouped"), second); got != 8 {
			return fmt.Errorf("%d are bound", got)
		}
		return nil
	})
	until(second[:1], "True Scheduled")
}

// A PodDisruptionBudget that is created while the scheduler runs holds back preemption at once.
func TestNativeShim_BudgetsAreLive(t *testing.T) {
	const strict = `
partitions:
  - name: default
    placementrules: [{name: provided}]
    preemption: {enabled: true}
    queues:
      - name: root
        submitacl: '*'
        properties: {disruption.budgets: strict}
        queues:
          - {name: bounded}
          - {name: low}
          - {name: urgent, resources: {guaranteed: {vcore: 12}}, properties: {preemption.delay: 1s}}
`
	n := startNativeWith(t, "budgeted", strict, "--rest-address", "http://"+adminAddress)
	n.create("budgeted", "low", "root.low", 16, "1") // all of the nodes
	n.untilPlaced("budgeted", 16)
	least := intstr.FromInt32(10)
	_, err := n.client.PolicyV1().PodDisruptionBudgets("budgeted").Create(t.Context(), &policyv1.PodDisruptionBudget{
		ObjectMeta: metav1.ObjectMeta{Name: "low"},
		Spec: policyv1.PodDisruptionBudgetSpec{MinAvailable: &least,
			Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"applicationId": "low"}}},
	}, metav1.CreateOptions{})
	assert.NilError(t, err)
	n.until("the scheduler has the budget", func(ctx context.Context) error {
		return n.get(ctx, "disruptionbudget/low?namespace=budgeted", &struct{}{})
	})
	n.create("budgeted", "urgent", "root.urgent", 12, "1")
	n.until("the urgent pods have what the budget leaves", func(ctx context.Context) error {
		if got := count(n.placed(ctx, "budgeted"), "urgent-"); got != 6 {
			return fmt.Errorf("%d are bound", got)
		}
		return nil
	})
	assert.Equal(t, count(n.untilPlaced("budgeted", 16), "low-"), 10)
}

// Of two shims one schedules; the other one goes on when that is killed, and nothing moves.
func TestNativeShim_LeaderHandsOver(t *testing.T) {
	lease := []string{"--leader-elect", "canopy/canopy-shim"}
	n := startNativeWith(t, "led", queues, lease...)
	standby := startProcess(t, filepath.Join(n.folder, "log", "native-standby.log"), n.shim.args...)
	n.create("led", "before", "root.bounded", 10, "1") // 6 of them fit
	before := n.untilPlaced("led", 6)
	n.until("the standby knows who leads", func(context.Context) error {
		return fileHas(standby.log, "another replica leads")
	})
	n.shim.kill()
	n.until("the standby leads", func(context.Context) error { return fileHas(standby.log, "this replica leads") })
	n.create("led", "after", "root.default", 4, "1")
	n.until("pods are bound again", func(ctx context.Context) error {
		if got := count(n.placed(ctx, "led"), "after-"); got != 4 {
			return fmt.Errorf("%d are bound", got)
		}
		return nil
	})
	for name, node := range before {
		assert.Equal(t, n.placed(t.Context(), "led")[name], node, name)
	}
	assert.Equal(t, n.allocated("root.bounded"), int64(6000))
}

func fileHas(name, text string) error {
	content, err := os.ReadFile(name)
	if err == nil && !strings.Contains(string(content), text) {
		err = fmt.Errorf("%s has no %q", name, text)
	}
	return err
}

// A pod that is resized in place counts with what it asks for now, and what waits is bound when there is room again.
func TestNativeShim_CountsResizes(t *testing.T) {
	n := startNative(t, "resized")
	n.create("resized", "grows", "root.bounded", 1, "1")
	n.untilPlaced("resized", 1)
	patch := func(text, subresource string) {
		_, err := n.client.CoreV1().Pods("resized").Patch(t.Context(), "grows-0", types.StrategicMergePatchType,
			[]byte(text), metav1.PatchOptions{}, subresource)
		assert.NilError(t, err)
	}
	resize := func(cpu string) {
		patch(`{"spec": {"containers": [{"name": "c", "resources": {"requests": {"cpu": "`+cpu+`"}}}]}}`, "resize")
	}
	// The API server resizes no pod whose kubelet does not say what its containers have, and a fake one does not.
	n.until("the pod runs", func(ctx context.Context) error {
		p, err := n.client.CoreV1().Pods("resized").Get(ctx, "grows-0", metav1.GetOptions{})
		if err == nil && p.Status.Phase != v1.PodRunning {
			err = fmt.Errorf("it is %s", p.Status.Phase)
		}
		return err
	})
	patch(`{"status": {"containerStatuses": [{"name": "c", "resources": {"requests": {"cpu": "1"}}}]}}`, "status")
	resize("5")
	n.until("the scheduler counts 5 CPU", func(context.Context) error {
		if got := n.allocated("root.bounded"); got != 5000 {
			return fmt.Errorf("%d", got)
		}
		return nil
	})
	n.create("resized", "waits", "root.bounded", 1, "2") // of 6
	n.untilWaits("resized", "waits-0", "SchedulingSkipped", "")
	resize("1")
	n.untilPlaced("resized", 2)
}
