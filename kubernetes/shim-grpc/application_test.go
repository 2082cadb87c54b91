package main

import (
	"maps"
	"testing"

	"github.com/apache/yunikorn-scheduler-interface/lib/go/common"
	"gotest.tools/v3/assert"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	listers "k8s.io/client-go/listers/core/v1"
	"k8s.io/client-go/tools/cache"
)

// The order in which labels and annotations are read is that of YuniKorn's shim.
func TestApplication_OfLabels(t *testing.T) {
	for _, c := range []struct {
		labels, annotations map[string]string
		want                string
	}{
		{nil, nil, "kubernetes-work"},
		{map[string]string{"spark-app-selector": "spark"}, nil, "spark"},
		{map[string]string{"spark-app-selector": "spark", "applicationId": "old"}, nil, "old"},
		{map[string]string{"applicationId": "old"}, map[string]string{labelApplication: "noted"}, "noted"},
		{map[string]string{labelApplication: "new"}, map[string]string{labelApplication: "noted"}, "new"},
		{map[string]string{labelApplication: "alone-uniqueautogen"}, nil, "alone-uid-p"},
	} {
		p := testPod("p", "1", func(p *v1.Pod) { p.Labels, p.Annotations = c.labels, c.annotations })
		assert.Equal(t, applicationID(p), c.want)
	}
}

func TestApplication_User(t *testing.T) {
	for text, want := range map[string]string{
		"": "labelled", "{": "nobody", `{"groups": ["g"]}`: "nobody", `{"user": "ann"}`: "ann",
	} {
		p := testPod("p", "1", func(p *v1.Pod) {
			p.Labels[labelUser], p.Annotations = "labelled", map[string]string{annotationUser: text}
		})
		assert.Equal(t, userOf(p).User, want, text)
	}
}

func TestApplication_GangPolicy(t *testing.T) {
	for text, want := range map[string]struct {
		style   string
		timeout int64
	}{
		"": {}, "gangSchedulingStyle=Hard placeholderTimeoutInSeconds=30": {"Hard", 30000},
		"placeholderTimeoutInSeconds=soon": {}, "nothing": {},
	} {
		style, timeout := gangPolicy(testPod("p", "1", func(p *v1.Pod) {
			p.Annotations = map[string]string{annotationPolicy: text}
		}))
		assert.Equal(t, style, want.style, text)
		assert.Equal(t, timeout, want.timeout, text)
	}
}

// The annotations of a namespace are the quotas of the queue that a placement rule makes for it.
func TestApplication_NamespaceQuota(t *testing.T) {
	annotations := map[string]string{
		annotationQuota: `{"cpu": "1500m", "memory": "2Gi"}`, annotationMaxCPU: "9",
		annotationGuaranteed: `{"cpu": "500m"}`, annotationMaxApps: "3",
	}
	f := start(t, testNode("n1", nil),
		&v1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "work", Annotations: annotations}})
	f.create(testPod("p1", "1", nil), testPod("p2", "1", nil))
	f.untilPlaced(1)
	waits := "p1"
	if f.placed()["p1"] != "" {
		waits = "p2"
	}
	f.untilCondition(waits, "SchedulingSkipped", "root.work")
	text := f.rest("/ws/v1/partition/default/queue/root.work")
	assert.Assert(t, containsAll(text, `"maxResource":{"memory":2147483648,"vcore":1500}`,
		`"guaranteedResource":{"vcore":500}`, `"maxRunningApps":3`), text)
}

func TestApplication_NamespaceTags(t *testing.T) {
	const quota, guaranteed = common.AppTagNamespaceResourceQuota, common.AppTagNamespaceResourceGuaranteed
	for i, c := range []struct{ annotations, want map[string]string }{
		{nil, nil},
		{map[string]string{annotationMaxCPU: "2", annotationMaxMemory: "1k"},
			map[string]string{quota: `{"resources":{"memory":{"value":1000},"vcore":{"value":2000}}}`}},
		{map[string]string{annotationMaxCPU: "two", annotationParent: "root.parent"},
			map[string]string{tagParentQueue: "root.parent"}},
		{map[string]string{annotationQuota: "{", annotationGuaranteed: `{"cpu": "x"}`}, nil},
		{map[string]string{annotationQuota: `{"cpu": "0"}`, annotationGuaranteed: `{"nvidia.com/gpu": "1"}`},
			map[string]string{guaranteed: `{"resources":{"nvidia.com/gpu":{"value":1}}}`}},
	} {
		name := string(rune('a' + i))
		want := map[string]string{"namespace": name}
		maps.Copy(want, c.want)
		known := cache.NewIndexer(cache.MetaNamespaceKeyFunc, nil)
		assert.NilError(t, known.Add(&v1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name, Annotations: c.annotations}}))
		c := cluster{namespaces: listers.NewNamespaceLister(known)}
		assert.DeepEqual(t, c.namespaceTags(name), want)
	}
}
