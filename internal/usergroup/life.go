package usergroup

import (
	"context"
	"sync"
)

// life is how long Directories answer: those of a process have one together, so that one
// which is not wanted any more still answers who asked before, and then is garbage.
type life struct {
	over context.Context
	end  context.CancelFunc

	mu      sync.Mutex     // held to end, and by who begins: nobody does after the end
	running sync.WaitGroup // who asks
}

func newLife() *life {
	l := &life{}
	l.over, l.end = context.WithCancel(context.Background())
	return l
}

// spawn runs f beside, which must return soon after the end. ok is false when that has come.
func (l *life) spawn(f func()) (ok bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.over.Err() != nil {
		return false
	}
	l.running.Go(f)
	return true
}

// close ends the life, and waits for all who are running.
func (l *life) close() {
	l.mu.Lock()
	l.end()
	l.mu.Unlock()
	l.running.Wait()
}
