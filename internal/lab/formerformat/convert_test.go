package formerformat_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"go.uber.org/goleak"
	"gotest.tools/v3/assert"

	"github.com/canopy-scheduler/canopy/internal/lab/formerformat"
	"github.com/canopy-scheduler/canopy/internal/lab/playback"
	"github.com/canopy-scheduler/canopy/internal/server/recording"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// former has a recording in version 2 of the format: a random run with all kinds of commands, two begins, answers of a
// resource manager and checkpoints.
const former = "testdata/old"

// played replays all sessions of a directory, and returns their steps and effects as text.
func played(t *testing.T, dir string) (results []playback.Result, steps []string) {
	t.Helper()
	sessions, err := recording.Sessions(dir)
	assert.NilError(t, err)
	for _, s := range sessions {
		r, err := playback.Play(s, playback.Window{}, func(p playback.Played) {
			steps = append(steps,
				fmt.Sprintf("%s %s\n    %s\n", p.Step.At.Format("15:04:05.999999999"), p.Step,
					strings.Join(playback.Texts(p.Effects), "\n    ")))
		})
		assert.NilError(t, err)
		assert.Assert(t, r.Difference == nil, "%v", r.Difference)
		results = append(results, r)
	}
	return results, steps
}

// The effects of the converted recording are compared with the digests of the recorded ones.
func TestConvert_PlaysTheSame(t *testing.T) {
	dir := t.TempDir()
	assert.NilError(t, formerformat.Convert(former, dir))
	results, steps := played(t, dir)
	assert.Equal(t, len(results), 2)
	assert.Equal(t, len(steps), 176)
	assert.Equal(t, results[0].Steps+results[1].Steps, uint64(176))
	assert.Equal(t, results[0].Compared+results[1].Compared, uint64(175), "all but the reset")
	kinds := map[string]bool{}
	for i, r := range results {
		assert.Equal(t, r.Incomplete, "", "session %d", i)
		assert.Equal(t, r.Canopy, "v2")
		assert.Equal(t, r.Partition, "default")
	}
	for _, x := range steps {
		kinds[strings.Fields(x)[1]] = true
	}
	assert.Equal(t, len(kinds), 22, "%v", kinds)     // 21 commands and schedule
	want, err := os.ReadFile("testdata/effects.txt") // as the version that recorded them has shown them
	assert.NilError(t, err)
	var got []string
	for _, line := range strings.Split(strings.Join(steps, ""), "\n") {
		if effect, ok := strings.CutPrefix(line, "    "); ok && effect != "" {
			got = append(got, effect)
		}
	}
	assert.Equal(t, strings.Join(got, "\n")+"\n", string(want))
}

// copied returns a copy of the former recording that may be changed, and its files.
func copied(t *testing.T) (dir string, files []string) {
	t.Helper()
	dir = t.TempDir()
	assert.NilError(t, os.CopyFS(dir, os.DirFS(former)))
	files, err := filepath.Glob(filepath.Join(dir, "*", "*.rec"))
	assert.NilError(t, err)
	assert.Assert(t, len(files) > 3)
	return dir, files
}

// Without its first segment only what follows the next registration is converted, and the error says what is not.
func TestConvert_FirstSegmentsAreMissing(t *testing.T) {
	dir, files := copied(t)
	assert.NilError(t, os.Remove(files[0]))
	to := t.TempDir()
	err := formerformat.Convert(dir, to)
	assert.ErrorContains(t, err, "partition default, recorded since 2023-11-14T22:13:20Z: at least ")
	assert.ErrorContains(t, err, "steps cannot be converted, because what came before them is missing")
	results, _ := played(t, to)
	assert.Equal(t, len(results), 1)
	assert.Equal(t, results[0].Steps, uint64(131))
	for _, path := range files[1 : len(files)-1] {
		assert.NilError(t, os.Remove(path))
	}
	to = t.TempDir()
	assert.ErrorContains(t, formerformat.Convert(dir, to), "cannot be converted")
	_, err = recording.Sessions(to)
	assert.ErrorIs(t, err, recording.ErrNoRecording)
}

// Damage ends a session. Each byte is damaged once: what is converted plays, and says that steps are missing.
func TestConvert_Damage(t *testing.T) {
	dir, files := copied(t)
	path := files[1]
	data, err := os.ReadFile(path)
	assert.NilError(t, err)
	for at := 0; at < len(data); at += 211 {
		damaged := append([]byte(nil), data...)
		damaged[at] ^= 0x40
		assert.NilError(t, os.WriteFile(path, damaged, 0o600))
		to := t.TempDir()
		err := formerformat.Convert(dir, to)
		assert.Assert(t, err != nil, "byte %d", at)
		results, _ := played(t, to)
		incomplete := results[0].Incomplete != ""
		assert.Assert(t, incomplete, "byte %d", at)
	}
}

func TestConvert_Refuses(t *testing.T) {
	assert.ErrorIs(t, formerformat.Convert(t.TempDir(), t.TempDir()), recording.ErrNoRecording)
	once, again := t.TempDir(), t.TempDir()
	assert.NilError(t, formerformat.Convert(former, once))
	err := formerformat.Convert(once, again)
	assert.ErrorContains(t, err, "has version 3 of the format, and only versions 1 to 2 are converted")
	dir, files := copied(t)
	assert.NilError(t, os.Truncate(files[0], 400<<20))
	assert.ErrorContains(t, formerformat.Convert(dir, t.TempDir()), "has 419430400 bytes, and a segment at most")
}

// FuzzConvert converts any file.
func FuzzConvert(f *testing.F) {
	files, err := filepath.Glob(filepath.Join(former, "*", "*.rec"))
	assert.NilError(f, err)
	for _, path := range files {
		data, err := os.ReadFile(path)
		assert.NilError(f, err)
		f.Add(data)
	}
	dir := f.TempDir()
	path := filepath.Join(dir, "default", filepath.Base(files[0]))
	assert.NilError(f, os.MkdirAll(filepath.Dir(path), 0o700))
	f.Fuzz(func(t *testing.T, data []byte) {
		assert.NilError(t, os.WriteFile(path, data, 0o600))
		to := t.TempDir()
		_ = formerformat.Convert(dir, to)
		sessions, err := recording.Sessions(to)
		if err != nil {
			assert.ErrorIs(t, err, recording.ErrNoRecording)
			return
		}
		for _, s := range sessions {
			r, err := s.Open()
			assert.NilError(t, err)
			r.Close()
		}
	})
}
