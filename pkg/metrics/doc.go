// Package metrics shows the scheduler to Prometheus: counters of what the partitions have
// said, and gauges of what they are when somebody asks.
//
// It has two sources. It hears effects where they are told, beside history, and counts them.
// For a scrape it asks each partition for one Snapshot. The core does not know that it is
// measured, and what neither effects nor snapshots say is not here. Names are those of
// YuniKorn where it has one (behaviour.md 11.6), and begin with canopy where it has none.
//
// The rule that must hold: labels are partitions, queues, resources and words from lists in
// this package. No name of an ask, an application, a user or a node is ever one.
package metrics
