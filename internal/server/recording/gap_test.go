package recording_test

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
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
	fails   int           // how many writes fail
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
	if f.disk.full || f.disk.fails > 0 {
		f.disk.fails--
		n, _ := f.File.Write(b[:len(b)/2])
		return n, &os.PathError{Op: "write", Path: f.Name(), Err: syscall.ENOSPC}
	}
	return f.File.Write(b)
}

// failures are the calls of Options.OnFailure as text.
type failures []string

func (f *failures) add(partition string, err error) {
	*f = append(*f, fmt.Sprintf("%s: %v", partition, err))
}

// A disk that is too slow ends the session with the steps that the buffer took, and a reset begins another one.
func TestSlowDisk_EndsTheSession(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dir, said := t.TempDir(), failures{}
		disk := &testDisk{blocked: make(chan struct{})}
		seed := rand.Uint64N(1 << 40)
		t.Logf("seed %d", seed)
		const steps, lost, after = 3000, 30, 70
		s := randomrun.RandomRun(seed, steps)
		removeResets(s)
		store := openStore(t, // every step fits the buffer, and all of them together do not
			recording.Options{Dir: dir, Now: time.Now, Buffer: 20_000, Create: disk.create, OnFailure: said.add})
		r := recordedCore(store, "default", s)
		reset := steps // until the session has ended
		for i := 0; i < len(s.Steps); i++ {
			if reset == steps && store.Ended("default") != nil {
				assert.ErrorIs(t, store.Ended("default"), recording.ErrBufferFull)
				reset = i + lost
				s.Steps = s.Steps[:reset+after]
				s.Steps[reset] = randomrun.Step{Command: scheduler.ResetPartition{}}
				close(disk.blocked)
				synctest.Wait() // what waits is written
			}
			r.step(s.Steps[i])
			r.recorder.Flush()
			if i == 0 || reset < steps {
				synctest.Wait() // first the writer waits for the disk, later it keeps up
			}
		}
		r.recorder.Close()
		assert.NilError(t, store.Ended("default"))
		sessions := read(t, dir)
		assert.Equal(t, len(sessions), 2)
		assert.Equal(t, sessions[0].incomplete, recording.ErrBufferFull.Error())
		dropped := reset - len(sessions[0].steps)
		assert.Assert(t, dropped >= lost && len(sessions[0].steps) > 0, "%d", dropped)
		assert.Equal(t, store.LostSteps("default"), uint64(dropped))
		assert.Equal(t, sessions[1].incomplete, "")
		assert.Equal(t, len(sessions[1].steps), len(s.Steps)-reset)
		assert.DeepEqual(t, said,
			failures{"default: the session is not recorded any more: " + recording.ErrBufferFull.Error()})
		assert.Equal(t, play(t, sessions...), len(s.Steps)-dropped-1)
	})
}

// A disk that fails ends the session. Steps go on, and when a reset comes there is space again.
func TestFullDisk_EndsTheSession(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dir, said := t.TempDir(), failures{}
		disk := &testDisk{}
		seed := rand.Uint64N(1 << 40)
		t.Logf("seed %d", seed)
		s := randomrun.RandomRun(seed, 90)
		s.Steps = s.Steps[:90]
		removeResets(s)
		for _, reset := range []int{40, 70} {
			s.Steps[reset] = randomrun.Step{Command: scheduler.ResetPartition{}}
		}
		store := openStore(t, recording.Options{Dir: dir, Now: time.Now, Create: disk.create, OnFailure: said.add})
		r := recordedCore(store, "default", s)
		for i, b := range s.Steps {
			disk.full = i >= 30 && i < 60
			time.Sleep(time.Second)
			r.step(b)
			r.recorder.Flush()
			synctest.Wait()
			assert.Equal(t, store.Ended("default") != nil, i >= 30 && i < 70, "step %d", i)
		}
		r.recorder.Close()
		sessions := read(t, dir)
		assert.Equal(t, len(sessions), 2, "that of step 40 has no step")
		assert.Equal(t, len(sessions[0].steps), 30)
		assert.Assert(t, strings.Contains(sessions[0].incomplete, ": byte "), sessions[0].incomplete)
		assert.Equal(t, len(sessions[1].steps), 20)
		compared := play(t, sessions...) // of a last step without effects it is not known whether it is whole
		assert.Assert(t, compared == 30+20-1 || compared == 30+20-2, "%d", compared)
		assert.Equal(t, store.LostSteps("default"), uint64(9+29), "but for those that the disk did not take")
		assert.Equal(t, len(said), 2, "%v", said)
		for _, text := range said {
			assert.Assert(t, strings.HasPrefix(text, "default: the session is not recorded any more: write "), text)
		}
	})
}

