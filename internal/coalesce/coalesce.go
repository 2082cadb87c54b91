// Package coalesce makes one value for all callers that ask for it at about the same time.
//
// A Group makes one value at a time. A caller gets a value whose making began after the
// call, never an older one; callers that arrive while a value is made share the next. After
// each value the Group pauses in proportion to the time that the value took, so that callers
// together take no more than a fixed share of a processor, however many they are.
//
// The rule that must hold: a value that no caller waits for any more is not made to its end.
package coalesce

import (
	"context"
	"fmt"
	"runtime/debug"
	"sync"
	"time"
)

// Group shares the making of values. The zero value is ready for use and never pauses. It is
// safe for concurrent use.
type Group[T any] struct {
	// Pause is how long the Group rests after a value, as a multiple of the time that making
	// it took: with 3 at most a quarter of one processor is spent. It must not change after
	// the first call.
	Pause float64

	mu        sync.Mutex
	next      *call[T]  // still open for callers; nil: no caller waits for the next value
	running   bool      // a goroutine makes values
	notBefore time.Time // no value is begun before
}

// call is a value that is to be made.
type call[T any] struct {
	ctx      context.Context // ends when the last caller has left
	cancel   context.CancelFunc
	build    func(context.Context) (T, error)
	waiting  int // callers; guarded by the lock of the Group
	done     chan struct{}
	value    T // as the next two: valid after done is closed
	err      error
	panicked any // nil: build returned
}

// Do returns a value that build, or the build of another caller, began to make after Do was
// called. When ctx ends first, its error is returned. The context of build ends when all
// callers have left. All callers of a Group must pass a build that makes the same thing. A
// panic of build is one of each of its callers, and of no other goroutine.
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

// join enters the next call, and sees that it will be made.
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
		go g.makeValues()
	}
	return g.next
}

func (g *Group[T]) abandon(c *call[T]) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if c.waiting--; c.waiting > 0 {
		return
	}
	c.cancel()
	if g.next == c {
		g.next = nil
	}
}

// makeValues makes values as long as callers wait.
func (g *Group[T]) makeValues() {
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
		g.notBefore = end.Add(time.Duration(g.Pause * float64(end.Sub(began))))
		g.mu.Unlock()
	}
}

// nextCall is the call that comes next and how long it has to wait; nil: there is none.
func (g *Group[T]) nextCall() (*call[T], time.Duration) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.next == nil {
		g.running = false
		return nil, 0
	}
	return g.next, time.Until(g.notBefore)
}

// begin closes c for further callers; false: all of them have left.
func (g *Group[T]) begin(c *call[T]) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.next != c {
		return false
	}
	g.next = nil
	return true
}

func (c *call[T]) run() {
	defer c.cancel()
	defer close(c.done)
	defer func() {
		// This goroutine is no caller's own: here a panic would end the process.
		if p := recover(); p != nil {
			c.panicked = fmt.Sprintf("%v\n%s", p, debug.Stack())
		}
	}()
	c.value, c.err = c.build(c.ctx)
}
