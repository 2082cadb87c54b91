// Package election elects one leader of a group of members by a lease in a store, and says until when the leader may
// answer.
//
// It owns the arithmetic of terms (Term), what a member asks of the store and when (Candidate), and the loop that
// carries that out (Campaign). Term and Candidate know no clock, no goroutine and no store: they are given the time and
// the answers, so a simulation can try delays, partitions of the network, pauses and clocks of different rates
// (ADR 81). The package leaves the store to internal/ha/election/etcd, and what a leader does to pkg/canopy.
//
// Invariant: at no time may two members send, and the epoch of a later term is higher.
package election
