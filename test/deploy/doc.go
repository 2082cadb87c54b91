// Package deploy tests what is in the directory deploy for Kubernetes: the manifests, the values for YuniKorn's chart
// and the Dockerfile.
//
// The package owns a module of its own, because kustomize, the types of Kubernetes and the parser of Dockerfiles are
// many downloads. It leaves the alert rules and the dashboard to "make test-prometheus".
//
// Invariant: nothing here needs a cluster, a registry or a container engine.
package deploy
