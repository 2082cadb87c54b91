package recording_test

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"gotest.tools/v3/assert"

	"github.com/canopy-scheduler/canopy/internal/server/recording"
	"github.com/canopy-scheduler/canopy/internal/testing/randomrun"
	"github.com/canopy-scheduler/canopy/pkg/scheduler"
)

// testDisk creates files that may be slow, or full.
type testDisk struct {
	full    bool          // writes fail after half of their bytes
	blocked chan struct{} // writes wait until it is closed; nil: they do not
}

type testFile struct {
	*os.File
	disk *testDisk
}

func (d *testDisk) create(path string) (recording.File, error) {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	return testFile{f, d}, err
}

func (f testFile) Write(b []byte) (int, error) {
	if f.disk.blocked != nil {
		<-f.disk.blocked
	}
	if f.disk.full {
		n, _ := f.File.Write(b[:len(b)/2])
		return n, &os.PathError{Op: "write", Path: f.Name(), Err: syscall.ENOSPC}
	}
	return f.File.Write(b)
}

// failures are the calls of Options.OnFailure as text.
type failures []string

func (f *failures) add(partition string, lost uint64, err error) {
	*f = append(*f, fmt.Sprintf("%s lost %d: %v", partition, lost, err))
}

// gapsOf are the gaps among items, and how many steps there are behind each.
func gapsOf(items []recording.Item) (gaps []recording.Gap, behind []int) {
	for _, x := range items {
		switch {
		case x.Gap != nil:
			gaps, behind = append(gaps, *x.Gap), append(behind, 0)
		case x.Step != nil && len(behind) > 0:
			behind[len(behind)-1]++
		}
	}
	return gaps, behind
}

// removeResets leaves one begin to a run.
func removeResets(s randomrun.Run) {
	for i, b := range s.Steps {
		if _, resets := b.Command.(scheduler.ResetPartition); resets {
			s.Steps[i].Command = scheduler.Wake{}
		}
	}
}

func TestSlowDisk_StepsAreDroppedAndAGapIsRecorded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dir, said := t.TempDir(), failures{}
		disk := &testDisk{blocked: make(chan struct{})}
		seed := rand.Uint64N(1 << 40)
		t.Logf("seed %d", seed)
		s := randomrun.RandomRun(seed, 400)
		r := recordedCore(openStore(t, recording.Options{Dir: dir, Buffer: 5_000, Create: disk.create, OnFailure: said.add}),
			"default", s)
		const slow, fast = 300, 30
		removeResets(s)
		s.Steps[slow] = randomrun.Step{Command: scheduler.ResetPartition{}}
		for i, b := range s.Steps {
			if i == slow-fast {
				close(disk.blocked)
				synctest.Wait() // what waits is written
			}
			r.step(b)
			r.recorder.Flush()
			if i == 0 || i >= slow-fast {
				synctest.Wait() // first the writer waits for the disk, later it keeps up
			}
		}
		r.recorder.Close()
		items := read(t, dir)
		gaps, behind := gapsOf(items)
		assert.Equal(t, len(gaps), 1)
		dropped := len(s.Steps) - stepsOf(items)
		assert.Equal(t, int(gaps[0].Steps), dropped)
		assert.Assert(t, dropped > 0)
		assert.Equal(t, gaps[0].Reason, recording.ErrBufferFull.Error())
		assert.Equal(t, behind[0], len(s.Steps)-slow+fast)
		assert.DeepEqual(t, said, failures{fmt.Sprintf("default lost %d: %v", dropped, recording.ErrBufferFull)})
		compared, notReplayed := play(t, items)
		assert.Equal(t, notReplayed, fast, "from the gap to the reset")
		assert.Equal(t, compared, len(s.Steps)-dropped-fast-1)
	})
}

func TestFullDisk_RecordingGoesOnWhenThereIsSpace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dir, said := t.TempDir(), failures{}
		disk := &testDisk{}
		seed := rand.Uint64N(1 << 40)
		t.Logf("seed %d", seed)
		s := randomrun.RandomRun(seed, 90)
		s.Steps = s.Steps[:90]
		removeResets(s)
		r := recordedCore(openStore(t, recording.Options{Dir: dir, Now: time.Now, Create: disk.create, OnFailure: said.add}),
			"default", s)
		for i, b := range s.Steps {
			disk.full = i >= 30 && i < 60
			time.Sleep(time.Second)
			r.step(b)
			r.recorder.Flush()
			synctest.Wait()
		}
		r.recorder.Close()
		files, err := filepath.Glob(filepath.Join(dir, "default", "*.rec"))
		assert.NilError(t, err)
		assert.Equal(t, len(files), 2, "a segment without a frame is removed: %v", files)
		items := read(t, dir)
		gaps, behind := gapsOf(items)
		assert.Equal(t, len(gaps), 1)
		assert.Equal(t, gaps[0].Steps, uint64(30))
		assert.Equal(t, behind[0], 30)
		assert.Assert(t, len(said) == 7, "%v", said)
		for i, text := range said {
			want := "default lost 5: write "
			switch i {
			case 0:
				want = "default lost 1: write "
			case 6:
				want = "default lost 4: <nil>"
			}
			assert.Equal(t, text[:len(want)], want, "%v", said)
		}
	})
}

func TestFullDisk_TheEndIsAGap(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dir, said := t.TempDir(), failures{}
		disk := &testDisk{full: true}
		s := randomrun.RandomRun(5, 20)
		r := recordedCore(openStore(t, recording.Options{Dir: dir, Create: disk.create, OnFailure: said.add}), "default", s)
		for _, b := range s.Steps {
			r.step(b)
		}
		r.recorder.Flush()
		synctest.Wait()
		disk.full = false
		r.recorder.Close()
		items := read(t, dir)
		assert.Equal(t, len(items), 2)
		assert.Equal(t, items[0].Gap.Steps, uint64(len(s.Steps)))
		assert.Equal(t, items[1].Mark, "end")
		assert.Equal(t, len(said), 2)
	})
}

func TestRetention_RemovesTheOldest(t *testing.T) {
	for name, c := range map[string]struct {
		opt  recording.Options
		want []string
	}{
		"by age":      {recording.Options{MaxAge: time.Hour}, []string{"b", "c"}},
		"by size":     {recording.Options{MaxBytes: 1}, nil},
		"within both": {recording.Options{}, []string{"a", "b", "c"}},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			for i, partition := range []string{"a", "b", "c"} {
				record(openStore(t, recording.Options{Dir: dir}), partition, randomrun.RandomRun(3, 50))
				written := randomrun.StartTime().Add(time.Duration(i-2) * 50 * time.Minute)
				assert.NilError(t, os.Chtimes(onlySegment(t, filepath.Join(dir, partition)), time.Time{}, written))
			}
			c.opt.Dir = dir
			record(openStore(t, c.opt), "now", randomrun.RandomRun(4, 50))
			sessions, err := recording.Sessions(dir)
			if c.opt.MaxBytes == 1 {
				assert.ErrorIs(t, err, recording.ErrNoRecording, "also the one that has just ended")
				return
			}
			assert.NilError(t, err)
			var got []string
			for _, s := range sessions {
				got = append(got, s.Partition)
			}
			assert.DeepEqual(t, got, append(c.want, "now"))
		})
	}
}
