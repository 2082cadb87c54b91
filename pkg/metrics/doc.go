// Package metrics serves the metrics of the scheduler to Prometheus.
//
// It has two sources. It counts the effects of the partitions, which are delivered to it as to package
// history; and for a scrape it requests one Snapshot of each partition for the gauges (OBS-62). The core
// does not know of metrics, and what is in neither effects nor snapshots has no metric. Names are those
// of YuniKorn if it has the metric, and begin with canopy if not (OBS-60).
//
// The client library of Prometheus encodes a scrape, and measures the process. This package makes the metrics of each
// scrape anew, for the HTTP handler and for the registry of an embedder.
//
// The rule that must hold: labels are partitions, queues, resources and words from lists in this
// package, never the name of an ask, an application, a user or a node (OBS-61).
package metrics
