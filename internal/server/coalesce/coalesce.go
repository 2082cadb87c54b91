// Package coalesce builds one value for all callers that ask for it at about the same time.
//
// A Group builds one value at a time. A caller gets a value whose build began after the call, never an older one;
// callers that arrive during a build share the next one. After each build the Group pauses in proportion to its
// duration, so that all callers together use at most a fixed share of a processor, however many they are.
//
// The invariant: a build is cancelled as soon as no caller waits for its value.
package coalesce

import (
	"context"
	"fmt"
	"runtime/debug"
	"sync"
	"time"

	"github.com/canopy-scheduler/canopy/internal/server/cpushare"
)

// Group coalesces builds of a value. The zero value is ready for use and never pauses. It is safe for concurrent
// use.
type Group[T any] struct {
	// Pause is the time that the Group waits after a build, as a multiple of the duration of the
	// build: with 3 at most a quarter of one processor is used. It waits maxPause at most. Pause
	// must not change after the first call.
	Pause float64

	mu        sync.Mutex
	next      *call[T]  // further callers may join; nil: no caller waits for the next build
	running   bool      // a goroutine runs builds
	notBefore time.Time // no build starts before
}

// maxPause bounds the pause after a build. One that took longer has hardly used a processor all the time: it has
// waited, for a partition whose resource manager does not return from a callback, and its callers have waited long
// enough.
const maxPause = 5 * time.Second

// call is one build and its callers.
type call[T any] struct {
	ctx      context.Context // cancelled when the last caller has given up
	cancel   context.CancelFunc
	build    func(context.Context) (T, error)
	waiting  int // number of callers; guarded by Group.mu
	done     chan struct{}
	value    T // valid after done is closed, like the next two
	err      error
	panicked any // nil: build returned
}

// Do returns the value of build, or of the build of another caller, that started after Do was called. If ctx ends
// first, its error is returned. The context of build ends when all callers have given up. All callers of a Group
// must pass builds of the same value. A panic of build is a panic of each of its callers, and of no other
// goroutine.
func (g *Group[T]) Do(ctx context.Context, build func(context.Context) (T, error)) (T, error) {
	c := g.join(build)
	select {
	case <-c.done:
		if c.panicked != nil {
			panic(c.panicked)
		}
		return c.value, c.err
	case <-ctx.Done():
	}
	g.abandon(c)
	var none T
	return none, ctx.Err()
}

// join adds a caller to the next call, and starts the goroutine that runs builds if there is none.
func (g *Group[T]) join(build func(context.Context) (T, error)) *call[T] {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.next == nil {
		g.next = &call[T]{build: build, done: make(chan struct{})}
		g.next.ctx, g.next.cancel = context.WithCancel(context.Background())
	}
	g.next.waiting++
	if !g.running {
		g.running = true
		go g.runBuilds()
	}
	return g.next
}

// abandon takes a caller off c; without callers c is cancelled.
func (g *Group[T]) abandon(c *call[T]) {
	g.mu.Lock()
	defer g.mu.Unlock()
	c.waiting--
	if c.waiting > 0 {
		return
	}
	c.cancel()
	if g.next == c {
		g.next = nil
	}
}

// runBuilds runs builds as long as callers wait.
func (g *Group[T]) runBuilds() {
	for {
		c, delay := g.nextCall()
		if c == nil {
			return
		}
		if delay > 0 {
			select {
			case <-time.After(delay):
			case <-c.ctx.Done():
			}
		}
		if !g.begin(c) {
			continue
		}
		began := time.Now()
		c.run()
		g.mu.Lock()
		end := time.Now()
		g.notBefore = end.Add(min(maxPause, time.Duration(g.Pause*float64(end.Sub(began)))))
		g.mu.Unlock()
	}
}

// nextCall is the next call and how long it must wait; nil: there is none, and running is false.
func (g *Group[T]) nextCall() (*call[T], time.Duration) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.next == nil {
		g.running = false
		return nil, 0
	}
	return g.next, time.Until(g.notBefore)
}

// begin closes c for further callers; false: all callers have given up.
func (g *Group[T]) begin(c *call[T]) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.next != c {
		return false
	}
	g.next = nil
	return true
}

// run runs the build and closes done.
func (c *call[T]) run() {
	defer c.cancel()
	defer close(c.done)
	defer func() {
		// A panic in this goroutine would end the process.
		p := recover()
		if ended, ok := p.(*cpushare.Ended); ok {
			c.err = ended
		} else if p != nil {
			c.panicked = fmt.Sprintf("%v\n%s", p, debug.Stack())
		}
	}()
	c.value, c.err = c.build(c.ctx)
}
