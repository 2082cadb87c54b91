package kubernetes

import (
	"testing"

	"gotest.tools/v3/assert"
	corev1 "k8s.io/api/core/v1"
	scheduling "k8s.io/component-helpers/scheduling/corev1"
	"k8s.io/component-helpers/scheduling/corev1/nodeaffinity"
	"k8s.io/klog/v2"
	"pgregory.net/rapid"

	"github.com/canopy-scheduler/canopy/pkg/constraints"
)

// The score of a node is the sum of the weights of the preferred terms that the package of Kubernetes finds to match,
// less 100 for each taint with PreferNoSchedule that it finds not to be tolerated (CON-29, CON-30).
func TestPreferredNodeAffinity_AsKubeScheduler(t *testing.T) {
	seen := map[int]int{}
	rapid.Check(t, func(t *rapid.T) {
		pod, node := drawPod(t), drawNode(t)
		terms := rapid.SliceOfN(rapid.Custom(func(t *rapid.T) corev1.PreferredSchedulingTerm {
			return corev1.PreferredSchedulingTerm{Weight: int32(rapid.IntRange(1, 100).Draw(t, "weight")),
				Preference: drawTerm(t)}
		}), 0, 4).Draw(t, "preferred")
		if pod.Spec.Affinity == nil {
			pod.Spec.Affinity = &corev1.Affinity{NodeAffinity: &corev1.NodeAffinity{}}
		}
		pod.Spec.Affinity.NodeAffinity.PreferredDuringSchedulingIgnoredDuringExecution = terms
		preferred, err := nodeaffinity.NewPreferredSchedulingTerms(terms)
		assert.NilError(t, err)
		want := preferred.Score(node)
		for i := range node.Spec.Taints {
			if taint := &node.Spec.Taints[i]; taint.Effect == corev1.TaintEffectPreferNoSchedule &&
				!scheduling.TolerationsTolerateTaint(klog.Background(), pod.Spec.Tolerations, taint, false) {
				want -= 100
			}
		}
		asked, err := constraints.Parse(tagsOf(t, pod))
		assert.NilError(t, err)
		n, err := constraints.NewNode(node.Name, attributesOf(t, node))
		assert.NilError(t, err)
		assert.Equal(t, asked.Score(n), want, "pod %s\nnode %s", text(t, pod.Spec), text(t, node))
		seen[min(1, max(-1, int(want)))]++
	})
	assert.Equal(t, len(seen), 3, "one outcome never happened: %v", seen)
}
