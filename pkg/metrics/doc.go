// Package metrics serves the metrics of the scheduler to Prometheus.
//
// It has two sources. It counts the effects of the partitions, which are delivered to it as to package
// history; and for a scrape it requests one Snapshot of each partition for the gauges (OBS-62). The core
// does not know of metrics, and what is in neither effects nor snapshots has no metric. Names are those
// of YuniKorn if it has the metric, and begin with canopy if not (OBS-60).
//
// A scraper keeps the text of the values of queues for the next scrape, as much as is in one scrape (OBS-91).
//
// The rule that must hold: labels are partitions, queues, resources and words from lists in this
// package, never the name of an ask, an application, a user or a node (OBS-61).
package metrics
