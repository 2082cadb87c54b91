package reload_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"gotest.tools/v3/assert"

	"github.com/canopy-scheduler/canopy/internal/server/reload"
)

// While a reload waits for the partitions, the configuration in force and its history can be read, and a
// text is validated (CFG-105). In a synctest bubble time advances only when all goroutines wait, so
// a reader that waits is detected.
func TestApply_DoesNotBlockReaders(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newFixture(t, reload.Options{PauseTimeout: time.Hour})
		w.cluster.neverPauses = true
		next := w.proposal(reload.REST, "", text("b"))
		ctx, stop := context.WithCancel(t.Context())
		ended := make(chan error)
		go func() {
			_, err := w.Apply(ctx, next)
			ended <- err
		}()
		synctest.Wait() // Apply waits for the cluster
		began := time.Now()
		assert.Equal(t, w.Current().Number, uint64(1))
		assert.Equal(t, len(w.Generations()), 1)
		_, known := w.Generation(1)
		assert.Assert(t, known)
		assert.Equal(t, len(w.Warnings().Errors()), 0)
		_, err := w.Read(reload.REST, "", []byte("partitions: 7"))
		assert.ErrorContains(t, err, "invalid configuration")
		assert.Equal(t, time.Since(began), time.Duration(0))
		select {
		case <-ended:
			t.Fatal("the reload did not wait")
		default:
		}
		stop()
		assert.ErrorIs(t, <-ended, reload.ErrBusy)
	})
}
