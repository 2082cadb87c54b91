// Package hints is the gRPC service canopy.v1.Hints: it tells a resource manager why its asks wait (RMI-85), for which
// the scheduler interface has no message. It owns what is sent and when, the bounds of that, and how explanations
// become messages; package canopyv1 has the messages. It does not know which resource manager is registered: a Source
// has its waiting states.
//
// The invariant: a stream costs decisions nothing but the states that it has not sent yet, one for each ask, and a
// bounded number of explanations a second.
package hints
