package usergroup

import (
	"context"
	"sync"
)

// lifetime is how long Directories answer: those of a process have one together, so that one
// which is not wanted any more still answers who asked before, and then is garbage.
type lifetime struct {
	ctx    context.Context
	cancel context.CancelFunc

	mu      sync.Mutex     // held to end, and by who begins: nobody does after the end
	running sync.WaitGroup // who asks
}

func newLifetime() *lifetime {
	l := &lifetime{}
	l.ctx, l.cancel = context.WithCancel(context.Background())
	return l
}

// start runs f beside, which must return soon after the end. ok is false when that has come.
func (l *lifetime) start(f func()) (ok bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.ctx.Err() != nil {
		return false
	}
	l.running.Go(f)
	return true
}

// close ends the life, and waits for all who are running.
func (l *lifetime) close() {
	l.mu.Lock()
	l.cancel()
	l.mu.Unlock()
	l.running.Wait()
}
