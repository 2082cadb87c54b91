// Package etcd is the store of package spread in etcd.
//
// It owns the keys PREFIX/members/NAME, each bound to a lease of its process, PREFIX/assignment and PREFIX/proposal, the form of their values,
// and the transactions. It leaves what they mean to package spread, and the connection to its caller. The leader's key PREFIX/leader is that of
// the group's election (internal/election/etcd); the history of configurations, of which the number of the latest generation is read, is that
// of internal/etcdstore.
//
// Invariant: an assignment is written only while the leader's key has the epoch of the coordinator, and only after the one that it was
// computed from.
package etcd
