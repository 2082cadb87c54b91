// Package webservice is the REST interface of the scheduler, in the paths and JSON of YuniKorn. Handler only reads.
// Admin, on a listener of its own, also changes the configuration and ends registrations of resource managers, through
// internal/server/reload and ResourceManagers; this package decides nothing itself.
//
// The route table (route_table.go) has every path with its handler, its parameters and the type of its answer. A
// request takes a Snapshot of a partition from its loop and makes a body of package dao of it, which is encoded while
// it is sent (answer_writer.go): a dao.List makes its elements one by one. Lists are in name order, so equal states
// give equal bytes, and an ETag spares pollers what has not changed. Nothing that was computed from a snapshot is kept.
//
// The rule that must hold: only values that the loop returns are read, never the Core.
package webservice
