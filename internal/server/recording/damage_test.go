package recording_test

import (
	"errors"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"gotest.tools/v3/assert"

	"github.com/canopy-scheduler/canopy/internal/lab/playback"
	"github.com/canopy-scheduler/canopy/internal/server/recording"
	"github.com/canopy-scheduler/canopy/internal/testing/randomrun"
	"github.com/canopy-scheduler/canopy/pkg/scheduler"
)

// removeResets leaves one session to a run.
func removeResets(s randomrun.Run) {
	for i, b := range s.Steps {
		if _, resets := b.Command.(scheduler.ResetPartition); resets {
			s.Steps[i].Command = scheduler.Wake{}
		}
	}
}

// smallRecording returns a directory with one session of one segment, in which there is a frame for every four steps.
func smallRecording(t *testing.T, steps int) (dir string, whole session) {
	t.Helper()
	seed := rand.Uint64N(1 << 40)
	t.Logf("seed %d", seed)
	dir = t.TempDir()
	s := randomrun.RandomRun(seed, steps)
	removeResets(s)
	r := recordedCore(openStore(t, recording.Options{Dir: dir}), "default", s)
	for i, b := range s.Steps {
		r.step(b)
		if i%4 == 3 {
			r.recorder.Flush()
		}
	}
	r.recorder.Close()
	return dir, read(t, dir)[0]
}

// readDamaged reads the session of a directory. began is false if its begin cannot be read; incomplete says why then,
// too.
func readDamaged(t *testing.T, dir string) (s session, began bool) {
	t.Helper()
	sessions, err := recording.Sessions(dir)
	assert.NilError(t, err)
	r, err := sessions[0].Open()
	if errors.Is(err, recording.ErrNoBegin) {
		return session{incomplete: err.Error()}, false
	}
	assert.NilError(t, err)
	r.Close()
	return readSession(t, sessions[0]), true
}

// Of a file that ends early each step before the end is read, and replayed.
func TestTornSegment_LosesOnlyItsTail(t *testing.T) {
	dir, whole := smallRecording(t, 10)
	path := onlySegment(t, dir)
	data := readFile(t, path)
	steps := 0
	for size := 0; size < len(data); size += 3 {
		assert.NilError(t, os.WriteFile(path, data[:size], 0o600))
		s, began := readDamaged(t, dir)
		assert.Assert(t, s.incomplete != "", "size %d", size)
		if !began {
			continue
		}
		n := len(s.steps)
		assert.Assert(t, n >= steps, "size %d: %d steps, and %d with less", size, n, steps)
		if n > steps {
			play(t, s)
		}
		steps = n
	}
	assert.Assert(t, steps >= len(whole.steps)-8, "%d of %d steps", steps, len(whole.steps))
}

// Damage ends the session: what is before is replayed, and the file and the place are named.
func TestDamage_EndsTheSession(t *testing.T) {
	dir, whole := smallRecording(t, 10)
	path := onlySegment(t, dir)
	data := readFile(t, path)
	read := 0
	for at := 10; at < len(data); at += 3 { // behind the magic and the version
		damaged := append([]byte(nil), data...)
		damaged[at] ^= 0x40
		assert.NilError(t, os.WriteFile(path, damaged, 0o600))
		s, began := readDamaged(t, dir)
		if !began {
			assert.Assert(t, strings.HasPrefix(s.incomplete, path+": "), s.incomplete)
			continue
		}
		play(t, s)
		if s.incomplete == "" { // such as a greater window than the frame needs
			assert.Equal(t, len(s.steps), len(whole.steps))
			continue
		}
		named := strings.HasPrefix(s.incomplete, filepath.Base(path)+": byte ")
		assert.Assert(t, named, "byte %d: %s", at, s.incomplete)
		lost := len(s.steps) < len(whole.steps) || at > len(data)-100
		assert.Assert(t, lost, "byte %d", at)
		read = max(read, len(s.steps))
	}
	assert.Assert(t, read > 0)
}

func TestOtherVersion_IsRefused(t *testing.T) {
	dir, _ := smallRecording(t, 4)
	path := onlySegment(t, dir)
	data := readFile(t, path)
	for version, want := range map[byte]string{
		4: "it has version 4, and this Canopy reads version 3",
		2: "it has version 2, and this Canopy reads version 3; 'canopy-lab recording convert' converts it",
	} {
		data[8] = version
		assert.NilError(t, os.WriteFile(path, data, 0o600))
		sessions, err := recording.Sessions(dir)
		assert.NilError(t, err)
		_, err = sessions[0].Open()
		assert.ErrorIs(t, err, recording.ErrVersion)
		assert.ErrorContains(t, err, path)
		assert.Assert(t, strings.HasSuffix(err.Error(), want), "%v", err)
	}
}

