package main

import (
	"bytes"
	"io"
	"os"
	"testing"

	"gotest.tools/v3/assert"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/apimachinery/pkg/util/yaml"
	"k8s.io/client-go/kubernetes/scheme"
)

// The manifest is read strictly with the types of Kubernetes: no field is unknown or double.
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
		_, kind, err := decoder.Decode(buffer[:n], nil, nil)
		assert.NilError(t, err, "%s", buffer[:n])
		kinds[kind.Kind]++
	}
	assert.DeepEqual(t, kinds, map[string]int{
		"Namespace": 1, "ServiceAccount": 1, "ClusterRole": 1, "ClusterRoleBinding": 1, "ConfigMap": 1, "Deployment": 1,
	})
}