// A session whose frames fail after a reset ends alone.
func TestFullDisk_EndsOnlyThatSession(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dir, said := t.TempDir(), failures{}
		disk := &testDisk{blocked: make(chan struct{}), fails: 1}
		s := randomrun.RandomRun(5, 60)
		removeResets(s)
		const reset = 30
		s.Steps[reset] = randomrun.Step{Command: scheduler.ResetPartition{}}
		store := openStore(t, recording.Options{Dir: dir, Now: time.Now, Create: disk.create, OnFailure: said.add})
		r := recordedCore(store, "default", s)
		for _, b := range s.Steps {
			r.step(b)
			r.recorder.Flush()
		}
		close(disk.blocked)
		synctest.Wait()
		assert.NilError(t, store.Ended("default"))
		assert.Equal(t, len(said), 1, "%v", said)
		r.recorder.Close()
		sessions := read(t, dir)
		assert.Equal(t, len(sessions), 1)
		assert.Equal(t, len(sessions[0].steps), len(s.Steps)-reset)
		assert.Equal(t, play(t, sessions...), len(s.Steps)-reset-1)
	})
}

// A session that is longer than all may be is recorded as far as it is not, and its reason is in it.
func TestRetention_EndsASessionThatIsTooLong(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dir, said := t.TempDir(), failures{}
		s := randomrun.RandomRun(7, 400)
		removeResets(s)
		const reset = 390
		s.Steps[reset] = randomrun.Step{Command: scheduler.ResetPartition{}}
		const most = 6_000
		store := openStore(t,
			recording.Options{Dir: dir, Now: time.Now, SegmentBytes: 1_000, MaxBytes: most, OnFailure: said.add})
		r := recordedCore(store, "default", s)
		for i, b := range s.Steps {
			if i == reset {
				assert.ErrorIs(t, store.Ended("default"), recording.ErrTooLong)
				sessions := read(t, dir)
				assert.Equal(t, len(sessions), 1)
				assert.Assert(t, strings.HasPrefix(sessions[0].incomplete, recording.ErrTooLong.Error()), sessions[0].incomplete)
				assert.Equal(t, play(t, sessions...), len(sessions[0].steps))
				assert.Assert(t, bytesOf(t, dir) > most && bytesOf(t, dir) < 2*most)
			}
			time.Sleep(time.Second)
			r.step(b)
			r.recorder.Flush()
			synctest.Wait()
		}
		r.recorder.Close()
		sessions := read(t, dir)
		assert.Equal(t, len(sessions), 1, "the one before was removed for it")
		assert.Equal(t, len(sessions[0].steps), len(s.Steps)-reset)
		assert.Equal(t, sessions[0].incomplete, "")
		assert.Equal(t, len(said), 1, "%v", said)
	})
}

// bytesOf returns how long all segments of a directory are.
func bytesOf(t *testing.T, dir string) (n int64) {
	sessions, err := recording.Sessions(dir)
	assert.NilError(t, err)
	for _, s := range sessions {
		n += s.Bytes
	}
	return n
}

// Sessions are removed whole, the oldest first.
func TestRetention_RemovesTheOldest(t *testing.T) {
	for name, c := range map[string]struct {
		opt  recording.Options
		want []string
	}{
		"by age":      {recording.Options{MaxAge: time.Hour}, []string{"b", "c"}},
		"by size":     {recording.Options{MaxBytes: -1}, []string{"b", "c"}},
		"within both": {recording.Options{}, []string{"a", "b", "c"}},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			for i, partition := range []string{"a", "b", "c"} {
				s := randomrun.RandomRun(3, 50)
				removeResets(s)
				record(openStore(t, recording.Options{Dir: dir, SegmentBytes: 500}), partition, s)
				files, err := filepath.Glob(filepath.Join(dir, partition, "*.rec"))
				assert.NilError(t, err)
				for j, path := range files { // the last segment says how old the session is
					written := randomrun.StartTime().Add(time.Duration(i-2)*50*time.Minute -
						time.Duration(len(files)-1-j)*24*time.Hour)
					assert.NilError(t, os.Chtimes(path, time.Time{}, written))
				}
			}
			c.opt.Dir = dir
			if c.opt.MaxBytes < 0 {
				c.opt.MaxBytes += bytesOf(t, dir)
			}
			s := randomrun.RandomRun(4, 50)
			removeResets(s)
			record(openStore(t, c.opt), "now", s)
			sessions, err := recording.Sessions(dir)
			assert.NilError(t, err)
			var got []string
			for _, s := range sessions {
				got = append(got, s.Partition)
				assert.Equal(t, readSession(t, s).incomplete, "")
			}
			assert.DeepEqual(t, got, append(c.want, "now"))
		})
	}
}
