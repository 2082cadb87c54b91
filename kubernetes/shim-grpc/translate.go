package main

import (
	"cmp"
	"encoding/json"
	"maps"
	"strconv"

	"github.com/apache/yunikorn-scheduler-interface/lib/go/common"
	"github.com/apache/yunikorn-scheduler-interface/lib/go/si"
	v1 "k8s.io/api/core/v1"
	schedulingv1beta1 "k8s.io/api/scheduling/v1beta1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	resources "k8s.io/component-helpers/resource"
	"k8s.io/utils/ptr"
)

// Annotations of pods and priority classes, as YuniKorn's shim reads them.
const (
	annotationGroup      = common.DomainYuniKorn + "task-group-name"
	annotationPreemption = common.DomainYuniKorn + "allow-preemption" // of a priority class
)

// Tags and attributes of Canopy: docs/PROTOCOL.md.
const (
	tagConstraint          = "canopy.scheduler/"
	tagVirtualPlaceholders = "canopy.scheduler/virtual-placeholders"
	tagMaxRunTime          = "canopy.scheduler/max-run-time"
	tagStartTime           = "canopy.scheduler/start-time"
	attributeTaints        = "canopy.scheduler/taints"
)

// maxRunTimeSeconds is the largest bound that Canopy takes (RUN-1).
const maxRunTimeSeconds = 87600 * 3600

// partition of everything.
const partition = "default"

// newAsk is a pod as an ask of its application. The priority of a pod group precedes that of its pods.
func (s *session) newAsk(p *v1.Pod, application string) *si.Allocation {
	priority, class, taskGroup := p.Spec.Priority, p.Spec.PriorityClassName, p.Annotations[annotationGroup]
	preempts := ptr.Deref(p.Spec.PreemptionPolicy, "") != v1.PreemptNever
	if g := s.gangIn(p, application); g != nil {
		taskGroup = gangName
		if g.Spec.Priority != nil {
			priority, class = g.Spec.Priority, g.Spec.PriorityClassName
		}
		if g.Spec.PreemptionPolicy != nil {
			preempts = *g.Spec.PreemptionPolicy != schedulingv1beta1.PreemptNever
		}
	}
	volumes, _ := s.volumesOf(p) // of a running pod they no longer matter
	a := &si.Allocation{
		AllocationKey: string(p.UID), ApplicationID: application, PartitionName: partition, Priority: ptr.Deref(priority, 0),
		ResourcePerAlloc: podAmounts(p), TaskGroupName: taskGroup, AllocationTags: tags(p, volumes),
		PreemptionPolicy: &si.PreemptionPolicy{AllowPreemptSelf: s.preemptible(class), AllowPreemptOther: preempts},
	}
	if s.mirror.has(class) {
		a.AllocationTags[common.DomainK8s+common.GroupMeta+"priorityClassName"] = class
	}
	return a
}

// newForeign is a running pod of another scheduler.
func newForeign(p *v1.Pod) *si.Allocation {
	kind := common.AllocTypeDefault
	if _, mirror := p.Annotations[v1.MirrorPodAnnotationKey]; mirror {
		kind = common.AllocTypeStatic
	}
	a := &si.Allocation{AllocationKey: string(p.UID), PartitionName: partition, ResourcePerAlloc: podAmounts(p),
		AllocationTags: tags(p, nil)}
	a.AllocationTags[common.Foreign] = kind
	return a
}

