package usergroup

import (
	"context"
	"sync"
)

// lifetime is the lifetime of Resolvers. All Resolvers of a process share one: a Resolver that was replaced still
// finishes its lookups, and then is garbage.
type lifetime struct {
	ctx    context.Context
	cancel context.CancelFunc

	mu      sync.Mutex     // held by start and close, so that no goroutine starts after the end
	running sync.WaitGroup // the goroutines of start
}

func newLifetime() *lifetime {
	l := &lifetime{}
	l.ctx, l.cancel = context.WithCancel(context.Background())
	return l
}

// start runs f in a goroutine; f must return soon after ctx has ended. ok is false if ctx has ended already.
func (l *lifetime) start(f func()) (ok bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.ctx.Err() != nil {
		return false
	}
	l.running.Go(f)
	return true
}

// close ends the lifetime and waits for its goroutines.
func (l *lifetime) close() {
	l.mu.Lock()
	l.cancel()
	l.mu.Unlock()
	l.running.Wait()
}
