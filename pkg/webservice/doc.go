// Package webservice is the REST interface of the scheduler, in the paths and JSON of YuniKorn.
// Handler only reads. Admin, on a listener of its own, also changes the configuration and ends
// registrations of resource managers, through internal/server/reload and ResourceManagers; this package
// decides nothing itself.
//
// A request takes a Snapshot of a partition from its loop and turns it into JSON; it waits no
// longer than its client does. Lists are in name order, so equal states give equal bytes. JSON
// names are in package dao and in the files *_json.go; bodies with a single user are beside their handler.
//
// What was computed from a snapshot is kept for the next one, in a snapshotCache for each list or tree: one
// value for each partition. Kept texts are bounded by Options.CacheBytes; usages have one entry for each
// queue, and for each user and group in it.
//
// Objects of which an answer may have thousands are written by jsonText, others by encoding/json. Buffers of
// answers are in pools, at most 64 KiB each, and so are compressors, of 1 MB each.
//
// The rule that must hold: only values that the loop returns are read, never the Core.
package webservice
