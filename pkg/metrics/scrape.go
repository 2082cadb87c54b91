package metrics

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"maps"
	"net"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus/promhttp"
	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"go.uber.org/zap"

	"github.com/canopy-scheduler/canopy/internal/server/coalesce"
	"github.com/canopy-scheduler/canopy/internal/server/cpushare"
	"github.com/canopy-scheduler/canopy/internal/server/httpserver"
	"github.com/canopy-scheduler/canopy/internal/server/loop"
	"github.com/canopy-scheduler/canopy/pkg/scheduler"
)

const (
	timeoutHeader        = "X-Prometheus-Scrape-Timeout-Seconds"
	defaultScrapeTimeout = 8 * time.Second // for partitions, without the header; Prometheus waits 10s by default
	scrapeTimeoutShare   = 0.8             // of the timeout of the client; the rest is for writing the answer
)

// gatherPauseFactor is the pause after a gathering as a multiple of its duration: gatherings take a quarter of
// one processor at most.
const gatherPauseFactor = 3

// maxScrapes bounds the scrapes at the same time, and so the memory of gatherings whose clients are slow (OBS-65).
const maxScrapes = 4

// Handler answers scrapes of a cluster. Scrapes that wait together share one gathering, which was begun after they
// came (OBS-64). A partition that does not answer in time is missing, except for its counters, which is counted and
// logged (OBS-63).
func (m *Metrics) Handler(c *loop.Cluster) http.Handler {
	group := &coalesce.Group[encoded]{Pause: gatherPauseFactor}
	limiter := httpserver.NewResponseLimiter(maxScrapes, new(httpserver.Counts))
	answer := func(w http.ResponseWriter, r *http.Request) error {
		timeout := scrapeTimeout(r)
		scrape, err := group.Do(r.Context(), func(ctx context.Context) (encoded, error) {
			families, err := m.gather(ctx, c, timeout)
			process, processErr := m.process.Gather()
			families = append(families, process...)
			slices.SortFunc(families, func(a, b *dto.MetricFamily) int { return strings.Compare(a.GetName(), b.GetName()) })
			scrape, encodeErr := encode(ctx, families)
			return scrape, errors.Join(err, processErr, encodeErr, ctx.Err())
		})
		if err != nil {
			return err
		}
		host, _, _ := net.SplitHostPort(r.RemoteAddr)
		release, err := limiter.Acquire(r.Context(), host)
		if err != nil {
			return err
		}
		defer release()
		send(w, r, scrape)
		return nil
	}
	return promhttp.InstrumentMetricHandler(m.process, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if err := answer(w, r); err != nil {
			m.opt.Log.Warn("a scrape failed", zap.Error(err))
			w.Header().Set("Retry-After", "1")
			http.Error(w, err.Error(), http.StatusServiceUnavailable)
		}
	}))
}

// textFormat names the text format, version 0.0.4, with UTF-8.
var textFormat = expfmt.NewFormat(expfmt.TypeTextPlain)

// encoded is a scrape as text, and compressed.
type encoded struct{ text, gzipped []byte }

// encode writes families in the text format, and compresses them at the fastest level.
func encode(ctx context.Context, families []*dto.MetricFamily) (out encoded, err error) {
	slot := cpushare.Readers.Acquire(ctx)
	defer slot.Release()
	var text, gzipped bytes.Buffer
	z, _ := gzip.NewWriterLevel(&gzipped, gzip.BestSpeed)
	done := 0
	for _, f := range families {
		slot.Yield()
		if _, err := expfmt.MetricFamilyToText(&text, f); err != nil {
			return out, err
		}
		for ; text.Len()-done >= stepBytes; done += stepBytes {
			slot.Yield()
			z.Write(text.Bytes()[done : done+stepBytes]) // to memory, which takes all
		}
	}
	z.Write(text.Bytes()[done:])
	err = z.Close()
	return encoded{text.Bytes(), gzipped.Bytes()}, err
}

