package recording_test

import (
	"io"
	"os"
	"path/filepath"
	"testing"
	"time"

	"go.uber.org/goleak"
	"gotest.tools/v3/assert"

	"github.com/canopy-scheduler/canopy/internal/lab/playback"
	"github.com/canopy-scheduler/canopy/internal/server/recording"
	"github.com/canopy-scheduler/canopy/internal/testing/randomrun"
	"github.com/canopy-scheduler/canopy/pkg/feasibility"
	"github.com/canopy-scheduler/canopy/pkg/objects"
	"github.com/canopy-scheduler/canopy/pkg/scheduler"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// never is a timer that does not fire: what waits is written when the Recorder is closed.
func never(time.Duration) <-chan time.Time { return nil }

func openStore(t *testing.T, opt recording.Options) *recording.Store {
	t.Helper()
	if opt.Dir == "" {
		opt.Dir = t.TempDir()
	}
	if opt.Now == nil {
		opt.Now = func() time.Time { return randomrun.StartTime() }
	}
	if opt.After == nil {
		opt.After = never
	}
	s, err := recording.Open(opt)
	assert.NilError(t, err)
	t.Cleanup(func() { _ = s.Close() })
	return s
}

func coreOptions(s randomrun.Run) objects.Options {
	return objects.Options{
		Shapes: feasibility.DefaultShapes, Lifetimes: s.Lifetimes, Evaluations: 4, Candidates: s.MaxCandidates,
		Names: s.MaxNames, AskNames: s.MaxAskNames, Refusals: s.MaxRefusals,
	}
}

// recorded is a Core whose steps are recorded.
type recorded struct {
	core     *scheduler.Core
	recorder *recording.Recorder
	now      time.Time
}

func recordedCore(store *recording.Store, partition string, s randomrun.Run) *recorded {
	core := scheduler.NewWith(s.Partition, nil, coreOptions(s))
	r := store.Recorder(partition, core, coreOptions(s))
	core.SetOracle(r.Oracle(s.Oracle.Oracle()))
	r.Begin()
	return &recorded{core, r, randomrun.StartTime()}
}

func (r *recorded) step(b randomrun.Step) {
	r.now = r.now.Add(b.After)
	if b.Command == nil {
		r.recorder.Schedule(r.now, b.Budget)
		r.recorder.Effects(r.core.Schedule(r.now, b.Budget))
		return
	}
	r.recorder.Command(r.now, b.Command)
	r.recorder.Effects(r.core.Step(r.now, b.Command), false)
}

// record records a whole run of a partition.
func record(store *recording.Store, partition string, s randomrun.Run) {
	r := recordedCore(store, partition, s)
	for _, b := range s.Steps {
		r.step(b)
	}
	r.recorder.Close()
	_ = store.Close() // the next one may record there
}

// session is what is read of a session.
type session struct {
	begin      *recording.Begin
	steps      []*recording.Step
	incomplete string
}

// read reads all sessions of a directory.
func read(t *testing.T, dir string) (all []session) {
	t.Helper()
	sessions, err := recording.Sessions(dir)
	assert.NilError(t, err)
	for _, s := range sessions {
		all = append(all, readSession(t, s))
	}
	return all
}

func readSession(t *testing.T, s recording.Session) (out session) {
	t.Helper()
	r, err := s.Open()
	assert.NilError(t, err)
	defer r.Close()
	out.begin = r.Begin
	for {
		x, err := r.Next()
		if err == io.EOF {
			out.incomplete = r.Incomplete()
			return out
		}
		assert.NilError(t, err)
		out.steps = append(out.steps, x)
	}
}

// play replays sessions, and returns how many steps were compared. A difference is a failure.
func play(t *testing.T, sessions ...session) (compared int) {
	t.Helper()
	for _, s := range sessions {
		var p playback.Player
		p.Begin(s.begin)
		for _, x := range s.steps {
			made := p.Make(x)
			assert.Equal(t, made.Difference, "", "step %d: %v: %v", x.Number, x.Command, made.Effects)
			if made.Compared {
				compared++
			}
		}
	}
	return compared
}

// stepsOf returns how many steps sessions have.
func stepsOf(sessions []session) (n int) {
	for _, s := range sessions {
		n += len(s.steps)
	}
	return n
}

func onlySegment(t *testing.T, dir string) string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "*", "*.rec"))
	assert.NilError(t, err)
	own, err := filepath.Glob(filepath.Join(dir, "*.rec"))
	assert.NilError(t, err)
	files = append(files, own...)
	assert.Equal(t, len(files), 1)
	return files[0]
}

func readFile(t *testing.T, path string) []byte {
	t.Helper()
	b, err := os.ReadFile(path)
	assert.NilError(t, err)
	return b
}
