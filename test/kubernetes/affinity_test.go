package kubernetes

import (
	"encoding/json"
	"testing"

	"gotest.tools/v3/assert"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"pgregory.net/rapid"

	"github.com/canopy-scheduler/canopy/pkg/affinity"
)

// A label selector of pod affinity selects what that of Kubernetes selects, and what Kubernetes refuses is refused
// (CON-15).
func TestLabelSelector_AsKubernetes(t *testing.T) {
	seen := map[string]int{}
	rapid.Check(t, func(t *rapid.T) {
		var selector *metav1.LabelSelector
		if rapid.IntRange(0, 9).Draw(t, "selector") > 0 {
			selector = &metav1.LabelSelector{MatchLabels: rapid.MapOfN(rapid.SampledFrom(labelNames),
				rapid.SampledFrom(labelValues), 0, 2).Draw(t, "labels")}
			for range rapid.IntRange(0, 2).Draw(t, "expressions") {
				selector.MatchExpressions = append(selector.MatchExpressions, metav1.LabelSelectorRequirement{
					Key: rapid.SampledFrom(labelNames).Draw(t, "key"),
					Operator: rapid.SampledFrom([]metav1.LabelSelectorOperator{"In", "NotIn", "Exists", "DoesNotExist", "Gt"}).Draw(t,
						"operator"),
					Values: rapid.SliceOfN(rapid.SampledFrom(labelValues), 0, 2).Draw(t, "values"),
				})
			}
		}
		pod := rapid.MapOfN(rapid.SampledFrom(labelNames), rapid.SampledFrom(labelValues), 0, 3).Draw(t, "pod")
		want, wantErr := metav1.LabelSelectorAsSelector(selector)
		term, err := json.Marshal(
			corev1.PodAffinity{RequiredDuringSchedulingIgnoredDuringExecution: []corev1.PodAffinityTerm{{LabelSelector: selector,
				TopologyKey: "zone"}}})
		assert.NilError(t, err)
		ask, err := affinity.Parse(map[string]string{affinity.PodAffinityTag: string(term)}, nil)
		assert.Equal(t, err != nil, wantErr != nil, "%s: %v, and Kubernetes: %v", term, err, wantErr)
		if err != nil {
			seen["refused"]++
			return
		}
		tags := map[string]string{}
		for key, value := range pod {
			tags["kubernetes.io/label/"+key] = value
		}
		matches := want.Matches(labels.Set(pod))
		assert.Equal(t, ask.AffinityTerms()[0].SelectsTags(tags), matches, "%s selects %v", term, pod)
		seen[map[bool]string{true: "selected", false: "not selected"}[matches]]++
	})
	assert.Equal(t, len(seen), 3, "one outcome never happened: %v", seen)
}
