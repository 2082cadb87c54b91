package metrics

import (
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	dto "github.com/prometheus/client_model/go"
	"go.uber.org/zap"
	"google.golang.org/protobuf/proto"

	"github.com/canopy-scheduler/canopy/internal/server/forecast"
	"github.com/canopy-scheduler/canopy/internal/server/history"
	"github.com/canopy-scheduler/canopy/internal/server/httpserver"
	"github.com/canopy-scheduler/canopy/pkg/scheduler"
)

// Options are the sources of Metrics. The zero value is valid.
type Options struct {
	Now     func() time.Time // the clock of the partitions; nil: time.Now
	Log     *zap.Logger      // nil: none
	History *history.History // the event history; nil: without its families

	HTTP *httpserver.Counts // of the HTTP servers; nil: without their families
}

// Metrics counts the effects of partitions and serves scrapes. It is safe for concurrent use.
type Metrics struct {
	opt        Options
	process    *prometheus.Registry // families of Go, of the process and of scrapes
	measured   *prometheus.Registry // runs
	runs       *prometheus.HistogramVec
	rmSource   func() RM                                   // nil: without families of resource managers
	healthy    func() bool                                 // nil: without the family of health
	security   func() Security                             // nil: without families of access
	forecasts  func(partition string) forecast.Calibration // nil: without families of expected starts
	recordings func(partition string) uint64               // steps that were not recorded; nil: nothing is recorded
	ha         func() HA                                   // nil: without families of a group
	config     func() Config                               // nil: without families of the configuration
	// lines of the log, since the start; nil: without their families
	logLines func() (dropped, omitted int64)

	mu       sync.Mutex
	counters map[string]*partitionCounters // by partition; removed partitions stay
}

// New returns Metrics without counts. They use no global registry, so several are independent.
func New(opt Options) *Metrics {
	if opt.Now == nil {
		opt.Now = time.Now
	}
	if opt.Log == nil {
		opt.Log = zap.NewNop()
	}
	m := &Metrics{opt: opt, process: prometheus.NewRegistry(), measured: prometheus.NewRegistry(),
		counters: map[string]*partitionCounters{}}
	m.runs = prometheus.NewHistogramVec(prometheus.HistogramOpts{
		Name: decisionRunsName, Help: "Duration of a run of scheduling decisions.",
		Buckets: prometheus.ExponentialBuckets(1e-6, 4, 12),
	}, []string{"partition"})
	m.measured.MustRegister(m.runs)
	m.process.MustRegister(collectors.NewGoCollector(),
		collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	return m
}

// SetLogSource sets the source of the numbers of dropped and omitted log lines since the start. It must
// be called before the first scrape.
func (m *Metrics) SetLogSource(lines func() (dropped, omitted int64)) { m.logLines = lines }

// OnEffects counts effects of a partition. For one partition it must not be called concurrently. It does
// not wait for scrapes, except while they copy some counters.
func (m *Metrics) OnEffects(partition string, effects []scheduler.Effect) {
	t := m.countersOf(partition)
	for _, e := range effects {
		t.count(e)
	}
}

// decisionRunsName is the name of a histogram with buckets from 1 microsecond, about a decision, to 4 seconds (OBS-67).
const decisionRunsName = "canopy_decision_run_seconds"

// latencyName is YuniKorn's name of the same histogram, for its dashboards. It is one of seconds in spite of its end.
const latencyName = "yunikorn_scheduler_scheduling_latency_milliseconds"

// DecisionMeter returns the function that records the durations of runs of decisions of a partition. It
// is a loop.Options.DecisionMeter: it does not allocate memory and does not block.
func (m *Metrics) DecisionMeter(partition string) func(took time.Duration) {
	h := m.runs.WithLabelValues(partition)
	return func(took time.Duration) { h.Observe(took.Seconds()) }
}

// gatherRuns returns the families of the histogram of runs, none before the first DecisionMeter.
func (m *Metrics) gatherRuns() ([]*dto.MetricFamily, error) {
	families, err := m.measured.Gather()
	for _, f := range families {
		families = append(families, &dto.MetricFamily{Name: proto.String(latencyName), Type: f.Type, Metric: f.Metric,
			Help: proto.String("Duration of a run of scheduling decisions in seconds, as YuniKorn has it: the same as " +
				decisionRunsName + ".")})
	}
	return families, err
}

// countersOf returns the counters of a partition, which may be new.
func (m *Metrics) countersOf(partition string) *partitionCounters {
	m.mu.Lock()
	defer m.mu.Unlock()
	t := m.counters[partition]
	if t == nil {
		t = &partitionCounters{}
		m.counters[partition] = t
	}
	return t
}
