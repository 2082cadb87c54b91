package metrics

import (
	"context"
	"errors"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	dto "github.com/prometheus/client_model/go"
	"go.uber.org/zap"
	"google.golang.org/protobuf/proto"

	"github.com/canopy-scheduler/canopy/internal/coalesce"
	"github.com/canopy-scheduler/canopy/internal/loop"
)

// Part has the metrics of one of several schedulers in a process, each with one partition (docs/SCALE.md).
type Part struct {
	Partition string
	Metrics   *Metrics
	Cluster   *loop.Cluster
}

// partitionLabel is the label that all metrics of a partition have.
const partitionLabel = "partition"

// GroupHandler answers scrapes with the metrics of m, which has no partition, and with those of all parts (HAP-17). Metrics of a part without a
// partition get that of the part; what a process has once, such as its log, is that of m. Scrapes that wait together share one answer, as those
// of Handler do. A part whose partition does not answer in time has its counters only, and delays no other: all are asked at once.
func (m *Metrics) GroupHandler(parts func() []Part) http.Handler {
	g := &groupScraper{own: Part{Metrics: m, Cluster: loop.NewCluster(loop.Options{}, nil, nil)}, parts: parts, collectors: map[*Metrics]*collector{}}
	group := &coalesce.Group[[]*dto.MetricFamily]{Pause: scrapePauseFactor}
	return promhttp.InstrumentMetricHandler(m.process, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		timeout := scrapeTimeout(r)
		gather := prometheus.GathererFunc(func() ([]*dto.MetricFamily, error) {
			return group.Do(r.Context(), func(ctx context.Context) ([]*dto.MetricFamily, error) { return g.gather(ctx, timeout) })
		})
		promhttp.HandlerFor(gather, promhttp.HandlerOpts{ErrorLog: scrapeErrors{m.opt.Log}}).ServeHTTP(w, r)
	}))
}

// scrapeErrors logs errors of scrapes. It is a promhttp.Logger.
type scrapeErrors struct{ log *zap.Logger }

// Println logs an error.
func (e scrapeErrors) Println(v ...any) {
	for _, x := range v {
		if err, ok := x.(error); ok {
			e.log.Warn("a scrape failed", zap.Error(err))
		}
	}
}

// groupScraper makes the scrapes of several schedulers.
type groupScraper struct {
	own   Part
	parts func() []Part

	mu         sync.Mutex // one scrape at a time
	collectors map[*Metrics]*collector
}

func (g *groupScraper) gather(ctx context.Context, timeout time.Duration) ([]*dto.MetricFamily, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	process, failed := g.own.Metrics.process.Gather()
	all := map[string]*dto.MetricFamily{}
	for _, f := range process {
		all[f.GetName()] = f
	}
	used := map[*Metrics]*collector{}
	parts := append([]Part{g.own}, g.parts()...)
	families, errs := make([]map[string]*dto.MetricFamily, len(parts)), make([]error, len(parts))
	var gathering sync.WaitGroup
	for i, p := range parts {
		c := g.collectors[p.Metrics]
		if c == nil {
			c = &collector{scraper: scraper{m: p.Metrics, cluster: p.Cluster, sizes: map[string]int{}}}
		}
		used[p.Metrics] = c
		gathering.Go(func() { families[i], errs[i] = c.gather(ctx, timeout) })
	}
	gathering.Wait()
	for i := range parts {
		parts[i].addTo(all, families[i])
	}
	failed = errors.Join(failed, errors.Join(errs...))
	g.collectors = used // those of schedulers that have ended go
	var out []*dto.MetricFamily
	for _, name := range slices.Sorted(maps.Keys(all)) {
		out = append(out, all[name])
	}
	return out, failed
}

// addTo adds the families of p to those of the process.
func (p *Part) addTo(all, families map[string]*dto.MetricFamily) {
	for name, f := range families {
		if p.Partition != "" {
			if isOfProcess(name) {
				continue
			}
			for _, x := range f.Metric {
				p.label(x)
			}
		}
		if known := all[name]; known != nil {
			known.Metric = append(known.Metric, f.Metric...)
		} else {
			all[name] = f
		}
	}
}

// isOfProcess reports whether a family is one that a process has once: its log, its certificate, refused requests, its part in a group.
func isOfProcess(name string) bool {
	for _, prefix := range []string{"canopy_log_", "canopy_tls_", "canopy_access_", "canopy_ha_"} {
		if strings.HasPrefix(name, prefix) {
			return true
		}
	}
	return false
}

// label gives a metric the label of the partition if it has none.
func (p *Part) label(x *dto.Metric) {
	if !slices.ContainsFunc(x.Label, func(l *dto.LabelPair) bool { return l.GetName() == partitionLabel }) {
		x.Label = append(x.Label, &dto.LabelPair{Name: proto.String(partitionLabel), Value: proto.String(p.Partition)})
		slices.SortFunc(x.Label, func(a, b *dto.LabelPair) int { return strings.Compare(a.GetName(), b.GetName()) })
	}
}
