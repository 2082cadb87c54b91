// Package chaos tests the Core with a resource manager that confirms preemptions late, twice, in the
// wrong order, with other termination types or never, while nodes, applications and the configuration
// change. Then the faults stop, and the partition must become idle. The package has only tests.
//
// A shim over gRPC (shim_test.go) loses streams and messages, sends them twice, and recovers a core that
// is restarted at any time, while nodes fail: the accounts of both must be the same in the end.
//
// Whether the right victims are chosen is tested by package internal/testing/twin. The invariants here hold for
// any victims: see invariants_test.go.
//
// The resource manager has its own accounting, from the messages it sent and received, and never reads
// the state of the Core for it.
package chaos
