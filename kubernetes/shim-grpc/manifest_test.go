package main

import (
	"flag"
	"os"
	"testing"

	"gotest.tools/v3/assert"
	appsv1 "k8s.io/api/apps/v1"
	"sigs.k8s.io/yaml"
)

// The arguments of the shim in deploy/kubernetes are flags that it has, with values that it takes.
func TestManifest_HasFlagsOfTheShim(t *testing.T) {
	text, err := os.ReadFile("../../deploy/kubernetes/native/deployment.yaml")
	assert.NilError(t, err)
	var d appsv1.Deployment
	assert.NilError(t, yaml.UnmarshalStrict(text, &d))
	set, f := flag.NewFlagSet("shim", flag.ContinueOnError), flags{}
	f.register(set)
	assert.NilError(t, set.Parse(d.Spec.Template.Spec.Containers[1].Args))
	assert.Equal(t, set.NArg(), 0)
	_, err = newRESTClient(f.rest, f.caCert, f.tokenFile)
	assert.NilError(t, err)
}
