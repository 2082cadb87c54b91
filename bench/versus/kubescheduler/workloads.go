package main

import (
	"fmt"
	"strings"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// workload has the properties that all pods share. Its name is that of a constraint of `canopy-lab bench run`, unless
// it is basic or preemption. Shapes and sizes are those of scheduler_perf.
type workload struct {
	name      string
	constrain func(p *v1.Pod, i int) // of the i-th pod; nil: none has constraints
}

const (
	basic      = "basic"
	taints     = "taints"
	preemption = "preemption"

	zoneLabel = v1.LabelTopologyZone
	hostLabel = v1.LabelHostname
)

var workloads = []workload{
	{name: basic},
	{"nodeaffinity", func(p *v1.Pod, _ int) {
		p.Spec.Affinity.NodeAffinity = &v1.NodeAffinity{RequiredDuringSchedulingIgnoredDuringExecution: &v1.NodeSelector{
			NodeSelectorTerms: []v1.NodeSelectorTerm{inZones("moon-1", "moon-2")}}}
	}},
	{taints, func(p *v1.Pod, _ int) {
		p.Spec.Tolerations = []v1.Toleration{{Key: "dedicated", Operator: v1.TolerationOpExists}}
	}},
	{"affinity", requireNear},
	{"antiaffinity", func(p *v1.Pod, _ int) { requireApart(p, "blue") }},
	{"spread", func(p *v1.Pod, _ int) { spread(p, 1, zoneLabel, v1.DoNotSchedule) }},
	{"mixed", func(p *v1.Pod, i int) {
		switch i % 3 {
		case 0:
			requireNear(p, i)
		case 1:
			requireApart(p, "green")
		default:
			p.Labels = map[string]string{"color": "white"}
		}
	}},
	{"preferrednodeaffinity", func(p *v1.Pod, _ int) { preferZone(p) }},
	{"preferredaffinity", func(p *v1.Pod, _ int) { preferNear(p, hostLabel) }},
	{"preferredantiaffinity", func(p *v1.Pod, _ int) {
		p.Spec.Affinity.PodAntiAffinity = &v1.PodAntiAffinity{
			PreferredDuringSchedulingIgnoredDuringExecution: weighted(near(p, "blue", hostLabel))}
	}},
	{"preferredspread", func(p *v1.Pod, _ int) { spread(p, 5, zoneLabel, v1.ScheduleAnyway) }},
	{"preferredmix", func(p *v1.Pod, _ int) {
		preferZone(p)
		preferNear(p, zoneLabel)
		spread(p, 5, hostLabel, v1.ScheduleAnyway)
	}},
	{name: preemption},
}

func workloadNames() string {
	var names []string
	for _, w := range workloads {
		names = append(names, w.name)
	}
	return strings.Join(names, ", ")
}

// chooseWorkloads returns the workloads of a comma-separated list.
func chooseWorkloads(list string) (chosen []workload, err error) {
	if list == "all" {
		return workloads, nil
	}
	byName := map[string]workload{}
	for _, w := range workloads {
		byName[w.name] = w
	}
	for name := range strings.SplitSeq(list, ",") {
		w, ok := byName[strings.TrimSpace(name)]
		if !ok {
			return nil, fmt.Errorf("workload %q: must be one of %s, or all", name, workloadNames())
		}
		chosen = append(chosen, w)
	}
	return chosen, nil
}

// node returns the i-th node. Nodes are in three zones in turn.
func (w workload) node(i int) *v1.Node {
	size := v1.ResourceList{
		v1.ResourcePods: resource.MustParse("110"),
		v1.ResourceCPU:  resource.MustParse("4"), v1.ResourceMemory: resource.MustParse("32Gi"),
	}
	name := fmt.Sprintf("node-%06d", i)
	n := &v1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: name, UID: types.UID(name), Labels: map[string]string{
			zoneLabel: fmt.Sprint("moon-", i%3+1), hostLabel: name}},
		Status: v1.NodeStatus{Capacity: size, Allocatable: size, Phase: v1.NodeRunning,
			Conditions: []v1.NodeCondition{{Type: v1.NodeReady, Status: v1.ConditionTrue}}},
	}
	if w.name == taints && i%4 == 0 {
		n.Spec.Taints = []v1.Taint{{Key: "dedicated", Value: "bench", Effect: v1.TaintEffectNoSchedule}}
	}
	return n
}

