// Package original pins a released yunikorn-k8shim with the core of YuniKorn itself: what Canopy in the shim is
// compared with.
//
// The package owns the versions in its go.mod: those of kubernetes/shim, except for the core. It has no code:
// kubernetes/cluster builds the original's program and the shim's end-to-end suites from here, so that the suites
// decode answers of REST with the types of the original.
//
// Invariant: go.sum has all that the shim's program and its end-to-end suites need, so that no build changes it.
package original
