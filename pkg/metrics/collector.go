package metrics

import (
	"context"

	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"
	"google.golang.org/protobuf/proto"

	"github.com/canopy-scheduler/canopy/internal/server/loop"
)

// Collector returns what Handler serves, for a registry of the embedder, such as the default one of the process
// (OBS-102). The families of Go, of the process and of HTTP scrapes are left out: the registry has its own. It
// describes nothing beforehand, because queues and resources come and go; so a registry does not notice a second one of
// the same names before it gathers.
//
// A collection takes what a scrape takes, and is made for each call. A partition that does not answer in time is
// missing.
func (m *Metrics) Collector(c *loop.Cluster) prometheus.Collector { return collector{m, c} }

type collector struct {
	metrics *Metrics
	cluster *loop.Cluster
}

// Describe sends nothing: the collector is unchecked.
func (collector) Describe(chan<- *prometheus.Desc) {}

// Collect gathers, and sends the metrics. An error is a metric that fails the gathering of the registry.
func (c collector) Collect(to chan<- prometheus.Metric) {
	families, err := c.metrics.gather(context.Background(), c.cluster, defaultScrapeTimeout)
	if err != nil {
		to <- prometheus.NewInvalidMetric(prometheus.NewInvalidDesc(err), err)
	}
	for _, f := range families {
		var labels []string
		for _, l := range f.Metric[0].Label { // a family without a metric is not gathered
			labels = append(labels, l.GetName())
		}
		desc := prometheus.NewDesc(f.GetName(), f.GetHelp(), labels, nil)
		for _, m := range f.Metric {
			to <- gathered{desc, m}
		}
	}
}

// gathered is a metric with its value.
type gathered struct {
	desc   *prometheus.Desc
	metric *dto.Metric
}

// Desc implements prometheus.Metric.
func (g gathered) Desc() *prometheus.Desc { return g.desc }

// Write implements prometheus.Metric.
func (g gathered) Write(to *dto.Metric) error {
	proto.Merge(to, g.metric)
	return nil
}
