package rmproxy

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/apache/yunikorn-scheduler-interface/lib/go/api"
)

// stateDumpTimeout bounds the wait for the state dump of a shim.
const stateDumpTimeout = 5 * time.Second

// errDumpUnderWay is returned while an earlier call of the shim has not returned.
var errDumpUnderWay = errors.New("the resource manager is still busy with an earlier state dump")

// StateDump is the JSON document with which the registered shim describes its own state: it is in process, and its
// callback is an api.StateDumpPlugin. Empty: it is none of that. The call is made on a goroutine of its own, one at a
// time, and waited for no longer than 5 s: a shim that hangs delays nothing else.
func (p *Proxy) StateDump(ctx context.Context) (string, error) {
	s := p.current()
	if s == nil || s.shim == nil {
		return "", nil
	}
	plugin, ok := s.shim.callback.(api.StateDumpPlugin)
	if !ok {
		return "", nil
	}
	if !p.dumping.CompareAndSwap(false, true) {
		return "", errDumpUnderWay
	}
	type dump struct {
		text string
		err  error
	}
	done := make(chan dump, 1)
	go func() {
		defer p.dumping.Store(false)
		defer func() {
			if x := recover(); x != nil {
				done <- dump{err: fmt.Errorf("the resource manager could not describe its state: %v", x)}
			}
		}()
		text, err := plugin.GetStateDump()
		done <- dump{text, err}
	}()
	ctx, cancel := context.WithTimeoutCause(ctx, stateDumpTimeout,
		fmt.Errorf("the resource manager did not describe its state within %v", stateDumpTimeout))
	defer cancel()
	select {
	case d := <-done:
		return d.text, d.err
	case <-ctx.Done():
		return "", context.Cause(ctx)
	}
}
