// Package fakerm is a resource manager for tests of both APIs: a callback that records what the scheduler sends, a
// client that offers the scheduler interface over gRPC as it is in process, and the messages that tests send.
//
// It decides nothing: tests set what a callback returns, and compare what was recorded. Clients that measure are in
// internal/lab/bench, and the resource manager that keeps accounts and replays traces is in internal/lab/sim. The rule:
// a test that needs a resource manager over the scheduler interface uses this one.
package fakerm
