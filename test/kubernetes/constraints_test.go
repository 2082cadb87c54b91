// Package kubernetes compares what Canopy decides with what the published packages of Kubernetes decide. It is a
// module of its own, so that their dependencies stay out of Canopy's.
package kubernetes

import (
	"encoding/json"
	"testing"

	"gotest.tools/v3/assert"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	scheduling "k8s.io/component-helpers/scheduling/corev1"
	"k8s.io/component-helpers/scheduling/corev1/nodeaffinity"
	"k8s.io/klog/v2"
	"pgregory.net/rapid"

	"github.com/canopy-scheduler/canopy/pkg/constraints"
)

// A pod is admitted by a node exactly if kube-scheduler's own matching admits it: node selector, required node
// affinity, taints and tolerations.
func TestNodeConstraints_AsKubeScheduler(t *testing.T) {
	seen := map[bool]int{}
	rapid.Check(t, func(t *rapid.T) {
		pod, node := drawPod(t), drawNode(t)
		want := kubernetesAdmits(t, pod, node)
		asked, err := constraints.Parse(tagsOf(t, pod))
		assert.NilError(t, err)
		n, err := constraints.NewNode(node.Name, attributesOf(t, node))
		assert.NilError(t, err)
		assert.Equal(t, asked.Match(n) == constraints.Matches, want, "pod %s\nnode %s", text(t, pod.Spec), text(t, node))
		seen[want]++
	})
	assert.Assert(t, seen[true] > 0 && seen[false] > 0, "one outcome never happened: %v", seen)
}

func kubernetesAdmits(t *rapid.T, pod *corev1.Pod, node *corev1.Node) bool {
	matches, err := nodeaffinity.GetRequiredNodeAffinity(pod).Match(node)
	assert.NilError(t, err)
	if !matches {
		return false
	}
	keepsAway := func(taint *corev1.Taint) bool {
		return taint.Effect == corev1.TaintEffectNoSchedule || taint.Effect == corev1.TaintEffectNoExecute
	}
	_, untolerated := scheduling.FindMatchingUntoleratedTaint(klog.Background(), node.Spec.Taints, pod.Spec.Tolerations,
		keepsAway, false)
	return !untolerated
}

var (
	labelNames  = []string{"zone", "disk", "cores"}
	labelValues = []string{"a", "b", "", "4", "8", "12"}
	effects     = []corev1.TaintEffect{corev1.TaintEffectNoSchedule, corev1.TaintEffectNoExecute,
		corev1.TaintEffectPreferNoSchedule}
)

func drawPod(t *rapid.T) *corev1.Pod {
	pod := &corev1.Pod{}
	if rapid.Bool().Draw(t, "has a selector") {
		pod.Spec.NodeSelector = rapid.MapOfN(rapid.SampledFrom(labelNames), rapid.SampledFrom(labelValues), 0, 2).Draw(t,
			"selector")
	}
	if rapid.Bool().Draw(t, "has an affinity") {
		terms := rapid.SliceOfN(rapid.Custom(drawTerm), 1, 3).Draw(t, "terms")
		required := &corev1.NodeSelector{NodeSelectorTerms: terms}
		pod.Spec.Affinity = &corev1.Affinity{
			NodeAffinity: &corev1.NodeAffinity{RequiredDuringSchedulingIgnoredDuringExecution: required},
		}
	}
	pod.Spec.Tolerations = rapid.SliceOfN(rapid.Custom(drawToleration), 0, 3).Draw(t, "tolerations")
	return pod
}

func drawTerm(t *rapid.T) (term corev1.NodeSelectorTerm) {
	term.MatchExpressions = rapid.SliceOfN(rapid.Custom(drawExpression), 0, 2).Draw(t, "expressions")
	if rapid.IntRange(0, 4).Draw(t, "has a field") == 0 {
		term.MatchFields = []corev1.NodeSelectorRequirement{{
			Key: metav1.ObjectNameField,
			Operator: rapid.SampledFrom([]corev1.NodeSelectorOperator{corev1.NodeSelectorOpIn,
				corev1.NodeSelectorOpNotIn}).Draw(t, "field operator"),
			Values: []string{rapid.SampledFrom([]string{"n1", "n2"}).Draw(t, "name")},
		}}
	}
	return term
}

