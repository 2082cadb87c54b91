package recording_test

import (
	"errors"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"gotest.tools/v3/assert"

	"github.com/canopy-scheduler/canopy/internal/server/recording"
	"github.com/canopy-scheduler/canopy/internal/testing/randomrun"
)

// smallRecording is a directory with one segment, and what it has.
func smallRecording(t *testing.T, steps int) (dir string, items []recording.Item) {
	t.Helper()
	for {
		seed := rand.Uint64N(1 << 40)
		t.Logf("seed %d", seed)
		dir = t.TempDir()
		r := recordedCore(openStore(t, recording.Options{Dir: dir}), "default", randomrun.RandomRun(seed, steps))
		for i, b := range randomrun.RandomRun(seed, steps).Steps {
			r.step(b)
			if i%4 == 3 {
				r.recorder.Flush() // a frame for every four steps
			}
		}
		r.recorder.Close()
		if files, err := filepath.Glob(filepath.Join(dir, "*", "*.rec")); err == nil && len(files) == 1 {
			return dir, read(t, dir)
		} // a registration among the steps has begun another segment
	}
}

func stepsOf(items []recording.Item) (n int) {
	for _, x := range items {
		if x.Step != nil {
			n++
		}
	}
	return n
}

func TestTornSegment_LosesOnlyItsTail(t *testing.T) {
	dir, whole := smallRecording(t, 10)
	path := onlySegment(t, dir)
	data := readFile(t, path)
	steps := 0
	for size := range len(data) {
		assert.NilError(t, os.WriteFile(path, data[:size], 0o600))
		items := read(t, dir)
		n := stepsOf(items)
		assert.Assert(t, n >= steps, "size %d: %d steps, and %d with less", size, n, steps)
		if n > steps {
			_, notReplayed := play(t, items)
			assert.Equal(t, notReplayed, 0, "size %d", size)
		}
		steps = n
		last := items[:max(0, len(items)-1)]
		if len(items) > 0 && items[len(items)-1].Gap == nil {
			last = items // it ends between two frames
		}
		assert.Equal(t, len(last), stepsOf(last)+min(1, len(last)), "size %d: a begin and steps", size)
	}
	assert.Assert(t, steps >= stepsOf(whole)-8, "%d of %d steps", steps, stepsOf(whole))
}

func TestDamage_IsAGap(t *testing.T) {
	dir, whole := smallRecording(t, 10)
	path := onlySegment(t, dir)
	data := readFile(t, path)
	for at := 10; at < len(data); at += 3 { // behind the magic and the version
		damaged := append([]byte(nil), data...)
		damaged[at] ^= 0x40
		assert.NilError(t, os.WriteFile(path, damaged, 0o600))
		items := read(t, dir)
		if at%500 == 0 {
			play(t, items)
		}
		var missing uint64
		gaps := 0
		for _, x := range items {
			if x.Gap != nil {
				gaps++
				missing += x.Gap.Steps
				assert.Assert(t, strings.Contains(x.Gap.Reason, filepath.Base(path)+": "), x.Gap.Reason)
			}
		}
		assert.Equal(t, gaps, 1, "byte %d", at)
		assert.Equal(t, int(missing)+stepsOf(items), stepsOf(whole), "byte %d", at)
	}
}

func TestNewerVersion_IsRefused(t *testing.T) {
	dir, _ := smallRecording(t, 4)
	path := onlySegment(t, dir)
	data := readFile(t, path)
	data[8]++
	assert.NilError(t, os.WriteFile(path, data, 0o600))
	sessions, err := recording.Sessions(dir)
	assert.NilError(t, err)
	r := sessions[0].Open()
	defer r.Close()
	_, err = r.Next()
	assert.ErrorIs(t, err, recording.ErrVersion)
	assert.ErrorContains(t, err, path)
	assert.ErrorContains(t, err, "it has version 3, and this Canopy reads versions 1 to 2")
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
	r := recordedCore(openStore(t, recording.Options{Dir: dir, SegmentBytes: 1}), "default", s)
	for _, b := range s.Steps {
		r.step(b)
		r.recorder.Flush()
	}
	r.recorder.Close()
	files, err := filepath.Glob(filepath.Join(dir, "default", "*.rec"))
	assert.NilError(t, err)
	assert.Assert(t, len(files) > 20, "%d segments", len(files))
	assert.NilError(t, os.Remove(files[5]))
	assert.NilError(t, os.Remove(files[6]))
	assert.NilError(t, os.Remove(files[0]))
	items := read(t, dir)
	_, notReplayed := play(t, items)
	assert.Equal(t, notReplayed, stepsOf(items))
	assert.Equal(t, items[0].Gap.Reason, "1 segments before "+filepath.Base(files[1])+" are missing")
	assert.Equal(t, items[5].Gap.Reason, "2 segments before "+filepath.Base(files[7])+" are missing")
	assert.Equal(t, items[5].Gap.Steps, uint64(2))
}

// What is larger than a segment can be, and what is no file, is not read: it is a gap.
func TestReader_RefusesWhatIsLargerThanASegment(t *testing.T) {
	dir := t.TempDir()
	record(openStore(t, recording.Options{Dir: dir}), "default", randomrun.RandomRun(1, 20))
	whole := onlySegment(t, filepath.Join(dir, "default"))
	before := len(read(t, dir))
	next := strings.Replace(whole, "-000000.", "-000001.", 1)
	assert.Assert(t, next != whole)
	for why, make := range map[string]func() error{
		"it has 285212673 bytes, and a segment at most 285212672": func() error {
			return errors.Join(os.WriteFile(next, nil, 0o600), os.Truncate(next, 285212673))
		},
		"it is no regular file": func() error { return os.Symlink(os.DevNull, next) },
	} {
		assert.NilError(t, make())
		items := read(t, dir)
		assert.Equal(t, len(items), before+1)
		gap := items[before].Gap
		assert.Assert(t, gap != nil && strings.Contains(gap.Reason, why), "%+v", items[before])
		assert.NilError(t, os.Remove(next))
	}
}

// Each server removes old segments of its directory, so a second one is refused while the first runs (REC-1).
func TestOpen_OneStoreHasADirectory(t *testing.T) {
	dir := t.TempDir()
	first := openStore(t, recording.Options{Dir: dir})
	_, err := recording.Open(recording.Options{Dir: dir})
	assert.ErrorContains(t, err,
		dir+" is in use by another server, whose recordings would be removed: name another directory")
	assert.NilError(t, first.Close())
	openStore(t, recording.Options{Dir: dir, SegmentBytes: recording.MaxSegmentBytes})
	_, err = recording.Open(recording.Options{Dir: t.TempDir(), SegmentBytes: recording.MaxSegmentBytes + 1})
	assert.ErrorContains(t, err, "a segment of 268435457 bytes is too long: at most 268435456")
}
