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
	labelApplication     = common.DomainYuniKorn + "app-id"
	labelQueue           = common.DomainYuniKorn + "queue"
	labelUser            = common.DomainYuniKorn + "username"
	annotationUser       = common.DomainYuniKorn + "user.info"
	annotationGroups     = common.DomainYuniKorn + "task-groups"
	annotationPolicy     = common.DomainYuniKorn + "schedulingPolicyParameters"
	uniqueSuffix         = "-uniqueautogen"                            // of an application of the pod alone
	annotationQuota      = common.DomainYuniKorn + "namespace.quota"   // this and the next are of namespaces
	annotationMaxCPU     = common.DomainYuniKorn + "namespace.max.cpu" // the older form of the quota
	annotationMaxMemory  = common.DomainYuniKorn + "namespace.max.memory"
	annotationGuaranteed = common.DomainYuniKorn + "namespace.guaranteed"
	annotationMaxApps    = common.DomainYuniKorn + "namespace.maxApps"
	annotationParent     = common.DomainYuniKorn + "parentqueue"
	tagParentQueue       = "namespace.parentqueue" // which placement rules read
)

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
	user := &si.UserGroupInformation{}
	if text := p.Annotations[annotationUser]; text == "" {
		user.User = p.Labels[labelUser]
	} else if json.Unmarshal([]byte(text), user) != nil {
		user = &si.UserGroupInformation{}
	}
	user.User = cmp.Or(user.User, "nobody")
	return user
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
	if group := s.gangIn(p, id); group != nil {
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
	quota := func(tag, text string) {
		list := v1.ResourceList{}
		if err := json.Unmarshal([]byte(cmp.Or(text, "{}")), &list); err != nil {
			slog.Warn("a quota is left out", "namespace", name, "tag", tag, "annotation", text, "error", err)
			return
		}
		maps.DeleteFunc(list, func(_ v1.ResourceName, q resource.Quantity) bool { return q.IsZero() })
		if len(list) > 0 {
			text, _ := json.Marshal(amounts(list)) // it always has a JSON form
			tags[tag] = string(text)
		}
	}
	older, _ := json.Marshal(map[string]string{"cpu": cmp.Or(namespace.Annotations[annotationMaxCPU], "0"),
		"memory": cmp.Or(namespace.Annotations[annotationMaxMemory], "0")})
	quota(common.AppTagNamespaceResourceQuota, cmp.Or(namespace.Annotations[annotationQuota], string(older)))
	quota(common.AppTagNamespaceResourceGuaranteed, namespace.Annotations[annotationGuaranteed])
	if n := namespace.Annotations[annotationMaxApps]; n != "" {
		tags[common.AppTagNamespaceResourceMaxApps] = n
	}
	if parent := namespace.Annotations[annotationParent]; parent != "" {
		tags[tagParentQueue] = parent
	}
	return tags
}
