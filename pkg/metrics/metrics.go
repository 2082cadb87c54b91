package metrics

import (
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"go.uber.org/zap"

	"github.com/canopy-scheduler/canopy/internal/history"
	"github.com/canopy-scheduler/canopy/internal/httpserver"
	"github.com/canopy-scheduler/canopy/pkg/scheduler"
)

// Options say where Metrics look. The zero value is good.
type Options struct {
	Now     func() time.Time // the clock of the partitions; nil: time.Now
	Log     *zap.Logger      // nil: none
	History *history.History // what keeps events; nil: nothing is said of them

	HTTP         *httpserver.Counts          // of the HTTP servers; nil: nothing is said of them
	LargeAnswers *httpserver.ResponseLimiter // bounds the large answers at the same time; nil: nothing does
}

// Metrics counts what partitions say. It is safe for concurrent use.
type Metrics struct {
	opt      Options
	process  *prometheus.Registry // Go, the process, scrapes themselves, and runs
	runs     *prometheus.HistogramVec
	rmSource func() RM                       // nil: nothing is said of resource managers
	logLines func() (dropped, omitted int64) // of the log, since the start; nil: nothing is said of them

	mu       sync.RWMutex
	counters map[string]*partitionCounters // by partition; those that are gone stay
}

// New returns Metrics that have heard nothing. Nothing global is used: two do not know each
// other.
func New(opt Options) *Metrics {
	if opt.Now == nil {
		opt.Now = time.Now
	}
	if opt.Log == nil {
		opt.Log = zap.NewNop()
	}
	m := &Metrics{opt: opt, process: prometheus.NewRegistry(), counters: map[string]*partitionCounters{}}
	m.runs = prometheus.NewHistogramVec(prometheus.HistogramOpts{
		Name: decisionRunsName, Help: "Duration of a run of scheduling decisions.", Buckets: prometheus.ExponentialBuckets(1e-6, 4, 12),
	}, []string{"partition"})
	m.process.MustRegister(m.runs, collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	return m
}

// SetLogSource has scrapes say how many log lines were dropped and omitted since the start. It must
// be called before the first scrape.
func (m *Metrics) SetLogSource(lines func() (dropped, omitted int64)) { m.logLines = lines }

// OnEffects counts what a partition has said. Of one partition it may be called by one goroutine at
// a time only. It waits for nobody who scrapes longer than it takes to copy some numbers.
func (m *Metrics) OnEffects(partition string, effects []scheduler.Effect) {
	t := m.countersOf(partition)
	for _, e := range effects {
		t.count(e)
	}
}

// decisionRunsName is a histogram. Its buckets go from a microsecond, a decision or two, to four seconds.
const decisionRunsName = "canopy_decision_run_seconds"

// DecisionMeter returns what is told how long the runs of decisions of a partition took. It is a
// loop.Options.DecisionMeter: it makes no garbage, and waits for nobody.
func (m *Metrics) DecisionMeter(partition string) func(took time.Duration) {
	h := m.runs.WithLabelValues(partition)
	return func(took time.Duration) { h.Observe(took.Seconds()) }
}

// countersOf is that of a partition, which may be new.
func (m *Metrics) countersOf(partition string) *partitionCounters {
	m.mu.RLock()
	t := m.counters[partition]
	m.mu.RUnlock()
	if t != nil {
		return t
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if t = m.counters[partition]; t == nil {
		t = &partitionCounters{}
		m.counters[partition] = t
	}
	return t
}
