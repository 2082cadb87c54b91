package reload_test

import (
	"errors"
	"testing"
	"time"

	"gotest.tools/v3/assert"

	"github.com/canopy-scheduler/canopy/internal/server/reload"
)

// The generation in force, whether the next start finds it, and rejections by source (OBS-89).
func TestCounts_GenerationStoredAndRejections(t *testing.T) {
	w := newFixture(t, reload.Options{PauseTimeout: time.Millisecond})
	none := map[reload.Source]uint64{reload.File: 0, reload.Signal: 0, reload.RM: 0, reload.REST: 0, reload.Rollback: 0}
	assert.DeepEqual(t, w.Counts(), reload.Counts{Generation: 1, Rejections: none})

	_, err := w.Read(reload.File, "q.yaml", []byte("partitions: 7"))
	assert.Assert(t, err != nil)
	w.cluster.refuseWith = errors.New("no")
	_, err = w.Apply(t.Context(), w.proposal(reload.REST, "", text("b")))
	assert.ErrorIs(t, err, reload.ErrRefused)
	w.cluster.refuseWith, w.cluster.neverPauses = nil, true
	_, err = w.Apply(t.Context(), w.proposal(reload.File, "", text("b")))
	assert.ErrorIs(t, err, reload.ErrBusy)
	w.cluster.neverPauses = false
	w.LogRefusal(reload.Signal, "q.yaml", errors.New("no such file"))
	_, err = w.Rollback(t.Context(), 9, 0)
	assert.ErrorIs(t, err, reload.ErrUnknownGeneration)
	w.applyText(reload.REST, "", text("c"))
	want := map[reload.Source]uint64{reload.File: 1, reload.Signal: 1, reload.RM: 0, reload.REST: 1, reload.Rollback: 1}
	assert.DeepEqual(t, w.Counts(), reload.Counts{Generation: 2, Rejections: want})

	full := newFixture(t, reload.Options{Store: fullDiskStore{}})
	assert.DeepEqual(t, full.Counts(), reload.Counts{Generation: 1, HasStore: true, Rejections: none})

	dir := t.TempDir()
	for _, first := range []string{text("a"), ""} { // a new generation, and a restored one
		runOnDisk(t, dir, first, 5, func(w *fixture) {
			assert.DeepEqual(t, w.Counts(), reload.Counts{Generation: 1, HasStore: true, Stored: true, Rejections: none})
		})
	}
}
