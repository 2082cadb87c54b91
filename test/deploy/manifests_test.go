package deploy

import (
	"bytes"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"gotest.tools/v3/assert"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	flowcontrolv1 "k8s.io/api/flowcontrol/v1"
	networkingv1 "k8s.io/api/networking/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/kustomize/api/krusty"
	"sigs.k8s.io/kustomize/kyaml/filesys"
	"sigs.k8s.io/yaml"

	"github.com/canopy-scheduler/canopy/pkg/canopy"
)

// manifests are the objects of a kustomization.
type manifests struct {
	deployment *appsv1.Deployment
	service    *corev1.Service
	config     *corev1.ConfigMap
	account    *corev1.ServiceAccount
	policy     *networkingv1.NetworkPolicy
	subjects   []rbacv1.Subject
	level      *flowcontrolv1.PriorityLevelConfiguration
	flows      []*flowcontrolv1.FlowSchema
	kinds      []string
}

// build renders a kustomization, and decodes each object; fields that its type does not have are errors.
func build(t *testing.T, directory string) (m manifests) {
	t.Helper()
	rendered, err := krusty.MakeKustomizer(krusty.MakeDefaultOptions()).Run(filesys.MakeFsOnDisk(),
		"../../deploy/kubernetes/"+directory)
	assert.NilError(t, err)
	strict := serializer.NewCodecFactory(scheme.Scheme, serializer.EnableStrict).UniversalDeserializer()
	for _, resource := range rendered.Resources() {
		text, err := resource.AsYAML()
		assert.NilError(t, err)
		object, kind, err := strict.Decode(text, nil, nil)
		assert.NilError(t, err, "%s", text)
		m.kinds = append(m.kinds, kind.Kind)
		m.add(t, object)
	}
	slices.Sort(m.kinds)
	return m
}

func (m *manifests) add(t *testing.T, object runtime.Object) {
	t.Helper()
	switch o := object.(type) {
	case *appsv1.Deployment:
		m.deployment = o
	case *corev1.Service:
		m.service = o
	case *corev1.ConfigMap:
		m.config = o
	case *corev1.ServiceAccount:
		m.account = o
	case *networkingv1.NetworkPolicy:
		m.policy = o
	case *rbacv1.ClusterRoleBinding:
		m.subjects = append(m.subjects, o.Subjects...)
	case *flowcontrolv1.PriorityLevelConfiguration:
		m.level = o
	case *flowcontrolv1.FlowSchema:
		m.flows = append(m.flows, o)
	case *rbacv1.RoleBinding:
		m.subjects = append(m.subjects, o.Subjects...)
	case *corev1.Namespace, *rbacv1.ClusterRole, *rbacv1.Role:
	default:
		t.Errorf("unexpected %T", object)
	}
}

// The objects refer to each other by the right names, and nothing in them is unknown to Kubernetes.
func TestManifests_BelongTogether(t *testing.T) {
	for _, directory := range []string{"base", "secure"} {
		m := build(t, directory)
		assert.DeepEqual(t, m.kinds, []string{
			"ClusterRole", "ClusterRoleBinding", "ClusterRoleBinding", "ClusterRoleBinding", "ConfigMap", "Deployment",
			"FlowSchema", "FlowSchema",
			"Namespace", "NetworkPolicy", "PriorityLevelConfiguration", "Role", "RoleBinding", "Service", "ServiceAccount",
		})
		pod := m.deployment.Spec.Template
		set := labels.Set(pod.Labels)
		assert.Assert(t, labels.SelectorFromSet(m.service.Spec.Selector).Matches(set))
		assert.Assert(t, labels.SelectorFromSet(m.deployment.Spec.Selector.MatchLabels).Matches(set))
		assert.Assert(t, labels.SelectorFromSet(m.policy.Spec.PodSelector.MatchLabels).Matches(set))
		assert.Equal(t, pod.Spec.ServiceAccountName, m.account.Name)
		for _, s := range m.subjects {
			assert.Equal(t, s.Name+" "+s.Namespace, m.account.Name+" yunikorn")
		}
		for _, flow := range m.flows {
			assert.Equal(t, flow.Spec.PriorityLevelConfiguration.Name, m.level.Name)
			for _, s := range flow.Spec.Rules[0].Subjects {
				assert.Equal(t, s.ServiceAccount.Name+" "+s.ServiceAccount.Namespace, m.account.Name+" yunikorn")
			}
		}
		// the shim and the admission controller know them
		assert.Equal(t, m.service.Name+" "+m.config.Name, "yunikorn-service yunikorn-configs")
		container := pod.Spec.Containers[0]
		assert.Equal(t, m.service.Spec.Ports[0].TargetPort.String(), container.Ports[0].Name)
		assert.Equal(t, container.Image, "registry.example.org/canopy-kubernetes:dev")
		assert.Equal(t, *m.deployment.Spec.Replicas, int32(1))
		assert.Equal(t, m.deployment.Spec.Strategy.Type, appsv1.RecreateDeploymentStrategyType)
	}
}

// The configuration is one that Canopy loads, without a warning.
func TestManifests_ConfigurationIsValid(t *testing.T) {
	problems, err := canopy.CheckConfig("queues.yaml", build(t, "base").config.Data["queues.yaml"], canopy.ConfigLimits{})
	assert.NilError(t, err)
	assert.Equal(t, len(problems), 0, "%v", problems)
}

