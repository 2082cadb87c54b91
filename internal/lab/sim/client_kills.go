package sim

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// errKilled: the client has killed the scheduler, and has not recovered yet.
var errKilled = errors.New("the client has killed the scheduler")

// Killable is a scheduler that its client kills and starts again.
type Killable interface {
	// Kill ends the scheduler at once and without notice, as SIGKILL does. It does not block.
	Kill() error
	// Restart starts a scheduler without any state after Kill, and returns its address, HOST:PORT. The error is
	// also about a scheduler that had ended by itself.
	Restart(ctx context.Context) (address string, err error)
}

// Recovery counts what the client reported to a scheduler that was killed and started again.
type Recovery struct {
	Nodes, Applications, Allocations, Asks int
	Restart                                time.Duration // from the kill to the new process being ready
	Report                                 time.Duration // from then until the client has made the nodes schedulable
}

// kills says when the client kills the scheduler.
type kills struct {
	scheduler  Killable // nil: never
	every      int      // answers between two kills
	recovered  func(Recovery)
	answers    int  // since the last kill; those to a recovery do not count
	killed     bool // and the recovery has not begun
	at         time.Time
	recovering bool
}

// KillEvery makes the client kill the scheduler after every n answers, and report its state to the next one.
// An answer is a node or application that is accepted, an ask that is placed or rejected, or an allocation that
// is released; those of a recovery do not count. What the scheduler has sent after the n-th is lost. recovered
// is called after each recovery. It must be called before Register.
func (c *Client) KillEvery(n int, scheduler Killable, recovered func(Recovery)) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.kills = kills{scheduler: scheduler, every: n, recovered: recovered}
}

// answered counts an answer, after which the scheduler may be killed. The caller must hold the lock.
func (c *Client) answered() {
	k := &c.kills
	if k.scheduler == nil || k.recovering || c.failed != nil {
		return
	}
	k.answers++
	if k.answers < k.every {
		return
	}
	k.answers, k.killed, k.at = 0, true, time.Now()
	if err := k.scheduler.Kill(); err != nil {
		c.failed = fmt.Errorf("killing the scheduler: %w", err)
	}
}

func (c *Client) isKilled() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.kills.killed
}
