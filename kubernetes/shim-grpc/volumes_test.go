package main

import (
	"errors"
	"testing"

	"gotest.tools/v3/assert"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// testVolume returns a volume, and the claim of its name that is bound to it. Nodes of the zones reach it, with more
// than one a term for each; without a zone all do.
func testVolume(name string, zones ...string) (*v1.PersistentVolume, *v1.PersistentVolumeClaim) {
	volume := &v1.PersistentVolume{ObjectMeta: metav1.ObjectMeta{Name: "pv-" + name}}
	if len(zones) > 0 {
		volume.Spec.NodeAffinity = &v1.VolumeNodeAffinity{Required: &v1.NodeSelector{}}
	}
	for _, zone := range zones {
		terms := &volume.Spec.NodeAffinity.Required.NodeSelectorTerms
		*terms = append(*terms, v1.NodeSelectorTerm{MatchExpressions: []v1.NodeSelectorRequirement{
			{Key: "zone", Operator: v1.NodeSelectorOpIn, Values: []string{zone}}}})
	}
	return volume, &v1.PersistentVolumeClaim{
		ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: "work"},
		Spec:       v1.PersistentVolumeClaimSpec{VolumeName: volume.Name},
		Status:     v1.PersistentVolumeClaimStatus{Phase: v1.ClaimBound},
	}
}

// claiming gives a pod a volume of a claim.
func claiming(claim string) func(*v1.Pod) {
	return func(p *v1.Pod) {
		p.Spec.Volumes = append(p.Spec.Volumes, v1.Volume{Name: claim, VolumeSource: v1.VolumeSource{
			PersistentVolumeClaim: &v1.PersistentVolumeClaimVolumeSource{ClaimName: claim}}})
	}
}

// A pod goes where its bound volumes are, besides what it requires itself. One whose claim is not bound waits, says so,
// and is asked for when it is.
func TestVolumes_RestrictNodes(t *testing.T) {
	zone := func(name string) func(*v1.Node) { return func(n *v1.Node) { n.Labels["zone"] = name } }
	here, hereClaim := testVolume("here", "b")
	everywhere, everywhereClaim := testVolume("everywhere")
	late, lateClaim := testVolume("late", "b")
	scratch, scratchClaim := testVolume("ephemeral-scratch", "b")
	region, regionClaim := testVolume("region", "a", "b")
	lateClaim.Status.Phase = v1.ClaimPending
	f := start(t, testNode("n1", zone("a")), testNode("n2", zone("b")), testNode("n3", zone("b")), here, hereClaim,
		everywhere, everywhereClaim, late, lateClaim, scratch, scratchClaim, region, regionClaim)
	f.create(
		testPod("bound", "1", func(p *v1.Pod) { claiming("here")(p); claiming("everywhere")(p) }),
		testPod("not-n2", "1", func(p *v1.Pod) {
			claiming("here")(p)
			p.Spec.Affinity = &v1.Affinity{NodeAffinity: &v1.NodeAffinity{
				RequiredDuringSchedulingIgnoredDuringExecution: &v1.NodeSelector{NodeSelectorTerms: []v1.NodeSelectorTerm{
					{MatchExpressions: []v1.NodeSelectorRequirement{
						{Key: v1.LabelHostname, Operator: v1.NodeSelectorOpNotIn, Values: []string{"n2"}}}},
					{MatchExpressions: []v1.NodeSelectorRequirement{
						{Key: v1.LabelHostname, Operator: v1.NodeSelectorOpIn, Values: []string{"n1"}}}},
				}}}}
		}),
		testPod("elsewhere", "1", func(p *v1.Pod) {
			claiming("here")(p)
			p.Spec.NodeSelector = map[string]string{"zone": "a"}
		}),
		testPod("ephemeral", "1", func(p *v1.Pod) {
			p.Spec.Volumes = []v1.Volume{{Name: "scratch", VolumeSource: v1.VolumeSource{
				Ephemeral: &v1.EphemeralVolumeSource{}}}, {Name: "none"}}
		}),
		testPod("unbound", "1", claiming("late")), testPod("missing", "1", claiming("nothing")),
		testPod("regional", "1", claiming("region")))
	placed := f.untilPlaced(3)
	assert.Equal(t, placed["not-n2"], "n3")
	for _, name := range []string{"bound", "ephemeral"} {
		assert.Assert(t, placed[name] != "n1" && placed[name] != "", "%v", placed)
	}
	f.untilCondition("elsewhere", v1.PodReasonUnschedulable, "")
	f.untilCondition("regional", v1.PodReasonUnschedulable, "volumes with several terms")
	f.untilCondition("missing", reasonSkipped, "waits until the volume claim nothing exists and is bound")
	f.untilCondition("unbound", reasonSkipped, "waits until the volume claim late exists and is bound")
	f.untilEvent("unbound", "WaitForFirstConsumer are not supported")

	lateClaim = lateClaim.DeepCopy()
	lateClaim.Status.Phase = v1.ClaimBound
	_, err := f.client.CoreV1().PersistentVolumeClaims("work").Update(t.Context(), lateClaim, metav1.UpdateOptions{})
	assert.NilError(t, err)
	f.until(func() error {
		if node := f.placed()["unbound"]; node != "n2" && node != "n3" {
			return errors.New("it is not in the zone of its volume: " + node)
		}
		return nil
	})
}