// The native shim and the scheduler beside it: two replicas, of which the lease lets one schedule, on loopback.
func TestManifests_OfTheNativeShim(t *testing.T) {
	m := build(t, "native")
	assert.DeepEqual(t, m.kinds, []string{"ClusterRole", "ClusterRoleBinding", "ConfigMap", "Deployment", "Namespace",
		"Role", "RoleBinding", "ServiceAccount"})
	pod := m.deployment.Spec.Template
	assert.Equal(t, *m.deployment.Spec.Replicas, int32(2))
	assert.Assert(t, labels.SelectorFromSet(m.deployment.Spec.Selector.MatchLabels).Matches(labels.Set(pod.Labels)))
	assert.Equal(t, pod.Spec.ServiceAccountName, m.account.Name)
	assert.Equal(t, len(m.subjects), 2)
	for _, s := range m.subjects {
		assert.Equal(t, s.Name+" "+s.Namespace, m.account.Name+" "+m.deployment.Namespace)
	}
	assert.Equal(t, pod.Spec.Volumes[0].ConfigMap.Name, m.config.Name)
	assert.Assert(t, *pod.Spec.SecurityContext.RunAsNonRoot)
	scheduler, shim := pod.Spec.Containers[0], pod.Spec.Containers[1]
	for _, container := range pod.Spec.Containers {
		assert.DeepEqual(t, container.SecurityContext.Capabilities.Drop, []corev1.Capability{"ALL"})
		assert.Assert(t, !*container.SecurityContext.AllowPrivilegeEscalation)
	}
	assert.Equal(t, scheduler.Image, "registry.example.org/canopy:dev")
	assert.Equal(t, shim.Image, "registry.example.org/canopy-shim-kubernetes:dev")
	assert.Equal(t, argument(shim, "--address"), argument(scheduler, "--grpc-address"))
	assert.Equal(t, argument(scheduler, "--grpc-address"), "127.0.0.1:3333")
	assert.Equal(t, argument(shim, "--leader-elect"), m.deployment.Namespace+"/canopy-shim")
	assert.Equal(t, argument(scheduler, "--config"), scheduler.VolumeMounts[0].MountPath+"/queues.yaml")
	problems, err := canopy.CheckConfig("queues.yaml", m.config.Data["queues.yaml"], canopy.ConfigLimits{})
	assert.NilError(t, err)
	assert.Equal(t, len(problems), 0, "%v", problems)
}

// argument returns the value of an option of a container; empty: it has none.
func argument(c corev1.Container, option string) string {
	if i := slices.Index(c.Args, option); i >= 0 && i+1 < len(c.Args) {
		return c.Args[i+1]
	}
	return ""
}

// The variables are those that the program reads, and the files that they name are mounted.
func TestManifests_SecureVariantUsesWhatItMounts(t *testing.T) {
	source, err := os.ReadFile("../../kubernetes/yunikorn-core/pkg/entrypoint/settings.go")
	assert.NilError(t, err)
	known := regexp.MustCompile(`"CANOPY_[A-Z_]+"`).FindAllString(string(source), -1)
	m := build(t, "secure")
	container := m.deployment.Spec.Template.Spec.Containers[0]
	var set []string
	for _, variable := range container.Env {
		set = append(set, variable.Name)
		if variable.Name == "NAMESPACE" {
			continue
		}
		assert.Assert(t, slices.Contains(known, `"`+variable.Name+`"`), "%s", variable.Name)
		if strings.HasPrefix(variable.Value, "/") {
			assert.Assert(t, slices.ContainsFunc(container.VolumeMounts, func(v corev1.VolumeMount) bool {
				return strings.HasPrefix(variable.Value, v.MountPath+"/")
			}), "%s is not mounted", variable.Value)
		}
	}
	for _, name := range []string{"NAMESPACE", "CANOPY_TLS_CERT", "CANOPY_TLS_KEY", "CANOPY_TOKENS"} {
		assert.Assert(t, slices.Contains(set, name), "%s is not set: %v", name, set)
	}
	for _, volume := range m.deployment.Spec.Template.Spec.Volumes {
		assert.Equal(t, *volume.Secret.DefaultMode, int32(0o440))
	}
	assert.Equal(t, string(container.LivenessProbe.HTTPGet.Scheme)+string(container.ReadinessProbe.HTTPGet.Scheme),
		"HTTPSHTTPS")
}

// The values for YuniKorn's chart have the names that it knows; the scheduler's image is the one of the manifests.
func TestHelmValues_AreThoseOfTheChart(t *testing.T) {
	text, err := os.ReadFile("../../deploy/kubernetes/helm-values.yaml")
	assert.NilError(t, err)
	var values struct {
		Image struct {
			Repository string `json:"repository"`
			Tag        string `json:"tag"`
			PullPolicy string `json:"pullPolicy"`
		} `json:"image"`
		EnableSchedulerPlugin bool              `json:"enableSchedulerPlugin"`
		EnableWebService      bool              `json:"enableWebService"`
		PodAnnotations        map[string]string `json:"podAnnotations"`
	}
	assert.NilError(t, yaml.UnmarshalStrict(text, &values))
	m := build(t, "base")
	assert.Equal(t, values.Image.Repository+":"+values.Image.Tag, m.deployment.Spec.Template.Spec.Containers[0].Image)
	assert.Assert(t, !values.EnableWebService && !values.EnableSchedulerPlugin)
	assert.DeepEqual(t, values.PodAnnotations, m.deployment.Spec.Template.Annotations)
	assert.Assert(t, bytes.Contains(text, []byte("enableWebService: true")), "the way back is said")
}
