package recording_test

import (
	"bytes"
	"errors"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"testing"
	"testing/synctest"
	"time"

	"gotest.tools/v3/assert"

	"github.com/canopy-scheduler/canopy/internal/lab/playback"
	"github.com/canopy-scheduler/canopy/internal/server/recording"
	"github.com/canopy-scheduler/canopy/internal/testing/randomrun"
	"github.com/canopy-scheduler/canopy/pkg/scheduler"
)

// TestRandomRuns_ReplayFromCheckpoint replays from checkpoints, as when all before them is lost.
func TestRandomRuns_ReplayFromCheckpoint(t *testing.T) {
	starts, compared := 0, 0
	eachSeed(t, 100, func(t *testing.T, s randomrun.Run) {
		dir, g := t.TempDir(), rand.New(rand.NewPCG(s.Seed, 5))
		record(openStore(t, recording.Options{Dir: dir, CheckpointEvery: 2 * time.Second}), "default", s)
		items := read(t, dir)
		steps := len(s.Steps)
		n, notReplayed := play(t, items)
		assert.Equal(t, n, steps, "checkpoints change nothing")
		assert.Equal(t, notReplayed, 0)
		for i, x := range items {
			if x.Step != nil {
				steps--
			}
			if x.Checkpoint == nil || g.IntN(20) > 0 {
				continue
			}
			n, notReplayed := play(t, items[i:])
			assert.Equal(t, n, steps, "from item %d", i)
			assert.Equal(t, notReplayed, 0)
			starts, compared = starts+1, compared+n
		}
	})
	t.Logf("%d steps from %d checkpoints", compared, starts)
	assert.Assert(t, starts > 10, "only %d checkpoints", starts)
}

// TestCheckpoint_OfAnotherProcess replays from the checkpoints of another process, whose addresses and hashes are
// others.
func TestCheckpoint_OfAnotherProcess(t *testing.T) {
	const runs, variable = 5, "CANOPY_TEST_RECORD_DIR"
	if dir := os.Getenv(variable); dir != "" { // this is that process
		for seed := range uint64(runs) {
			sub := filepath.Join(dir, strconv.FormatUint(seed, 10))
			record(openStore(t, recording.Options{Dir: sub, CheckpointEvery: 2 * time.Second}), "default",
				randomrun.RandomRun(seed, stepsPerRun))
		}
		return
	}
	dir := t.TempDir()
	program, err := os.Executable()
	assert.NilError(t, err)
	other := exec.CommandContext(t.Context(), program, "-test.run=^"+t.Name()+"$")
	other.Env = append(os.Environ(), variable+"="+dir)
	out, err := other.CombinedOutput()
	assert.NilError(t, err, "%s", out)
	checkpoints := 0
	for seed := range runs {
		items := read(t, filepath.Join(dir, strconv.Itoa(seed)))
		for i, x := range items {
			if x.Checkpoint == nil {
				continue
			}
			checkpoints++
			if checkpoints%3 == 0 {
				_, notReplayed := play(t, items[i:])
				assert.Equal(t, notReplayed, 0)
			}
		}
	}
	assert.Assert(t, checkpoints > 20, "only %d checkpoints", checkpoints)
}

// TestCheckpoint_BeginsASegment removes the segments before one that begins with a checkpoint, as retention does.
func TestCheckpoint_BeginsASegment(t *testing.T) {
	dir := t.TempDir()
	s := randomrun.RandomRun(11, stepsPerRun)
	record(openStore(t, recording.Options{Dir: dir, CheckpointEvery: 2 * time.Second}), "default", s)
	segments, err := filepath.Glob(filepath.Join(dir, "*", "*.rec"))
	assert.NilError(t, err)
	assert.Assert(t, len(segments) > 4, "%v", segments)
	slices.Sort(segments)
	for _, path := range segments[:len(segments)/2] {
		assert.NilError(t, os.Remove(path))
	}
	sessions, err := recording.Sessions(dir)
	assert.NilError(t, err)
	result, err := playback.Play(sessions[0], playback.Window{}, nil)
	assert.NilError(t, err)
	assert.Assert(t, result.Difference == nil, "%v", result.Difference)
	assert.Equal(t, result.NotReplayed, uint64(0))
	assert.Equal(t, result.Compared, result.Steps)
	assert.Assert(t, result.Steps > 10)
}

