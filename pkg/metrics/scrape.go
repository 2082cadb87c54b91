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
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus/promhttp"
	"go.uber.org/zap"

	"github.com/canopy-scheduler/canopy/internal/coalesce"
	"github.com/canopy-scheduler/canopy/internal/cpushare"
	"github.com/canopy-scheduler/canopy/internal/httpserver"
	"github.com/canopy-scheduler/canopy/internal/loop"
	"github.com/canopy-scheduler/canopy/pkg/scheduler"
)

const (
	timeoutHeader        = "X-Prometheus-Scrape-Timeout-Seconds"
	defaultScrapeTimeout = 8 * time.Second // for partitions, without the header; Prometheus waits 10s by default
	scrapeTimeoutShare   = 0.8             // of the timeout of the client; the rest is for writing the answer
)

// scrapePauseFactor is the pause after a scrape as a multiple of its duration: scrapes take a quarter of
// one processor at most.
const scrapePauseFactor = 3

// encodedScrape is a scrape as text. It is shared by its clients.
type encodedScrape struct {
	parts   [][]byte
	bytes   int
	gzipped func() []byte // compressed; made once, on the first use
}

// Handler answers scrapes of a cluster. Scrapes that wait together share one answer, which was begun
// after they came (OBS-64). A partition that does not answer in time is missing, except for its
// counters, which is counted and logged (OBS-63).
func (m *Metrics) Handler(c *loop.Cluster) http.Handler {
	group := &coalesce.Group[*encodedScrape]{Pause: scrapePauseFactor}
	sizes := map[string]int{} // of the last scrape; the group makes one at a time
	return promhttp.InstrumentMetricHandler(m.process, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		timeout := scrapeTimeout(r)
		x, err := group.Do(r.Context(), func(ctx context.Context) (*encodedScrape, error) { return m.encode(ctx, c, timeout, sizes) })
		if err != nil {
			m.opt.Log.Warn("a scrape failed", zap.Error(err))
			http.Error(w, err.Error(), http.StatusServiceUnavailable)
			return
		}
		m.writeScrape(w, r, x)
	}))
}

// encode makes a scrape. sizes are the sizes of the sections of the last scrape, and are updated.
func (m *Metrics) encode(ctx context.Context, c *loop.Cluster, timeout time.Duration, sizes map[string]int) (*encodedScrape, error) {
	to := newExposition()
	to.sizes = sizes
	m.takeSnapshots(ctx, c, timeout).writeWithSlot(to)
	families, err := m.process.Gather()
	if err := errors.Join(err, to.add(families)); err != nil {
		return nil, err
	}
	for name, s := range to.sections {
		sizes[name] = len(s.text)
	}
	x := &encodedScrape{parts: to.parts()}
	for _, part := range x.parts {
		x.bytes += len(part)
	}
	x.gzipped = sync.OnceValue(x.gzip)
	return x, ctx.Err()
}

// writeWithSlot is writeAll with a slot for readers, which is released also after a panic.
func (s *scrape) writeWithSlot(to *exposition) {
	to.slot = cpushare.Readers.Acquire()
	defer to.slot.Release()
	s.writeAll(to)
}

// gzip compresses a scrape step by step, and yields to the scheduler in between.
func (x *encodedScrape) gzip() []byte {
	var out bytes.Buffer
	z, err := gzip.NewWriterLevel(&out, gzip.BestSpeed)
	if err != nil {
		panic("metrics: " + err.Error()) // the level exists
	}
	slot := cpushare.Readers.Acquire()
	defer slot.Release()
	for _, part := range x.parts {
		for step := range slices.Chunk(part, stepBytes) {
			slot.Yield()
			if _, err := z.Write(step); err != nil {
				panic("metrics: " + err.Error()) // a write to a buffer does not fail
			}
		}
	}
	if err := z.Close(); err != nil {
		panic("metrics: " + err.Error())
	}
	return out.Bytes()
}

const (
	stepBytes  = 32 << 10 // that are compressed or written at once
	largeBytes = 64 << 10 // a longer answer is a large answer
	textType   = "text/plain; version=0.0.4; charset=utf-8"
)

// writeScrape writes a scrape, compressed if the client accepts gzip (OBS-65).
func (m *Metrics) writeScrape(w http.ResponseWriter, r *http.Request, x *encodedScrape) {
	parts, size := x.parts, x.bytes
	head := w.Header()
	head.Set("Content-Type", textType)
	head.Add("Vary", "Accept-Encoding")
	if size > largeBytes {
		host, _, _ := net.SplitHostPort(r.RemoteAddr)
		release, err := m.opt.LargeAnswers.Acquire(r.Context(), host)
		if err != nil {
			head.Set("Retry-After", "1")
			http.Error(w, err.Error(), http.StatusServiceUnavailable)
			return
		}
		defer release()
	}
	if httpserver.AcceptsGzip(r) {
		head.Set("Content-Encoding", "gzip")
		text := x.gzipped()
		parts, size = [][]byte{text}, len(text)
	}
	head.Set("Content-Length", strconv.Itoa(size))
	w.WriteHeader(http.StatusOK)
	for _, part := range parts {
		for step := range slices.Chunk(part, stepBytes) {
			if _, err := w.Write(step); err != nil {
				return // the client has disconnected
			}
		}
	}
}

// scrapeTimeout is how long partitions may take to answer.
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
	snaps    []*scheduler.Snapshot // of the partitions that have answered
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
	s := &scrape{m: m, at: m.opt.Now()}
	for _, snap := range snaps {
		if snap != nil {
			s.snaps = append(s.snaps, snap)
		}
	}
	m.mu.RLock()
	defer m.mu.RUnlock()
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
