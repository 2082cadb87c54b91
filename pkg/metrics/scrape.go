package metrics

import (
	"context"
	"errors"
	"maps"
	"net/http"
	"strconv"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	"go.uber.org/zap"

	"github.com/canopy-scheduler/canopy/internal/loop"
	"github.com/canopy-scheduler/canopy/pkg/scheduler"
)

const (
	timeoutHeader = "X-Prometheus-Scrape-Timeout-Seconds"
	patience      = 8 * time.Second // for partitions, if the client does not say; Prometheus waits 10s by default
	share         = 0.8             // of what the client waits; the rest is for the answer
)

// Handler answers a scrape of a cluster. A partition that does not answer in time is left out,
// which is counted, and the rest is said.
func (m *Metrics) Handler(c *loop.Cluster) http.Handler {
	opt := promhttp.HandlerOpts{
		ErrorLog: zap.NewStdLog(m.opt.Log), ErrorHandling: promhttp.ContinueOnError, Registry: m.process,
	}
	return promhttp.InstrumentMetricHandler(m.process, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s := m.look(r.Context(), c, patienceOf(r))
		now := prometheus.NewRegistry()
		now.MustRegister(s, usage{s})
		promhttp.HandlerFor(prometheus.Gatherers{m.process, now}, opt).ServeHTTP(w, r)
	}))
}

// patienceOf is how long partitions are waited for.
func patienceOf(r *http.Request) time.Duration {
	seconds, err := strconv.ParseFloat(r.Header.Get(timeoutHeader), 64)
	if err != nil || !(seconds > 0) || seconds > time.Hour.Seconds() {
		return patience
	}
	return time.Duration(share * seconds * float64(time.Second))
}

// scrape is what there is to say at one moment.
type scrape struct {
	m       *Metrics
	at      time.Time
	tallies map[string]*tally
	snaps   []*scheduler.Snapshot // of the partitions that have answered
}

// look asks all partitions at once, so that one that does not answer does not use up the time
// of the others.
func (m *Metrics) look(ctx context.Context, c *loop.Cluster, patience time.Duration) *scrape {
	ctx, done := context.WithTimeout(ctx, patience)
	defer done()
	names := c.Partitions()
	snaps := make([]*scheduler.Snapshot, len(names))
	var all sync.WaitGroup
	for i, name := range names {
		all.Go(func() { snaps[i] = m.ask(ctx, c, name) })
	}
	all.Wait()
	s := &scrape{m: m, at: m.opt.Now()}
	for _, snap := range snaps {
		if snap != nil {
			s.snaps = append(s.snaps, snap)
		}
	}
	m.mu.RLock()
	defer m.mu.RUnlock()
	s.tallies = maps.Clone(m.tallies)
	return s
}

// ask is the state of a partition; nil: it is gone, or does not say.
func (m *Metrics) ask(ctx context.Context, c *loop.Cluster, name string) *scheduler.Snapshot {
	l, ok := c.Partition(name)
	if !ok {
		return nil
	}
	t := m.tally(name) // also of one that has said nothing yet
	snap, err := l.Snapshot(ctx)
	if err == nil {
		return snap
	}
	if _, stays := c.Partition(name); errors.Is(err, loop.ErrEnded) && !stays {
		return nil
	}
	t.scrapesMissed.Add(1)
	m.opt.Log.Warn("a partition is missing from a scrape", zap.String("partition", name), zap.Error(err))
	return nil
}