// TestCheckpoint_IsWhereAWindowBegins: a replay of a window makes only the steps since the last checkpoint before it.
func TestCheckpoint_IsWhereAWindowBegins(t *testing.T) {
	dir := t.TempDir()
	s := randomrun.RandomRun(11, stepsPerRun)
	record(openStore(t, recording.Options{Dir: dir, CheckpointEvery: 2 * time.Second}), "default", s)
	sessions, err := recording.Sessions(dir)
	assert.NilError(t, err)
	items := read(t, dir)
	last, lastBegin := 0, 0
	for i, x := range items {
		switch {
		case x.Checkpoint != nil:
			last = i
		case x.Begin != nil:
			lastBegin = i
		}
	}
	assert.Assert(t, last > lastBegin, "choose another seed")
	from := items[len(items)-2].Step.At.Add(time.Nanosecond)
	start, err := playback.Start(sessions[0], from, true)
	assert.NilError(t, err)
	assert.Equal(t, start, last)
	start, err = playback.Start(sessions[0], from, false)
	assert.NilError(t, err)
	assert.Equal(t, start, lastBegin)
}

// TestCheckpoint_DamageLosesThatOne damages one byte anywhere in a checkpoint: the steps before and behind it are read,
// and a replay that needs it says that it has no state.
func TestCheckpoint_DamageLosesThatOne(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	g := rand.New(rand.NewPCG(seed, 0))
	dir := t.TempDir()
	s := randomrun.RandomRun(11, stepsPerRun)
	record(openStore(t, recording.Options{Dir: dir, CheckpointEvery: time.Minute}), "default", s)
	path, frames := lastSegment(t, dir)
	frames[1][g.IntN(len(frames[1]))] ^= 1 << g.IntN(8)
	assert.NilError(t, os.WriteFile(path, bytes.Join(frames, nil), 0o600))
	mustHaveNoCheckpoint(t, read(t, dir))
}

// TestCheckpoint_MissingPieceLosesThatOne: what is left of a checkpoint is no checkpoint, whichever piece is missing.
func TestCheckpoint_MissingPieceLosesThatOne(t *testing.T) {
	const piece = 2000
	dir := t.TempDir()
	assert.Equal(t, len(recordCheckpoints(t, dir, randomrun.RandomRun(11, stepsPerRun), recording.EncodeState, piece)), 0)
	path, frames := lastSegment(t, dir)
	pieces := 0
	for _, x := range read(t, dir) {
		if x.Checkpoint != nil {
			pieces = (x.Checkpoint.Bytes() + piece - 1) / piece
		}
	}
	assert.Assert(t, pieces >= 3, "choose another length of a piece")
	for i := range pieces {
		assert.NilError(t, os.WriteFile(path, bytes.Join(slices.Delete(slices.Clone(frames), 1+i, 2+i), nil), 0o600))
		mustHaveNoCheckpoint(t, read(t, dir))
	}
}

// lastSegment removes all segments but the last, and returns its frames: a header, and the pieces of a checkpoint.
func lastSegment(t *testing.T, dir string) (path string, frames [][]byte) {
	t.Helper()
	segments, err := filepath.Glob(filepath.Join(dir, "*", "*.rec"))
	assert.NilError(t, err)
	slices.Sort(segments)
	for _, path := range segments[:len(segments)-1] {
		assert.NilError(t, os.Remove(path))
	}
	path = segments[len(segments)-1]
	data, err := os.ReadFile(path)
	assert.NilError(t, err)
	mark := []byte("\xc5\xf2\x0aF")
	for begin := 0; begin < len(data); {
		from := max(20, begin+len(mark)) // a header of the segment is before the first frame
		end := len(data)
		if n := bytes.Index(data[from:], mark); n >= 0 {
			end = from + n
		}
		frames = append(frames, data[begin:end:end])
		begin = end
	}
	return path, frames
}

func mustHaveNoCheckpoint(t *testing.T, items []recording.Item) {
	t.Helper()
	steps := 0
	for _, x := range items {
		assert.Assert(t, x.Checkpoint == nil)
		if x.Step != nil {
			steps++
		}
	}
	_, notReplayed := play(t, items)
	assert.Assert(t, steps > 0)
	assert.Equal(t, notReplayed, steps)
}

