package httpserver

import (
	"context"
	"errors"
	"sync"
	"time"
)

// ErrBusy is returned when too many large responses are being written.
var ErrBusy = errors.New("too many large answers at the same time; try again later")

// ResponseLimiter bounds the large responses that are written at the same time, in total and for
// each client host. Further ones wait for a moment, in order of arrival. The nil ResponseLimiter
// has no bound. It is safe for concurrent use.
type ResponseLimiter struct {
	max         int // responses at the same time
	maxPerHost  int // of them, for one client host
	maxWaiting  int // responses that may wait
	waitTimeout time.Duration
	counts      *Counts

	mu           sync.Mutex
	active       int
	activeByHost map[string]int
	queue        []*waiter
}

// waiter is a response that waits.
type waiter struct {
	host  string
	ready chan struct{} // closed when the response may begin
}

// How many large responses may wait for each that is written, and how long.
const (
	waitersPerAnswer   = 4
	largeAnswerTimeout = 5 * time.Second
)

// NewResponseLimiter returns a limiter for so many large responses, at least 1. One client host
// has at most three quarters of them, so that slow readers of one host do not block all others.
func NewResponseLimiter(limit int, counts *Counts) *ResponseLimiter {
	limit = max(limit, 1)
	return &ResponseLimiter{
		max: limit, maxPerHost: max(1, limit*3/4), maxWaiting: limit * waitersPerAnswer, waitTimeout: largeAnswerTimeout,
		counts: counts, activeByHost: map[string]int{},
	}
}

// Acquire waits until a large response may begin, and returns the function that ends it (OBS-85).
// Errors: ErrBusy after 5 s or when too many wait, and the error of ctx.
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
	return release, nil // it became ready just now
}

// fits reports whether a response for host may begin. The caller must hold l.mu.
func (l *ResponseLimiter) fits(host string) bool {
	return l.active < l.max && l.activeByHost[host] < l.maxPerHost
}

// take counts a response that begins. The caller must hold l.mu, and l.fits(host) must be true.
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
	l.activeByHost[host]--
	if l.activeByHost[host] == 0 {
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

// withdraw removes w from the queue; false: it is ready already.
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
