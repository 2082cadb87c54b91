package canopy_test

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"gotest.tools/v3/assert"

	"github.com/canopy-scheduler/canopy/internal/lab/playback"
	"github.com/canopy-scheduler/canopy/internal/server/recording"
	"github.com/canopy-scheduler/canopy/pkg/canopy"
)

func TestServer_RecordsWhatItDecides(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "rec")
	s, _ := start(t, canopy.Options{Config: canopy.Config{Text: queues("a")},
		Recording: canopy.Recording{Dir: dir, Program: "v7"}})
	m := newRM("rm")
	m.register(t, s.Scheduler(), "", "root.a")
	m.ask(t, s.Scheduler(), "k")
	m.Want(t, "allocated k (app) on rm-node")
	assert.NilError(t, s.Close())

	sessions, err := recording.Sessions(dir)
	assert.NilError(t, err)
	assert.Equal(t, len(sessions), 1)
	placed := false
	r, err := playback.Play(sessions[0], playback.Window{}, func(p playback.Played) {
		for _, text := range playback.Texts(p.Effects) {
			placed = placed || text == "allocated k (app) on rm-node"
		}
	})
	assert.NilError(t, err)
	assert.Assert(t, r.Difference == nil && r.Incomplete == "" && r.Compared == r.Steps-1 && r.Canopy == "v7", "%+v", r)
	assert.Assert(t, placed, "a reset begins the session, whose own effects are not compared")
}

func TestStart_UnusableRecordingIsRefused(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	assert.NilError(t, os.WriteFile(file, nil, 0o600))
	_, err := canopy.Start(t.Context(), canopy.Options{Recording: canopy.Recording{Dir: file}})
	assert.ErrorContains(t, err, "Recording.Dir: ")
	assert.ErrorContains(t, err, file)
	for _, bad := range []canopy.Recording{{MaxBytes: -1}, {MaxAge: -time.Second}, {SegmentBytes: -1}} {
		_, err := canopy.Start(t.Context(), canopy.Options{Recording: bad})
		assert.ErrorContains(t, err, "Recording.")
	}
}
