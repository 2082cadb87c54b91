// Package shim pins a released yunikorn-k8shim, the shim of YuniKorn for Kubernetes, to be built with Canopy as its
// core.
//
// The package owns the versions in its go.mod: those of the shim's own go.mod, except where Canopy needs later ones.
// The shim before it is in shim-1.8.mod, for "make kubernetes SHIM_VERSION=1.8". The package leaves the core to
// kubernetes/yunikorn-core, and has no code but a test of both together: "make kubernetes" builds the program of the
// shim, and "make test-shim" runs that test and the shim's unit tests.
//
// Invariant: go.sum and shim-1.8.sum have all that the shim's programs, its unit tests and its end-to-end tests need,
// so that no build changes them.
package shim
