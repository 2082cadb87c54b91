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
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus/promhttp"
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

// scrapePauseFactor is the pause after a scrape as a multiple of its duration: scrapes take a quarter of
// one processor at most.
const scrapePauseFactor = 3

// encodedScrape is a scrape as text. It is shared by its clients.
type encodedScrape struct {
	sections []*section
	bytes    int
	gzipped  func() []byte // compressed; made once, on the first use
}

// pieces yields the text piece by piece.
func (x *encodedScrape) pieces(yield func([]byte) bool) {
	for _, s := range x.sections {
		if !s.pieces(yield) {
			return
		}
	}
}

// scraper makes the scrapes of a cluster, one at a time, and keeps what the next one can use.
type scraper struct {
	m         *Metrics
	cluster   *loop.Cluster
	sizes     map[string]int              // bytes of the sections of the last scrape
	queues    map[string]*partitionQueues // of the last scrape, by partition
	gzipBytes atomic.Int64                // of the last compressed scrape
}

// Handler answers scrapes of a cluster. Scrapes that wait together share one answer, which was begun
// after they came (OBS-64). A partition that does not answer in time is missing, except for its
// counters, which is counted and logged (OBS-63).
func (m *Metrics) Handler(c *loop.Cluster) http.Handler {
	group := &coalesce.Group[*encodedScrape]{Pause: scrapePauseFactor}
	scrapes := &scraper{m: m, cluster: c, sizes: map[string]int{}}
	return promhttp.InstrumentMetricHandler(m.process, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		timeout := scrapeTimeout(r)
		x, err := group.Do(r.Context(),
			func(ctx context.Context) (*encodedScrape, error) { return scrapes.encode(ctx, timeout) })
		if err != nil {
			m.opt.Log.Warn("a scrape failed", zap.Error(err))
			http.Error(w, err.Error(), http.StatusServiceUnavailable)
			return
		}
		m.writeScrape(w, r, x)
	}))
}

// encode makes a scrape.
func (c *scraper) encode(ctx context.Context, timeout time.Duration) (*encodedScrape, error) {
	to := newExposition()
	to.sizes = c.sizes
	s := c.m.takeSnapshots(ctx, c.cluster, timeout)
	s.queues = c.queues
	s.writeWithSlot(ctx, to)
	c.queues = s.queues
	families, err := c.m.process.Gather()
	if err := errors.Join(err, to.add(families)); err != nil {
		return nil, err
	}
	for name, s := range to.sections {
		c.sizes[name] = len(s.text)
	}
	x := &encodedScrape{sections: to.inOrder()}
	for _, s := range x.sections {
		x.bytes += s.bytes()
	}
	x.gzipped = sync.OnceValue(func() []byte {
		text := x.gzip(int(c.gzipBytes.Load()))
		c.gzipBytes.Store(int64(len(text)))
		return text
	})
	return x, ctx.Err()
}

// writeWithSlot is writeAll with a slot for readers, which it releases even after a panic.
func (s *scrape) writeWithSlot(ctx context.Context, to *exposition) {
	to.slot = cpushare.Readers.Acquire(ctx)
	defer to.slot.Release()
	s.writeAll(to)
}

// gzipWriters have the fastest level: compressing must cost little processor time.
var gzipWriters = sync.Pool{New: func() any {
	z, err := gzip.NewWriterLevel(nil, gzip.BestSpeed)
	if err != nil {
		panic("metrics: " + err.Error()) // the level exists
	}
	return z
}}

// gzip compresses a scrape step by step, and yields to the scheduler in between. size is about the size
// of the result.
func (x *encodedScrape) gzip(size int) []byte {
	out := bytes.NewBuffer(make([]byte, 0, size+size/16))
	z, _ := gzipWriters.Get().(*gzip.Writer)
	defer gzipWriters.Put(z)
	z.Reset(out)
	slot := cpushare.Readers.Acquire(context.Background())
	defer slot.Release()
	x.steps(func(step []byte) bool {
		slot.Yield()
		if _, err := z.Write(step); err != nil {
			panic("metrics: " + err.Error()) // a write to a buffer does not fail
		}
		return true
	})
	if err := z.Close(); err != nil {
		panic("metrics: " + err.Error())
	}
	return out.Bytes()
}

// stepBuffers are buffers of stepBytes.
var stepBuffers = sync.Pool{New: func() any { b := make([]byte, 0, stepBytes); return &b }}

// steps yields the text in steps of stepBytes at most. A step is valid until the next one.
func (x *encodedScrape) steps(yield func([]byte) bool) {
	buffer, _ := stepBuffers.Get().(*[]byte)
	defer stepBuffers.Put(buffer)
	text := (*buffer)[:0]
	for piece := range x.pieces {
		for len(piece) > 0 {
			n := min(len(piece), stepBytes-len(text))
			text = append(text, piece[:n]...)
			piece = piece[n:]
			if len(text) < stepBytes {
				continue
			}
			if !yield(text) {
				return
			}
			text = text[:0]
		}
	}
	if len(text) > 0 {
		yield(text)
	}
}

const (
	stepBytes  = 32 << 10 // that are compressed or written at once
	largeBytes = 64 << 10 // a longer answer is a large answer
	textType   = "text/plain; version=0.0.4; charset=utf-8"
)

// writeScrape writes a scrape, compressed if the client accepts gzip (OBS-65).
func (m *Metrics) writeScrape(w http.ResponseWriter, r *http.Request, x *encodedScrape) {
	head := w.Header()
	head.Set("Content-Type", textType)
	head.Add("Vary", "Accept-Encoding")
	if x.bytes > largeBytes {
		host, _, _ := net.SplitHostPort(r.RemoteAddr)
		release, err := m.opt.LargeAnswers.Acquire(r.Context(), host)
		if err != nil {
			head.Set("Retry-After", "1")
			http.Error(w, err.Error(), http.StatusServiceUnavailable)
			return
		}
		defer release()
	}
	write := func(step []byte) bool {
		_, err := w.Write(step)
		return err == nil // else the client has disconnected
	}
	if !httpserver.AcceptsGzip(r) {
		head.Set("Content-Length", strconv.Itoa(x.bytes))
		w.WriteHeader(http.StatusOK)
		x.steps(write)
		return
	}
	head.Set("Content-Encoding", "gzip")
	text := x.gzipped()
	head.Set("Content-Length", strconv.Itoa(len(text)))
	w.WriteHeader(http.StatusOK)
	for step := range slices.Chunk(text, stepBytes) {
		if !write(step) {
			return
		}
	}
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
	snaps    []*scheduler.Snapshot       // of the partitions that have answered
	health   map[string]loop.Health      // of all partitions
	queues   map[string]*partitionQueues // of the last scrape, by partition; then of this one
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
