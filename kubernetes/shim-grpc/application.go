package main

import (
	"cmp"
	"encoding/json"
	"log/slog"
	"maps"
	"strconv"
	"strings"

	"github.com/apache/yunikorn-scheduler-interface/lib/go/common"
	"github.com/apache/yunikorn-scheduler-interface/lib/go/si"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
)

// Labels and annotations that describe applications, as YuniKorn's shim reads them.
const (
	labelApplication = common.DomainYuniKorn + "app-id"
	labelQueue       = common.DomainYuniKorn + "queue"
	labelUser        = common.DomainYuniKorn + "username"
	annotationUser   = common.DomainYuniKorn + "user.info"
	annotationGroups = common.DomainYuniKorn + "task-groups"
	annotationPolicy = common.DomainYuniKorn + "schedulingPolicyParameters"
	uniqueSuffix     = "-uniqueautogen" // of an application of the pod alone
)

// Annotations of namespaces.
const (
	annotationQuota      = common.DomainYuniKorn + "namespace.quota"
	annotationMaxCPU     = common.DomainYuniKorn + "namespace.max.cpu" // the older form of the quota
	annotationMaxMemory  = common.DomainYuniKorn + "namespace.max.memory"
	annotationGuaranteed = common.DomainYuniKorn + "namespace.guaranteed"
	annotationMaxApps    = common.DomainYuniKorn + "namespace.maxApps"
	annotationParent     = common.DomainYuniKorn + "parentqueue"
)

// tagParentQueue is a tag that placement rules read.
const tagParentQueue = "namespace.parentqueue"

// applicationID is the application of a pod by its labels, or one for all pods of its namespace without any.
func applicationID(p *v1.Pod) string {
	id := cmp.Or(p.Labels[labelApplication], p.Annotations[labelApplication], p.Labels["applicationId"],
		p.Labels["spark-app-selector"], "kubernetes-"+p.Namespace)
	if base, unique := strings.CutSuffix(id, uniqueSuffix); unique {
		return base + "-" + string(p.UID)
	}
	return id
}

// userOf is the user of a pod.
func userOf(p *v1.Pod) *si.UserGroupInformation {
	user := si.UserGroupInformation{}
	text := p.Annotations[annotationUser]
	switch {
	case text == "":
		user.User = p.Labels[labelUser]
	case json.Unmarshal([]byte(text), &user) != nil:
		user = si.UserGroupInformation{}
	}
	user.User = cmp.Or(user.User, "nobody")
	return &user
}

// newApplication is the application of a pod, as its first pod describes it.
func (s *session) newApplication(p *v1.Pod, id string, known *application) *si.AddApplicationRequest {
	a := &si.AddApplicationRequest{
		ApplicationID: id, PartitionName: partition,
		QueueName: cmp.Or(p.Labels[labelQueue], p.Annotations[labelQueue], p.Labels["queue"]),
		Ugi:       userOf(p), Tags: s.namespaceTags(p.Namespace),
	}
	if p.Spec.NodeName != "" {
		a.Tags[common.AppTagCreateForce] = "true"
	}
	if group := s.gangOf(p); group != nil && id == s.gangs[groupOf(p)].application {
		known.group = groupOf(p)
		describeGang(a, group)
	} else if groups := p.Annotations[annotationGroups]; groups != "" {
		a.Tags[tagVirtualPlaceholders], a.Tags[annotationGroups] = "true", groups
		a.GangSchedulingStyle, a.ExecutionTimeoutMilliSeconds = gangPolicy(p)
	}
	return a
}

// gangPolicy reads the style of a gang, and its placeholder timeout in milliseconds. What is malformed is left out.
func gangPolicy(p *v1.Pod) (style string, timeout int64) {
	for part := range strings.SplitSeq(p.Annotations[annotationPolicy], " ") {
		switch name, value, _ := strings.Cut(part, "="); name {
		case "gangSchedulingStyle":
			style = value
		case "placeholderTimeoutInSeconds":
			seconds, err := strconv.ParseInt(value, 10, 32)
			if err != nil {
				slog.Warn("the annotation is not understood", "pod", nameOf(p), "annotation", annotationPolicy, "error", err)
			}
			timeout = seconds * 1000
		}
	}
	return style, timeout
}

// namespaceTags are the tags that the namespace of an application gives it: its name, and the quotas and the parent of
// its queue, if a placement rule makes one. What is malformed is left out.
func (c *cluster) namespaceTags(name string) map[string]string {
	tags := map[string]string{"namespace": name}
	namespace, err := c.namespaces.Get(name)
	if err != nil {
		return tags // it is unknown
	}
	quota := func(tag string, texts map[v1.ResourceName]string) {
		list, used := v1.ResourceList{}, false
		for name, text := range texts {
			q, err := resource.ParseQuantity(text)
			if err != nil {
				slog.Warn("the quota is left out", "namespace", namespace.Name, "tag", tag, "resource", name, "error", err)
				return
			}
			list[name], used = q, used || !q.IsZero()
		}
		if used {
			text, _ := json.Marshal(amounts(list)) // it always has a JSON form
			tags[tag] = string(text)
		}
	}
	read := func(annotation string) (texts map[v1.ResourceName]string) {
		if text := namespace.Annotations[annotation]; text != "" {
			if err := json.Unmarshal([]byte(text), &texts); err != nil {
				slog.Warn("the annotation is left out", "namespace", name, "annotation", annotation, "error", err)
			}
		}
		return texts
	}
	older := map[v1.ResourceName]string{
		v1.ResourceCPU: namespace.Annotations[annotationMaxCPU], v1.ResourceMemory: namespace.Annotations[annotationMaxMemory],
	}
	maps.DeleteFunc(older, func(_ v1.ResourceName, text string) bool { return text == "" })
	if namespace.Annotations[annotationQuota] != "" {
		older = read(annotationQuota)
	}
	quota(common.AppTagNamespaceResourceQuota, older)
	quota(common.AppTagNamespaceResourceGuaranteed, read(annotationGuaranteed))
	if n := namespace.Annotations[annotationMaxApps]; n != "" {
		tags[common.AppTagNamespaceResourceMaxApps] = n
	}
	if parent := namespace.Annotations[annotationParent]; parent != "" {
		tags[tagParentQueue] = parent
	}
	return tags
}
