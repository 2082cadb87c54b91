// Package etcd is the store of an election in etcd.
//
// It owns the connection to etcd, the keys and what the requests of an election are there. It leaves when they are
// made, and what their answers mean, to internal/ha/election. The leader's key is PREFIX/leader: a JSON text with the
// name and the addresses of the leader, bound to its lease; its create revision is the epoch.
//
// Invariant: a request is sent to etcd not before Do is called.
package etcd