// stepBytes are compressed, and written, at once.
const stepBytes = 64 << 10

// send answers with a scrape, which clients share (OBS-65).
func send(w http.ResponseWriter, r *http.Request, scrape encoded) {
	w.Header().Set("Content-Type", string(textFormat))
	w.Header().Set("Vary", "Accept-Encoding")
	body := scrape.text
	if acceptsGzip(r.Header.Get("Accept-Encoding")) {
		w.Header().Set("Content-Encoding", "gzip")
		body = scrape.gzipped
	}
	for step := range slices.Chunk(body, stepBytes) {
		if _, err := w.Write(step); err != nil {
			return // the client has left
		}
	}
}

// acceptsGzip reports whether a header Accept-Encoding names gzip without refusing it (RFC 9110, 12.5.3).
func acceptsGzip(header string) bool {
	for coding := range strings.SplitSeq(header, ",") {
		name, parameters, _ := strings.Cut(coding, ";")
		if strings.EqualFold(strings.TrimSpace(name), "gzip") {
			weight := strings.TrimSpace(parameters)
			return !strings.HasPrefix(weight, "q=0") || strings.Trim(weight, "q=0.") != ""
		}
	}
	return false
}

// gather returns the families of the scheduler, in no order.
func (m *Metrics) gather(ctx context.Context, c *loop.Cluster, timeout time.Duration) ([]*dto.MetricFamily, error) {
	s := m.takeSnapshots(ctx, c, timeout)
	runs, err := m.gatherRuns()
	slot := cpushare.Readers.Acquire(ctx)
	defer slot.Release()
	to := newGathering(slot)
	s.writeAll(to)
	return slices.AppendSeq(runs, maps.Values(to.families)), err
}

// scrapeTimeout returns how long partitions may take to answer.
func scrapeTimeout(r *http.Request) time.Duration {
	seconds, err := strconv.ParseFloat(r.Header.Get(timeoutHeader), 64)
	if err != nil || !(seconds > 0) || seconds > time.Hour.Seconds() {
		return defaultScrapeTimeout
	}
	return time.Duration(scrapeTimeoutShare * seconds * float64(time.Second))
}

// scrape has the sources of one scrape.
type scrape struct {
	m        *Metrics
	at       time.Time
	counters map[string]*partitionCounters
	snaps    []*scheduler.Snapshot  // of the partitions that have answered
	health   map[string]loop.Health // of all partitions
}

// takeSnapshots requests the snapshots of all partitions concurrently, so that a partition that does
// not answer does not use up the time of the others.
func (m *Metrics) takeSnapshots(ctx context.Context, c *loop.Cluster, timeout time.Duration) *scrape {
	ctx, done := context.WithTimeout(ctx, timeout)
	defer done()
	names := c.Partitions()
	snaps := make([]*scheduler.Snapshot, len(names))
	var all sync.WaitGroup
	for i, name := range names {
		all.Go(func() { snaps[i] = m.snapshot(ctx, c, name) })
	}
	all.Wait()
	s := &scrape{m: m, at: m.opt.Now(), health: healthOf(c)}
	for _, snap := range snaps {
		if snap != nil {
			s.snaps = append(s.snaps, snap)
		}
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	s.counters = maps.Clone(m.counters)
	return s
}

// snapshot returns the snapshot of a partition; nil: it was removed, or does not answer.
func (m *Metrics) snapshot(ctx context.Context, c *loop.Cluster, name string) *scheduler.Snapshot {
	l, ok := c.Partition(name)
	if !ok {
		return nil
	}
	t := m.countersOf(name) // also for a partition without effects yet
	snap, err := l.Snapshot(ctx)
	if err == nil {
		return snap
	}
	if _, configured := c.Partition(name); errors.Is(err, loop.ErrEnded) && !configured {
		return nil
	}
	t.scrapesMissed.Add(1)
	m.opt.Log.Warn("a partition is missing from a scrape", zap.String("partition", name), zap.Error(err))
	return nil
}
