// Package etcdstore keeps in etcd what a leader must find that was elected after another one: the history of
// configurations (Store, a sibling of reload.Disk) and what operators have switched (Operators). It also reads which
// groups share a prefix (Leaders).
//
// It owns the keys, the form of their values, and the transactions. The texts inside the values are those of the
// packages reload and operators; elections and the leader's key belong to package election, and whether a member may
// still answer is decided there.
//
// The rule that must hold: each write is one transaction that compares the create revision of the leader's key with the
// epoch of the term, and the mod revision of a key that each write changes. So nothing is written for a term that has
// ended, and a write that etcd gets late is not applied after a later one (HAS-2, HAS-3).
//
// Each call is bounded by Options.Timeout, after those before it. Nothing here is on the path of a decision.
package etcdstore
