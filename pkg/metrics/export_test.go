package metrics

import "github.com/prometheus/client_golang/prometheus"

// ScrapeTimeout is scrapeTimeout for tests.
var ScrapeTimeout = scrapeTimeout

// Register adds a collector to the families of the process.
func (m *Metrics) Register(c prometheus.Collector) { m.process.MustRegister(c) }
