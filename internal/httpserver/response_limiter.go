package httpserver

import (
	"context"
	"errors"
	"sync"
	"time"
)

// ErrBusy is returned when too many large answers are being written.
var ErrBusy = errors.New("too many large answers at the same time; try again later")

// ResponseLimiter bounds the large answers that are written at the same time, in all and for one client
// host. The others wait for a moment in the order in which they came. The nil Gate has no bound.
// It is safe for concurrent use.
type ResponseLimiter struct {
	max         int // answers at the same time
	maxPerHost  int // of them, for one host
	maxWaiting  int // that may wait
	waitTimeout time.Duration
	counts      *Counts

	mu           sync.Mutex
	active       int
	activeByHost map[string]int
	queue        []*waiter
}

// waiter is an answer that has no place yet.
type waiter struct {
	host  string
	ready chan struct{} // closed when it has one
}

// How many large answers may wait for each that is written, and how long.
const (
	waitersPerAnswer   = 4
	largeAnswerTimeout = 5 * time.Second
)

// NewResponseLimiter returns a Gate for so many large answers, at least 1. One host has at most three
// quarters of them, so that readers of one host that read slowly do not keep away all others.
func NewResponseLimiter(limit int, counts *Counts) *ResponseLimiter {
	limit = max(limit, 1)
	return &ResponseLimiter{
		max: limit, maxPerHost: max(1, limit*3/4), maxWaiting: limit * waitersPerAnswer, waitTimeout: largeAnswerTimeout,
		counts: counts, activeByHost: map[string]int{},
	}
}

// Acquire waits for a place and returns how to give it back. It fails with ErrBusy when there is
// none in time, and with the error of ctx.
func (l *ResponseLimiter) Acquire(ctx context.Context, host string) (release func(), err error) {
	if l == nil {
		return func() {}, nil
	}
	release = sync.OnceFunc(func() { l.release(host) })
	l.mu.Lock()
	if l.fits(host) {
		l.take(host)
		l.mu.Unlock()
		return release, nil
	}
	if len(l.queue) >= l.maxWaiting {
		l.mu.Unlock()
		l.counts.LargeRefused.Add(1)
		return nil, ErrBusy
	}
	w := &waiter{host, make(chan struct{})}
	l.queue = append(l.queue, w)
	l.mu.Unlock()
	timeout := time.NewTimer(l.waitTimeout)
	defer timeout.Stop()
	select {
	case <-w.ready:
		return release, nil
	case <-timeout.C:
		err = ErrBusy
	case <-ctx.Done():
		err = ctx.Err()
	}
	if l.withdraw(w) {
		if errors.Is(err, ErrBusy) {
			l.counts.LargeRefused.Add(1)
		}
		return nil, err
	}
	return release, nil // it got its place just now
}

// fits reports whether an answer for host may begin. Requires: g.mu is held.
func (l *ResponseLimiter) fits(host string) bool {
	return l.active < l.max && l.activeByHost[host] < l.maxPerHost
}

// take requires: g.mu is held, and g.fits(host).
func (l *ResponseLimiter) take(host string) {
	l.active++
	l.activeByHost[host]++
	l.counts.LargeAnswers.Add(1)
}

func (l *ResponseLimiter) release(host string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.active--
	l.counts.LargeAnswers.Add(-1)
	if l.activeByHost[host]--; l.activeByHost[host] == 0 {
		delete(l.activeByHost, host)
	}
	remaining := l.queue[:0]
	for _, w := range l.queue {
		if !l.fits(w.host) {
			remaining = append(remaining, w)
			continue
		}
		l.take(w.host)
		close(w.ready)
	}
	clear(l.queue[len(remaining):])
	l.queue = remaining
}

// withdraw takes w out of the queue; false: it has its place already.
func (l *ResponseLimiter) withdraw(w *waiter) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	for i, other := range l.queue {
		if other == w {
			l.queue = append(l.queue[:i], l.queue[i+1:]...)
			return true
		}
	}
	return false
}