// TestCheckpoint_OtherTypesAreSaid: a state that another version of Canopy has written is of no use, and is no error.
func TestCheckpoint_OtherTypesAreSaid(t *testing.T) {
	dir := t.TempDir()
	s := randomrun.RandomRun(11, stepsPerRun)
	recordCheckpoints(t, dir, s, func(c *scheduler.Core, o scheduler.Oracle) ([]byte, error) {
		state, err := recording.EncodeState(c, o)
		state[0]++
		return state, err
	}, 1<<20)
	segments, err := filepath.Glob(filepath.Join(dir, "*", "*.rec"))
	assert.NilError(t, err)
	slices.Sort(segments)
	assert.NilError(t, os.Remove(segments[0]))
	sessions, err := recording.Sessions(dir)
	assert.NilError(t, err)
	result, err := playback.Play(sessions[0], playback.Window{}, nil)
	assert.NilError(t, err)
	assert.Assert(t, result.NotReplayed > 0)
	assert.Equal(t, result.Unusable, "objectgraph: it was written by a program with other types")
	start, err := playback.Start(sessions[0], result.Last, true)
	assert.NilError(t, err)
	without, err := playback.Start(sessions[0], result.Last, false)
	assert.NilError(t, err)
	assert.Equal(t, start, without)
}

// recordCheckpoints records a run with a checkpoint after every two seconds.
func recordCheckpoints(t *testing.T, dir string, s randomrun.Run,
	encode func(*scheduler.Core, scheduler.Oracle) ([]byte, error), piece int) (failed []error) {
	t.Helper()
	r := recordedCore(openStore(t, recording.Options{
		Dir: dir, CheckpointEvery: 2 * time.Second,
		OnCheckpoint: func(_ string, _ int, _ time.Duration, err error) {
			if err != nil {
				failed = append(failed, err)
			}
		},
	}), "default", s)
	r.recorder.SetCheckpoints(encode, piece)
	for _, b := range s.Steps {
		r.step(b)
	}
	r.recorder.Close()
	return failed
}

// TestCheckpoint_OfManyPieces: a state is longer than a frame.
func TestCheckpoint_OfManyPieces(t *testing.T) {
	dir := t.TempDir()
	assert.Equal(t, len(recordCheckpoints(t, dir, randomrun.RandomRun(11, stepsPerRun), recording.EncodeState, 100)), 0)
	items, checkpoints := read(t, dir), 0
	for i, x := range items {
		if x.Checkpoint != nil {
			checkpoints++
			assert.Assert(t, x.Checkpoint.Bytes() > 1000)
			_, notReplayed := play(t, items[i:])
			assert.Equal(t, notReplayed, 0)
		}
	}
	assert.Assert(t, checkpoints > 3)
}

// TestCheckpoint_FullDisk: checkpoints that a disk does not take are lost, and later ones are recorded, from which a
// replay goes on.
func TestCheckpoint_FullDisk(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dir, disk := t.TempDir(), &testDisk{}
		s := randomrun.RandomRun(11, stepsPerRun)
		removeResets(s)
		r := recordedCore(openStore(t,
			recording.Options{Dir: dir, Now: time.Now, CheckpointEvery: 2 * time.Second, Create: disk.create}), "default", s)
		r.recorder.SetCheckpoints(recording.EncodeState, 1000)
		n := len(s.Steps)
		for i, b := range s.Steps {
			disk.full = i >= n/3 && i < 2*n/3
			time.Sleep(time.Second)
			r.step(b)
			r.recorder.Flush()
			synctest.Wait()
		}
		r.recorder.Close()
		items := read(t, dir)
		gap := slices.IndexFunc(items, func(x recording.Item) bool { return x.Gap != nil })
		assert.Assert(t, gap > 0)
		behind := slices.IndexFunc(items[gap:], func(x recording.Item) bool { return x.Checkpoint != nil })
		assert.Assert(t, behind > 0, "there is no checkpoint after the disk was full")
		steps := 0
		for _, x := range items[gap+behind:] {
			if x.Step != nil {
				steps++
			}
		}
		played, notReplayed := play(t, items[gap+behind:])
		assert.Equal(t, played, steps)
		assert.Equal(t, notReplayed, 0)
		assert.Assert(t, steps > 0)
	})
}

// TestCheckpoint_FailureIsReportedOnce: the recording goes on without checkpoints.
func TestCheckpoint_FailureIsReportedOnce(t *testing.T) {
	dir := t.TempDir()
	s := randomrun.RandomRun(11, stepsPerRun)
	failed := recordCheckpoints(t, dir, s,
		func(*scheduler.Core, scheduler.Oracle) ([]byte, error) { return nil, errors.New("not listed") }, 100)
	assert.Equal(t, len(failed), 1)
	assert.Error(t, failed[0], "not listed")
	n, notReplayed := play(t, read(t, dir))
	assert.Equal(t, n, len(s.Steps))
	assert.Equal(t, notReplayed, 0)
}
