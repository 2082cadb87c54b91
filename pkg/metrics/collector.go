package metrics

import (
	"bytes"
	"context"
	"errors"
	"strings"
	"sync"

	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
	"google.golang.org/protobuf/proto"

	"github.com/canopy-scheduler/canopy/internal/server/cpushare"
	"github.com/canopy-scheduler/canopy/internal/server/loop"
)

// Collector returns what Handler serves, for a registry of the embedder, such as the default one of the process
// (OBS-102). The families of Go, of the process and of HTTP scrapes are left out: the registry has its own. It
// describes nothing beforehand, because queues and resources come and go; so a registry does not notice a second one of
// the same names before it gathers.
//
// A collection takes what a scrape takes, and is made for each call. A partition that does not answer in time is
// missing.
func (m *Metrics) Collector(c *loop.Cluster) prometheus.Collector {
	return &collector{scraper: scraper{m: m, cluster: c, sizes: map[string]int{}}}
}

type collector struct {
	scraper scraper
	mu      sync.Mutex // one collection at a time: registries may gather concurrently
}

// Describe sends nothing: the collector is unchecked.
func (*collector) Describe(chan<- *prometheus.Desc) {}

// Collect makes a scrape, and sends its metrics. An error is a metric that fails the gathering, as the client library
// has it.
func (c *collector) Collect(to chan<- prometheus.Metric) {
	c.mu.Lock()
	defer c.mu.Unlock()
	families, err := c.gather()
	if err != nil {
		to <- prometheus.NewInvalidMetric(prometheus.NewInvalidDesc(err), err)
		return
	}
	for name, f := range families {
		for _, m := range f.GetMetric() {
			to <- gathered{prometheus.NewDesc(name, f.GetHelp(), labelNames(m), nil), m}
		}
	}
}

// gather makes a scrape, without the families that every process has.
func (c *collector) gather() (map[string]*dto.MetricFamily, error) {
	x, err := c.scraper.encode(context.Background(), defaultScrapeTimeout)
	if err != nil {
		return nil, err
	}
	slot := cpushare.Readers.Acquire(context.Background())
	defer slot.Release()
	var text bytes.Buffer
	for _, s := range x.sections {
		if !s.ofProcess() {
			s.pieces(func(piece []byte) bool { text.Write(piece); return true })
		}
	}
	parser := expfmt.NewTextParser(model.UTF8Validation)
	return parser.TextToMetricFamilies(&text)
}

// ofProcess reports whether the family is one that the registry of an embedder has by itself.
func (s *section) ofProcess() bool {
	name, _ := strings.CutPrefix(string(s.text[:min(len(s.text), 64)]), "# HELP ")
	for _, prefix := range []string{"go_", "process_", "promhttp_"} {
		if strings.HasPrefix(name, prefix) {
			return true
		}
	}
	return false
}

func labelNames(m *dto.Metric) (names []string) {
	for _, l := range m.GetLabel() {
		names = append(names, l.GetName())
	}
	return names
}

// gathered is a metric with its values.
type gathered struct {
	desc   *prometheus.Desc
	metric *dto.Metric
}

// Desc implements prometheus.Metric.
func (g gathered) Desc() *prometheus.Desc { return g.desc }

// Write implements prometheus.Metric.
func (g gathered) Write(to *dto.Metric) error {
	if to == nil {
		return errors.New("metrics: nothing to write to")
	}
	proto.Merge(to, g.metric)
	return nil
}
