// Package own has end-to-end tests of what the suites of the shim do not look at: why a pod waits, a scheduler that is
// killed, a change of the core on a running cluster, faults, budgets and constraints, the manifests of deploy, the
// shim of kubernetes/shim-grpc, an autoscaler that adds and removes nodes, and gangs beside those of kube-scheduler.
//
// The package owns tests against a control plane of kubernetes/cluster/up.sh with a scheduler of scheduler.sh; own.sh
// and autoscaler.sh run them. It leaves what YuniKorn promises to the suites of the shim.
//
// Invariant: a test leaves no pods behind, and fails when a pod that ran has moved.
package own
