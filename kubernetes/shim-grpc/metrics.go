package main

import (
	"fmt"
	"net/http"
	"sync/atomic"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"
	"github.com/prometheus/client_golang/prometheus/promhttp"
)

// metrics holds the counters of the shim. /metrics of --metrics-address serves them.
type metrics struct {
	registry *prometheus.Registry
	sessions prometheus.Counter
	pods     *prometheus.GaugeVec
	calls    *prometheus.CounterVec
	binding  prometheus.Histogram
	leader   prometheus.Gauge
	ready    atomic.Bool // the scheduler knows the cluster, or another replica leads
}

func newMetrics() *metrics {
	registry := prometheus.NewRegistry()
	factory := promauto.With(registry)
	return &metrics{
		registry: registry,
		sessions: factory.NewCounter(prometheus.CounterOpts{Name: "canopy_shim_sessions_total",
			Help: "Registrations with the scheduler that were tried."}),
		pods: factory.NewGaugeVec(prometheus.GaugeOpts{Name: "canopy_shim_pods",
			Help: "Pods that the scheduler was told of: asked, placed (not bound yet), or reported as running."},
			[]string{"state"}),
		calls: factory.NewCounterVec(prometheus.CounterOpts{Name: "canopy_shim_api_calls_total",
			Help: "Calls of the API server: ok, refused, or retried, which had no answer and was made again."},
			[]string{"call", "outcome"}),
		binding: factory.NewHistogram(prometheus.HistogramOpts{Name: "canopy_shim_binding_seconds",
			Help:    "Time from a decision of the scheduler until the API server has bound the pod.",
			Buckets: prometheus.ExponentialBuckets(0.001, 2, 16)}),
		leader: factory.NewGauge(prometheus.GaugeOpts{Name: "canopy_shim_leader",
			Help: "1: this replica schedules; 0: another one does."}),
	}
}

// count moves a pod from one state to another.
func (m *metrics) count(from, to state) {
	for s, step := range map[state]float64{from: -1, to: 1} {
		if from != to && s != unknown {
			m.pods.WithLabelValues(s.String()).Add(step)
		}
	}
}

// handler serves /metrics; /healthz, which says that the process answers; and /readyz.
func (m *metrics) handler() http.Handler {
	mux := http.NewServeMux()
	mux.Handle("GET /metrics", promhttp.HandlerFor(m.registry, promhttp.HandlerOpts{}))
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) { fmt.Fprintln(w, "ok") })
	mux.HandleFunc("GET /readyz", func(w http.ResponseWriter, _ *http.Request) {
		if !m.ready.Load() {
			w.WriteHeader(http.StatusServiceUnavailable)
		}
		fmt.Fprintln(w, "the scheduler knows the cluster, or another replica leads:", m.ready.Load())
	})
	return mux
}
