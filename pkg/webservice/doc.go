// Package webservice answers questions about the scheduler over HTTP, in the paths and
// JSON of YuniKorn (behaviour.md 11.2 to 11.4). It decides nothing and changes nothing.
//
// A request asks the loop of a partition for a Snapshot and turns that into JSON; it
// waits no longer than its client does. Lists are in name order, so the same state
// always gives the same bytes. The names of JSON fields are in dao.go and nowhere else.
//
// The rule that must hold: only values that the loop hands out are read, never the Core.
package webservice