// tags returns what decisions about a pod depend on besides its resources. volumes are those that restrict its node.
func tags(p *v1.Pod, volumes []v1.NodeSelectorRequirement) map[string]string {
	t := map[string]string{
		common.CreationTime: strconv.FormatInt(p.CreationTimestamp.Unix(), 10),
		common.DomainK8s + common.GroupMeta + common.KeyNamespace: p.Namespace,
		common.DomainK8s + common.GroupMeta + common.KeyPodName:   p.Name,
		common.DomainK8s + common.GroupMeta + "qosClass":          string(p.Status.QOSClass),
	}
	for k, v := range p.Labels {
		t[common.DomainK8s+common.GroupLabel+k] = v
	}
	if p.Spec.TerminationGracePeriodSeconds != nil {
		t[common.DomainK8s+common.GroupMeta+
			"terminationGracePeriodSeconds"] = strconv.FormatInt(*p.Spec.TerminationGracePeriodSeconds, 10)
	}
	if deadline := p.Spec.ActiveDeadlineSeconds; deadline != nil {
		t[tagMaxRunTime] = strconv.FormatInt(min(*deadline, maxRunTimeSeconds), 10) + "s"
	}
	if started := p.Status.StartTime; started != nil {
		t[tagStartTime] = strconv.FormatInt(started.Unix(), 10)
	}
	if node := requiredNode(p); node != "" {
		t[common.DomainYuniKorn+common.KeyRequiredNode] = node
	}
	constraint := func(name string, value any, given bool) {
		if given {
			text, _ := json.Marshal(value) // types of Kubernetes always have a JSON form
			t[tagConstraint+name] = string(text)
		}
	}
	constraint("nodeSelector", p.Spec.NodeSelector, len(p.Spec.NodeSelector) > 0)
	constraint("tolerations", p.Spec.Tolerations, len(p.Spec.Tolerations) > 0)
	constraint("topologySpreadConstraints", p.Spec.TopologySpreadConstraints, len(p.Spec.TopologySpreadConstraints) > 0)
	a := cmp.Or(p.Spec.Affinity, &v1.Affinity{})
	onNode := requireNode(a.NodeAffinity, volumes)
	constraint("nodeAffinity", onNode, onNode != nil)
	constraint("podAffinity", a.PodAffinity, a.PodAffinity != nil)
	constraint("podAntiAffinity", a.PodAntiAffinity, a.PodAntiAffinity != nil)
	var ports []v1.ContainerPort
	for _, container := range p.Spec.Containers {
		for _, port := range container.Ports {
			if port.HostPort != 0 {
				ports = append(ports, port)
			}
		}
	}
	constraint("hostPorts", ports, len(ports) > 0)
	return t
}

// requiredNode is the node for which a DaemonSet has made a pod; empty: it is of none.
func requiredNode(p *v1.Pod) string {
	owner := metav1.GetControllerOf(p)
	a := cmp.Or(cmp.Or(p.Spec.Affinity, &v1.Affinity{}).NodeAffinity, &v1.NodeAffinity{})
	if owner == nil || owner.Kind != "DaemonSet" || a.RequiredDuringSchedulingIgnoredDuringExecution == nil {
		return ""
	}
	for _, term := range a.RequiredDuringSchedulingIgnoredDuringExecution.NodeSelectorTerms {
		for _, field := range term.MatchFields {
			if field.Key == metav1.ObjectNameField && len(field.Values) == 1 {
				return field.Values[0]
			}
		}
	}
	return ""
}

// podAmounts are the requests of a pod, and its place among the pods of a node.
func podAmounts(p *v1.Pod) *si.Resource {
	a := amounts(resources.PodRequests(p, resources.PodResourcesOptions{UseStatusResources: true}))
	a.Resources["pods"] = &si.Quantity{Value: 1}
	return a
}

// amounts are quantities in the units of the interface: 1000ths of a core, everything else whole.
func amounts(list v1.ResourceList) *si.Resource {
	r := &si.Resource{Resources: map[string]*si.Quantity{}}
	for name, quantity := range list {
		if name == v1.ResourceCPU {
			r.Resources[common.CPU] = &si.Quantity{Value: quantity.MilliValue()}
			continue
		}
		r.Resources[string(name)] = &si.Quantity{Value: quantity.Value()}
	}
	return r
}

// newNode is a node. All its labels are attributes.
func newNode(n *v1.Node, action si.NodeInfo_ActionFromRM) *si.NodeInfo {
	attributes := map[string]string{common.HostName: n.Name, common.InstanceType: n.Labels[v1.LabelInstanceTypeStable]}
	maps.Copy(attributes, n.Labels)
	if len(n.Spec.Taints) > 0 {
		taints, _ := json.Marshal(n.Spec.Taints)
		attributes[attributeTaints] = string(taints)
	}
	return &si.NodeInfo{NodeID: n.Name, Action: action, Attributes: attributes,
		SchedulableResource: amounts(n.Status.Allocatable)}
}
