package own

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"gotest.tools/v3/assert"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// What pods say about nodes holds with both shims: with YuniKorn's its predicates refuse nodes, with the native one the
// core does. Four nodes are in two zones; the last one has a taint.
func TestConstraints_Hold(t *testing.T) {
	both(t, "constrained", queues, func(t *testing.T, c *cluster, namespace string) {
		zone := map[string]string{}
		node := func(i int) string { return fmt.Sprintf("%s-%d", namespace, i) }
		for i := range 4 {
			zone[node(i)] = string("ab"[i%2])
			var taints []v1.Taint
			if i == 3 {
				taints = []v1.Taint{{Key: "dedicated", Value: "few", Effect: v1.TaintEffectNoSchedule}}
			}
			c.addNode(node(i), map[string]string{"zone": zone[node(i)], "set": namespace}, taints...)
		}
		ours := func(p *v1.Pod) { p.Spec.NodeSelector = map[string]string{"set": namespace} }
		tolerate := func(p *v1.Pod) {
			p.Spec.Tolerations = []v1.Toleration{{Key: "dedicated", Operator: v1.TolerationOpExists}}
		}
		selector := func(p *v1.Pod) *metav1.LabelSelector {
			return &metav1.LabelSelector{MatchLabels: map[string]string{"applicationId": p.Labels["applicationId"]}}
		}

		c.createWith(namespace, "spread", "", 8, "100m", func(p *v1.Pod) {
			ours(p)
			p.Spec.TopologySpreadConstraints = []v1.TopologySpreadConstraint{{
				MaxSkew: 1, TopologyKey: "zone", WhenUnsatisfiable: v1.DoNotSchedule, LabelSelector: selector(p),
			}}
		})
		inZone := map[string]int{}
		for name, at := range c.untilPlaced(namespace, 8) {
			assert.Assert(t, at != node(3), "%s does not tolerate the taint", name)
			inZone[zone[at]]++
		}
		assert.DeepEqual(t, inZone, map[string]int{"a": 4, "b": 4})

		c.createWith(namespace, "apart", "", 5, "100m", func(p *v1.Pod) {
			ours(p)
			tolerate(p)
			p.Spec.Affinity = &v1.Affinity{PodAntiAffinity: &v1.PodAntiAffinity{
				RequiredDuringSchedulingIgnoredDuringExecution: []v1.PodAffinityTerm{{TopologyKey: "kubernetes.io/hostname",
					LabelSelector: selector(p)}},
			}}
		})
		assert.Equal(t, distinctNodes(t, c.untilPlaced(namespace, 8+4), "apart-"), 4) // the fifth has no node left

		c.createWith(namespace, "port", "", 4, "100m", func(p *v1.Pod) {
			ours(p)
			p.Spec.Containers[0].Ports = []v1.ContainerPort{{ContainerPort: 80, HostPort: 8080, Protocol: v1.ProtocolTCP}}
		})
		assert.Equal(t, distinctNodes(t, c.untilPlaced(namespace, 8+4+3), "port-"), 3)

		c.createWith(namespace, "affine", "", 3, "100m", func(p *v1.Pod) {
			tolerate(p)
			required := &v1.NodeSelector{NodeSelectorTerms: []v1.NodeSelectorTerm{{
				MatchExpressions: []v1.NodeSelectorRequirement{
					{Key: "set", Operator: v1.NodeSelectorOpIn, Values: []string{namespace}},
					{Key: "zone", Operator: v1.NodeSelectorOpNotIn, Values: []string{"b"}},
				},
			}}}
			p.Spec.Affinity = &v1.Affinity{
				NodeAffinity: &v1.NodeAffinity{RequiredDuringSchedulingIgnoredDuringExecution: required},
			}
		})
		for name, at := range c.untilPlaced(namespace, 8+4+3+3) {
			assert.Assert(t, !strings.HasPrefix(name, "affine-") || zone[at] == "a", "%s on %s", name, at)
		}

		// A node without the taint takes what waits for one.
		c.addNode(node(4), map[string]string{"zone": "c", "set": namespace})
		c.until("the pods that waited are on the new node", func(ctx context.Context) error {
			on := 0
			for _, at := range c.placed(ctx, namespace) {
				if at == node(4) {
					on++
				}
			}
			if on != 2 {
				return fmt.Errorf("%d are", on)
			}
			return nil
		})
	})
}

// distinctNodes is on how many nodes the pods are whose names begin so; two on one node are an error.
func distinctNodes(t *testing.T, placed map[string]string, prefix string) int {
	t.Helper()
	nodes := map[string]string{}
	for name, at := range placed {
		if strings.HasPrefix(name, prefix) {
			assert.Assert(t, nodes[at] == "", "%s and %s on %s", name, nodes[at], at)
			nodes[at] = name
		}
	}
	return len(nodes)
}
