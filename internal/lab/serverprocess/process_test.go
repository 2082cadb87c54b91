package serverprocess

import (
	"context"
	"os"
	"testing"

	"go.uber.org/goleak"
	"gotest.tools/v3/assert"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// shell is a command that stands for a scheduler.
func shell(script string) []string { return []string{"/bin/sh", "-c", script} }

const ready = "echo canopy ready grpc=127.0.0.1:1 http=127.0.0.1:2; "

func TestStart_ReadsTheReadyLine(t *testing.T) {
	p, err := Start(t.Context(), shell(ready+"exec sleep 1000")...)
	assert.NilError(t, err)
	assert.Equal(t, p.GRPC+" "+p.HTTP, "127.0.0.1:1 127.0.0.1:2")
	assert.Assert(t, p.PID() > 0 && !p.Reaped())
	assert.NilError(t, p.Kill())
	assert.NilError(t, p.Reap())
	assert.Assert(t, p.Reaped())
	assert.ErrorIs(t, p.Signal(os.Interrupt), os.ErrProcessDone)
}

// The error says what was printed instead, and no process is left: Start has awaited its end.
func TestStart_NotReady(t *testing.T) {
	_, err := Start(t.Context(), shell("echo canopy ready http=127.0.0.1:1; exec sleep 1000")...)
	assert.ErrorContains(t, err, `the scheduler did not become ready: it printed "canopy ready http=127.0.0.1:1\n"`)
	_, err = Start(t.Context(), shell("echo no such port >&2; exit 2")...)
	assert.ErrorContains(t, err, "the scheduler did not become ready: EOF\nexit status 2\nits log: no such port")
	_, err = Start(t.Context(), t.TempDir()+"/missing")
	assert.ErrorIs(t, err, os.ErrNotExist)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err = Start(ctx, shell("exec sleep 1000")...)
	assert.ErrorIs(t, err, context.Canceled)
}

func TestReap_EndedByItself(t *testing.T) {
	p, err := Start(t.Context(), shell(ready+"echo out of memory >&2; exit 3")...)
	assert.NilError(t, err)
	assert.Error(t, p.Reap(), "the scheduler ended before it was killed: exit status 3\nits log: out of memory")
}

func TestStop_InGoodOrder(t *testing.T) {
	p, err := Start(t.Context(), shell("trap 'kill $!; exit 0' INT; sleep 1000 & "+ready+"wait")...)
	assert.NilError(t, err)
	assert.NilError(t, p.Stop())
	p, err = Start(t.Context(), shell("trap 'kill $!; echo cut off >&2; exit 4' INT; sleep 1000 & "+ready+"wait")...)
	assert.NilError(t, err)
	assert.Error(t, p.Stop(), "the scheduler did not end in good order: exit status 4\nits log: cut off")
}