func TestSessions_OfADirectoryWithoutRecording(t *testing.T) {
	dir := t.TempDir()
	assert.NilError(t, os.WriteFile(filepath.Join(dir, "notes.rec"), nil, 0o600))
	assert.NilError(t, os.MkdirAll(filepath.Join(dir, "default", "0-0.rec.tmp"), 0o700))
	_, err := recording.Sessions(dir)
	assert.ErrorIs(t, err, recording.ErrNoRecording)
	_, err = recording.Sessions(filepath.Join(dir, "none"))
	assert.ErrorIs(t, err, os.ErrNotExist)
}

func TestReader_NamesMissingSegments(t *testing.T) {
	dir := t.TempDir()
	seed := rand.Uint64N(1 << 40)
	t.Logf("seed %d", seed)
	s := randomrun.RandomRun(seed, 30)
	removeResets(s)
	r := recordedCore(openStore(t, recording.Options{Dir: dir, SegmentBytes: 1}), "default", s)
	for _, b := range s.Steps {
		r.step(b)
		r.recorder.Flush()
	}
	r.recorder.Close()
	files, err := filepath.Glob(filepath.Join(dir, "default", "*.rec"))
	assert.NilError(t, err)
	assert.Assert(t, len(files) > 20, "%d segments", len(files))
	whole := read(t, dir)[0]
	assert.Equal(t, play(t, whole), len(s.Steps))
	assert.NilError(t, os.Remove(files[5]))
	assert.NilError(t, os.Remove(files[6]))
	got := read(t, dir)[0]
	assert.Assert(t, len(got.steps) >= 4 && len(got.steps) < len(whole.steps))
	play(t, got)
	assert.Assert(t, strings.HasSuffix(got.incomplete, "2 segments before "+filepath.Base(files[7])+" are missing"),
		got.incomplete)
	assert.NilError(t, os.Remove(files[0]))
	none, began := readDamaged(t, dir)
	assert.Assert(t, !began)
	assert.Assert(t, strings.HasSuffix(none.incomplete, "1 segments before "+filepath.Base(files[1])+" are missing"),
		none.incomplete)
	sessions, err := recording.Sessions(dir)
	assert.NilError(t, err)
	result, err := playback.Play(sessions[0], playback.Window{}, nil)
	assert.NilError(t, err)
	assert.Equal(t, result.Incomplete, none.incomplete)
}

// What is longer than a segment can be, and what has no end, is not read: the session ends before.
func TestReader_RefusesWhatIsLargerThanASegment(t *testing.T) {
	dir, whole := smallRecording(t, 20)
	next := strings.Replace(onlySegment(t, dir), "-000000.", "-000001.", 1)
	data := readFile(t, onlySegment(t, dir))
	assert.NilError(t, os.WriteFile(onlySegment(t, dir), data[:len(data)-1], 0o600)) // without its end
	before, _ := readDamaged(t, dir)
	assert.Assert(t, len(before.steps) > 0 && len(before.steps) <= len(whole.steps))
	data = data[:endOfFrames(data)]
	assert.NilError(t, os.WriteFile(onlySegment(t, dir), data, 0o600))
	for why, make := range map[string]func() error{
		"has 2147483648 bytes, and a segment at most": func() error {
			return errors.Join(os.WriteFile(next, nil, 0o600), os.Truncate(next, 2<<30))
		},
		"is no regular file": func() error { return os.Symlink("/dev/zero", next) },
	} {
		assert.NilError(t, make())
		s := read(t, dir)[0]
		assert.Equal(t, len(s.steps), len(before.steps))
		assert.Assert(t, strings.Contains(s.incomplete, why), s.incomplete)
		assert.NilError(t, os.Remove(next))
	}
}

// endOfFrames returns where the last frame of a segment begins.
func endOfFrames(data []byte) (last int) {
	for at := 10; at < len(data); {
		last = at
		at += 4 + int(data[at]) + int(data[at+1])<<8 + int(data[at+2])<<16
	}
	return last
}

// Each server removes old sessions of its directory, so a second one is refused while the first runs (REC-1).
func TestOpen_OneStoreHasADirectory(t *testing.T) {
	dir := t.TempDir()
	first := openStore(t, recording.Options{Dir: dir})
	_, err := recording.Open(recording.Options{Dir: dir})
	assert.ErrorContains(t, err,
		dir+" is in use by another server, whose recordings would be removed: name another directory")
	assert.NilError(t, first.Close())
	openStore(t, recording.Options{Dir: dir})
	_, err = recording.Open(recording.Options{Dir: t.TempDir(), SegmentBytes: recording.MaxSegmentBytes + 1})
	assert.ErrorContains(t, err, "a segment of 268435457 bytes is too long: at most 268435456")
}