func drawExpression(t *rapid.T) (e corev1.NodeSelectorRequirement) {
	e.Key = rapid.SampledFrom(labelNames).Draw(t, "key")
	e.Operator = rapid.SampledFrom([]corev1.NodeSelectorOperator{
		corev1.NodeSelectorOpIn, corev1.NodeSelectorOpNotIn, corev1.NodeSelectorOpExists, corev1.NodeSelectorOpDoesNotExist,
		corev1.NodeSelectorOpGt, corev1.NodeSelectorOpLt,
	}).Draw(t, "operator")
	switch e.Operator {
	case corev1.NodeSelectorOpIn, corev1.NodeSelectorOpNotIn:
		e.Values = rapid.SliceOfN(rapid.SampledFrom(labelValues), 1, 3).Draw(t, "values")
	case corev1.NodeSelectorOpGt, corev1.NodeSelectorOpLt:
		e.Values = []string{rapid.SampledFrom([]string{"3", "8", "11"}).Draw(t, "bound")}
	}
	return e
}

func drawToleration(t *rapid.T) (o corev1.Toleration) {
	if rapid.Bool().Draw(t, "exists") {
		o.Operator, o.Key = corev1.TolerationOpExists, rapid.SampledFrom([]string{"", "gpu", "old"}).Draw(t, "key")
	} else {
		o.Operator = rapid.SampledFrom([]corev1.TolerationOperator{"", corev1.TolerationOpEqual}).Draw(t, "operator")
		o.Key, o.Value = rapid.SampledFrom([]string{"gpu", "old"}).Draw(t, "key"),
			rapid.SampledFrom([]string{"", "yes"}).Draw(t, "value")
	}
	o.Effect = rapid.SampledFrom(append([]corev1.TaintEffect{""}, effects...)).Draw(t, "effect")
	return o
}

func drawNode(t *rapid.T) *corev1.Node {
	node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: rapid.SampledFrom([]string{"n1", "n2"}).Draw(t, "node")}}
	node.Labels = rapid.MapOfN(rapid.SampledFrom(labelNames), rapid.SampledFrom(labelValues), 0, 3).Draw(t, "labels")
	node.Spec.Taints = rapid.SliceOfN(rapid.Custom(func(t *rapid.T) corev1.Taint {
		return corev1.Taint{
			Key:    rapid.SampledFrom([]string{"gpu", "old"}).Draw(t, "taint"),
			Value:  rapid.SampledFrom([]string{"", "yes"}).Draw(t, "value"),
			Effect: rapid.SampledFrom(effects).Draw(t, "effect"),
		}
	}), 0, 2).Draw(t, "taints")
	return node
}

// tagsOf are the tags of an ask for the pod: the JSON of its fields, as Kubernetes writes it.
func tagsOf(t *rapid.T, pod *corev1.Pod) map[string]string {
	tags := map[string]string{}
	if pod.Spec.NodeSelector != nil {
		tags[constraints.SelectorTag] = text(t, pod.Spec.NodeSelector)
	}
	if pod.Spec.Affinity != nil {
		tags[constraints.AffinityTag] = text(t, pod.Spec.Affinity.NodeAffinity)
	}
	if len(pod.Spec.Tolerations) > 0 {
		tags[constraints.TolerationsTag] = text(t, pod.Spec.Tolerations)
	}
	return tags
}

func attributesOf(t *rapid.T, node *corev1.Node) map[string]string {
	attributes := map[string]string{}
	for key, value := range node.Labels {
		attributes[key] = value
	}
	if len(node.Spec.Taints) > 0 {
		attributes[constraints.TaintsAttribute] = text(t, node.Spec.Taints)
	}
	return attributes
}

func text(t *rapid.T, v any) string {
	b, err := json.Marshal(v)
	assert.NilError(t, err)
	return string(b)
}
