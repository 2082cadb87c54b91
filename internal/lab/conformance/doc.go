// Package conformance drives an endpoint of the scheduler interface through named cases and says which it fails, and
// why.
//
// It owns the cases, which are transcripts in cases/, and the client that replays them. It knows nothing of how a
// scheduler decides: other packages of Canopy are used by its tests only. The rule: a case demands what the scheduler
// interface promises to every shim; words of reasons, and what a scheduler may do in more than one way, are not
// compared.
package conformance
