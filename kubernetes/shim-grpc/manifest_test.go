package main

import (
	"bytes"
	"flag"
	"io"
	"os"
	"testing"

	"gotest.tools/v3/assert"
	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/apimachinery/pkg/util/yaml"
	"k8s.io/client-go/kubernetes/scheme"
)

// The manifest is read strictly with the types of Kubernetes: no field is unknown or double; and so are the flags.
func TestManifest_IsWhatKubernetesReads(t *testing.T) {
	text, err := os.ReadFile("deployment.yaml")
	assert.NilError(t, err)
	decoder := serializer.NewCodecFactory(scheme.Scheme, serializer.EnableStrict).UniversalDeserializer()
	documents := yaml.NewDocumentDecoder(io.NopCloser(bytes.NewReader(text)))
	kinds := map[string]int{}
	buffer := make([]byte, len(text))
	for {
		n, err := documents.Read(buffer)
		if err == io.EOF {
			break
		}
		assert.NilError(t, err)
		o, kind, err := decoder.Decode(buffer[:n], nil, nil)
		assert.NilError(t, err, "%s", buffer[:n])
		kinds[kind.Kind]++
		if d, is := o.(*appsv1.Deployment); is {
			set, f := flag.NewFlagSet("shim", flag.ContinueOnError), flags{}
			f.register(set)
			assert.NilError(t, set.Parse(d.Spec.Template.Spec.Containers[1].Args))
			assert.Equal(t, set.NArg(), 0)
			_, err := newRESTClient(f.rest, f.caCert, f.tokenFile)
			assert.NilError(t, err)
		}
	}
	assert.DeepEqual(t, kinds, map[string]int{
		"Namespace": 1, "ServiceAccount": 1, "ClusterRole": 1, "ClusterRoleBinding": 1, "Role": 1, "RoleBinding": 1,
		"ConfigMap": 1, "Deployment": 1,
	})
}