// pod returns the i-th pod to schedule. One that preempts needs three victims.
func (w workload) pod(i int) *v1.Pod {
	if w.name == preemption {
		return newPod(fmt.Sprintf("high-%06d", i), "3", 10)
	}
	p := newPod(fmt.Sprintf("pod-%06d", i), "100m", 0)
	if w.constrain != nil {
		w.constrain(p, i)
	}
	return p
}

func newPod(name, cpu string, priority int32) *v1.Pod {
	size := v1.ResourceList{v1.ResourceCPU: resource.MustParse(cpu), v1.ResourceMemory: resource.MustParse("500Mi")}
	return &v1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: "default", UID: types.UID(name)},
		Spec: v1.PodSpec{SchedulerName: v1.DefaultSchedulerName, Priority: &priority, Affinity: &v1.Affinity{},
			Containers: []v1.Container{{Name: "pause", Image: "pause",
				Ports: []v1.ContainerPort{{ContainerPort: 80}}, Resources: v1.ResourceRequirements{Requests: size, Limits: size}}}},
	}
}

func inZones(zones ...string) v1.NodeSelectorTerm {
	return v1.NodeSelectorTerm{MatchExpressions: []v1.NodeSelectorRequirement{
		{Key: zoneLabel, Operator: v1.NodeSelectorOpIn, Values: zones}}}
}

// near gives p a colour, and returns a term that selects all pods of this colour.
func near(p *v1.Pod, colour, topology string) v1.PodAffinityTerm {
	p.Labels = map[string]string{"color": colour}
	return v1.PodAffinityTerm{LabelSelector: &metav1.LabelSelector{MatchLabels: p.Labels}, TopologyKey: topology}
}

func weighted(term v1.PodAffinityTerm) []v1.WeightedPodAffinityTerm {
	return []v1.WeightedPodAffinityTerm{{Weight: 1, PodAffinityTerm: term}}
}

func requireNear(p *v1.Pod, _ int) {
	p.Spec.Affinity.PodAffinity = &v1.PodAffinity{
		RequiredDuringSchedulingIgnoredDuringExecution: []v1.PodAffinityTerm{near(p, "blue", zoneLabel)}}
}

func requireApart(p *v1.Pod, colour string) {
	p.Spec.Affinity.PodAntiAffinity = &v1.PodAntiAffinity{
		RequiredDuringSchedulingIgnoredDuringExecution: []v1.PodAffinityTerm{near(p, colour, hostLabel)}}
}

func preferNear(p *v1.Pod, topology string) {
	p.Spec.Affinity.PodAffinity = &v1.PodAffinity{
		PreferredDuringSchedulingIgnoredDuringExecution: weighted(near(p, "blue", topology))}
}

func preferZone(p *v1.Pod) {
	terms := []v1.PreferredSchedulingTerm{
		{Weight: 50, Preference: inZones("moon-1")}, {Weight: 10, Preference: inZones("moon-2")},
	}
	p.Spec.Affinity.NodeAffinity = &v1.NodeAffinity{PreferredDuringSchedulingIgnoredDuringExecution: terms}
}

func spread(p *v1.Pod, maxSkew int32, topology string, otherwise v1.UnsatisfiableConstraintAction) {
	p.Spec.TopologySpreadConstraints = []v1.TopologySpreadConstraint{{
		MaxSkew: maxSkew, WhenUnsatisfiable: otherwise, TopologyKey: topology,
		LabelSelector: near(p, "blue", topology).LabelSelector,
	}}
}
