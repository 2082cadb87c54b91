package httpserver

import (
	"context"
	"errors"
	"sync"
	"time"
)

// ErrBusy is returned when too many large answers are being written.
var ErrBusy = errors.New("too many large answers at the same time; try again later")

// Gate bounds the large answers that are written at the same time, in all and for one client
// host. The others wait for a moment in the order in which they came. The nil Gate has no bound.
// It is safe for concurrent use.
type Gate struct {
	most    int // answers at the same time
	perHost int // of them, for one host
	waits   int // that may wait
	patient time.Duration
	counts  *Counts

	mu     sync.Mutex
	inside int
	hosts  map[string]int
	queue  []*waiting
}

// waiting is an answer that has no place yet.
type waiting struct {
	host  string
	ready chan struct{} // closed when it has one
}

// How many large answers may wait for each that is written, and how long.
const (
	waitersPerAnswer = 4
	gatePatience     = 5 * time.Second
)

// NewGate returns a Gate for so many large answers, at least 1. One host has at most three
// quarters of them, so that readers of one host that read slowly do not keep away all others.
func NewGate(most int, counts *Counts) *Gate {
	most = max(most, 1)
	return &Gate{
		most: most, perHost: max(1, most*3/4), waits: most * waitersPerAnswer, patient: gatePatience,
		counts: counts, hosts: map[string]int{},
	}
}

// Enter waits for a place and returns how to give it back. It fails with ErrBusy when there is
// none in time, and with the error of ctx.
func (g *Gate) Enter(ctx context.Context, host string) (leave func(), err error) {
	if g == nil {
		return func() {}, nil
	}
	leave = sync.OnceFunc(func() { g.leave(host) })
	g.mu.Lock()
	if g.fits(host) {
		g.take(host)
		g.mu.Unlock()
		return leave, nil
	}
	if len(g.queue) >= g.waits {
		g.mu.Unlock()
		g.counts.LargeRefused.Add(1)
		return nil, ErrBusy
	}
	w := &waiting{host, make(chan struct{})}
	g.queue = append(g.queue, w)
	g.mu.Unlock()
	timeout := time.NewTimer(g.patient)
	defer timeout.Stop()
	select {
	case <-w.ready:
		return leave, nil
	case <-timeout.C:
		err = ErrBusy
	case <-ctx.Done():
		err = ctx.Err()
	}
	if g.withdraw(w) {
		if errors.Is(err, ErrBusy) {
			g.counts.LargeRefused.Add(1)
		}
		return nil, err
	}
	return leave, nil // it got its place just now
}

// fits reports whether an answer for host may begin. Requires: g.mu is held.
func (g *Gate) fits(host string) bool { return g.inside < g.most && g.hosts[host] < g.perHost }

// take requires: g.mu is held, and g.fits(host).
func (g *Gate) take(host string) {
	g.inside++
	g.hosts[host]++
	g.counts.LargeAnswers.Add(1)
}

func (g *Gate) leave(host string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.inside--
	g.counts.LargeAnswers.Add(-1)
	if g.hosts[host]--; g.hosts[host] == 0 {
		delete(g.hosts, host)
	}
	rest := g.queue[:0]
	for _, w := range g.queue {
		if !g.fits(w.host) {
			rest = append(rest, w)
			continue
		}
		g.take(w.host)
		close(w.ready)
	}
	clear(g.queue[len(rest):])
	g.queue = rest
}

// withdraw takes w out of the queue; false: it has its place already.
func (g *Gate) withdraw(w *waiting) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	for i, other := range g.queue {
		if other == w {
			g.queue = append(g.queue[:i], g.queue[i+1:]...)
			return true
		}
	}
	return false
}
