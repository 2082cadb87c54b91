package own

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"gotest.tools/v3/assert"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// A guarantee preempts no more of the pods of a PodDisruptionBudget than that allows, over all its preemptions, when
// budgets are strict; others are preempted in their place, and what the budget keeps waiting goes on waiting.
func TestPreemption_ObservesPodDisruptionBudgets(t *testing.T) {
	const kept, all = 6, 16 // nodes have 16 CPU
	budget := func(namespace string) *policyv1.PodDisruptionBudget {
		available := intstr.FromInt32(kept)
		return &policyv1.PodDisruptionBudget{
			TypeMeta:   metav1.TypeMeta{APIVersion: "policy/v1", Kind: "PodDisruptionBudget"},
			ObjectMeta: metav1.ObjectMeta{Name: "protected", Namespace: namespace},
			Spec: policyv1.PodDisruptionBudgetSpec{MinAvailable: &available,
				Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"applicationId": "protected"}}},
		}
	}
	var list []*policyv1.PodDisruptionBudget
	for _, shim := range []string{"yunikorn", "native"} {
		list = append(list, budget("disrupted-"+shim))
	}
	text, err := json.Marshal(list) // each as kubectl writes it
	assert.NilError(t, err)
	queues := fmt.Sprintf(`
disruptionbudgets: %s
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
`, text)
	both(t, "disrupted", queues, func(t *testing.T, c *cluster, namespace string) {
		_, err := c.client.PolicyV1().PodDisruptionBudgets(namespace).Create(t.Context(), budget(namespace),
			metav1.CreateOptions{})
		assert.NilError(t, err)
		c.create(namespace, "protected", "root.low", all/2, "1")
		c.create(namespace, "free", "root.low", all/2, "1")
		c.untilPlaced(namespace, all)
		c.create(namespace, "urgent", "root.urgent", 12, "1")
		c.until("the urgent pods have the room of all pods that may be preempted", func(ctx context.Context) error {
			if got := count(c.placed(ctx, namespace), "urgent-"); got != all-kept {
				return fmt.Errorf("%d are bound", got)
			}
			return nil
		})
		after := c.untilPlaced(namespace, all)
		assert.Equal(t, count(after, "protected-"), kept)
		assert.Equal(t, count(after, "urgent-"), all-kept)
	})
}

// count is how many of the pods that are placed have a name that begins so.
func count(placed map[string]string, prefix string) (n int) {
	for name := range placed {
		if strings.HasPrefix(name, prefix) {
			n++
		}
	}
	return n
}
