// Package operators has the actions of operators carried out: on the goroutine of the partition, and with what they
// have switched kept in a Store, so that a restart finds it.
//
// It owns the text that is kept, and the Store in a file. What an action does is left to package scheduler, and which
// clients may ask for one to the callers.
//
// The rule that must hold: an action that is answered without an error is in the Store, if there is one, before the
// answer.
package operators

import (
	"context"
	"errors"
	"fmt"

	"github.com/canopy-scheduler/canopy/internal/server/loop"
	"github.com/canopy-scheduler/canopy/pkg/scheduler"
)

// Errors of Do besides those of the loop.
var (
	// ErrUnknown: there is no such partition, application, queue or node.
	ErrUnknown = errors.New("unknown")
	// ErrRefused: the action is not possible now.
	ErrRefused = errors.New("refused")
	// ErrNotStored: the action is done, and the Store does not have it.
	ErrNotStored = errors.New("done, but not stored: a restart of the scheduler loses it")
)

// unknown is an ErrUnknown with the text of the scheduler, which names what it does not know.
type unknown string

func (e unknown) Error() string        { return string(e) }
func (e unknown) Is(target error) bool { return target == ErrUnknown }

// Operators carries out actions. It is safe for concurrent use.
type Operators struct {
	partition func(name string) (*loop.Loop, bool)
	kept      *Store        // nil: nothing is kept
	busy      chan struct{} // holds a token while an action is carried out, or the Store is used
	ended     ended
}

// New returns Operators that find partitions by a function and keep what was switched in a Store; nil: nowhere.
func New(partition func(name string) (*loop.Loop, bool), kept *Store) *Operators {
	o := &Operators{partition: partition, kept: kept, busy: make(chan struct{}, 1), ended: newEnded()}
	if kept != nil {
		o.ended.watch(kept.Applications())
	}
	return o
}

// Do carries out an action, and reports whether it changed anything. Actions are done one after the other.
func (o *Operators) Do(ctx context.Context, partition string, m scheduler.Operate) (changed bool, err error) {
	if err := o.begin(ctx); err != nil {
		return false, err
	}
	defer o.end()
	l, ok := o.partition(partition)
	if !ok {
		return false, fmt.Errorf("%w partition %s", ErrUnknown, partition)
	}
	effects, err := l.Call(ctx, m)
	if err != nil {
		return false, err
	}
	for _, e := range effects {
		switch e := e.(type) {
		case scheduler.Refused:
			if e.Unknown {
				return false, unknown(e.Reason)
			}
			return false, fmt.Errorf("%w: %s", ErrRefused, e.Reason)
		case scheduler.OperatorActed:
			changed = true
		}
	}
	if !changed || o.kept == nil {
		return changed, nil
	}
	if err := o.store(ctx, partition, l); err != nil {
		return true, fmt.Errorf("%w: %w", ErrNotStored, err)
	}
	return true, nil
}

// begin waits until no other action is carried out. A partition that does not answer must not keep all callers:
// begin fails with the error of ctx when it ends.
func (o *Operators) begin(ctx context.Context) error {
	select {
	case o.busy <- struct{}{}:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (o *Operators) end() { <-o.busy }

// store stores what operators have switched in a partition. Requires: begin.
func (o *Operators) store(ctx context.Context, partition string, l *loop.Loop) error {
	state, err := l.OperatorState(ctx)
	if err == nil {
		err = o.kept.Store(partition, state)
	}
	o.ended.watch(o.kept.Applications())
	return err
}

// State returns what operators have switched in a partition. The error is ErrUnknown, or of the loop.
func (o *Operators) State(ctx context.Context, partition string) (scheduler.OperatorState, error) {
	l, ok := o.partition(partition)
	if !ok {
		return scheduler.OperatorState{}, fmt.Errorf("%w partition %s", ErrUnknown, partition)
	}
	return l.OperatorState(ctx)
}
