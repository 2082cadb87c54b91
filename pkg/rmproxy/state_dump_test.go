package rmproxy

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/apache/yunikorn-scheduler-interface/lib/go/api"
	"gotest.tools/v3/assert"
)

// dumpingShim is a callback with a state dump.
type dumpingShim struct {
	api.ResourceManagerCallback
	dump func() (string, error)
}

func (s dumpingShim) GetStateDump() (string, error) { return s.dump() }

func TestStateDump_AsksTheShimInProcess(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := &Proxy{}
		ask := func(callback api.ResourceManagerCallback) (string, error) {
			p.currentSession.Store(&session{shim: newShimCallback(callback)})
			return p.StateDump(context.Background())
		}
		text, err := p.StateDump(context.Background())
		assert.Assert(t, text == "" && err == nil, "no resource manager is registered")
		p.currentSession.Store(&session{})
		text, err = p.StateDump(context.Background())
		assert.Assert(t, text == "" && err == nil, "it is registered over gRPC")
		text, err = ask(struct{ api.ResourceManagerCallback }{})
		assert.Assert(t, text == "" && err == nil, "it has no state dump")

		text, err = ask(dumpingShim{dump: func() (string, error) { return `{"a":1}`, nil }})
		assert.NilError(t, err)
		assert.Equal(t, text, `{"a":1}`)
		_, err = ask(dumpingShim{dump: func() (string, error) { return "", errors.New("busy") }})
		assert.Error(t, err, "busy")
		_, err = ask(dumpingShim{dump: func() (string, error) { panic("out of cheese") }})
		assert.ErrorContains(t, err, "out of cheese")

		release, began := make(chan struct{}), time.Now()
		_, err = ask(dumpingShim{dump: func() (string, error) { <-release; return "", nil }})
		assert.ErrorContains(t, err, "did not describe its state within 5s")
		assert.Equal(t, time.Since(began), 5*time.Second)
		_, err = ask(dumpingShim{dump: func() (string, error) { return "", nil }})
		assert.Assert(t, errors.Is(err, errDumpUnderWay), "%v", err)
		close(release)
		synctest.Wait()
		_, err = ask(dumpingShim{dump: func() (string, error) { return "", nil }})
		assert.NilError(t, err)
	})
}
