// Package quota answers what blocks an ask apart from the nodes, and by how much.
//
// It owns the quota side of queues, users and applications: the max and guarantee of each queue and what counts
// in them, the accounts of users and groups with a limit, max applications, class quotas, the one query for the
// constraints of an application, and which queues are above an enforced max. It leaves to package objects the tree
// of queues with its orders, the applications and their asks, and the ledger, which calls the methods that post; it
// knows no partition, no node, no ask and no order. It reads no configuration: the caller passes the settings of
// each queue.
//
// Invariant: what a queue counts is the sum over the asks and allocations of the applications below it.
package quota
