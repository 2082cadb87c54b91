package configwatch

import (
	"context"
	"errors"
	"math"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"
	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
	"go.uber.org/zap/zaptest/observer"
	"gotest.tools/v3/assert"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// desk is a file in memory that is watched in virtual time.
type desk struct {
	mu      sync.Mutex
	content string
	err     error
	willing bool
	heard   []string
	logs    *observer.ObservedLogs
	stirs   chan struct{}
}

func watchDesk(t *testing.T) *desk {
	core, logs := observer.New(zapcore.DebugLevel)
	d := &desk{content: "old", willing: true, logs: logs, stirs: make(chan struct{}, 1)}
	w := newWatch("q.yaml", []byte("old"), Options{Log: zap.New(core)}, func(content []byte) bool {
		d.mu.Lock()
		defer d.mu.Unlock()
		d.heard = append(d.heard, string(content))
		return d.willing
	})
	w.read = func() ([]byte, error) {
		d.mu.Lock()
		defer d.mu.Unlock()
		return []byte(d.content), d.err
	}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() { defer close(ended); w.run(ctx, d.stirs, func() {}) }()
	t.Cleanup(func() { cancel(); <-ended })
	synctest.Wait()
	return d
}

// set writes the file, and tells of it unless nobody does.
func (d *desk) set(content string, err error, told bool) {
	d.mu.Lock()
	d.content, d.err = content, err
	d.mu.Unlock()
	if told {
		d.stirs <- struct{}{}
	}
}

func (d *desk) after(t time.Duration) string {
	<-time.After(t)
	synctest.Wait()
	d.mu.Lock()
	defer d.mu.Unlock()
	return strings.Join(d.heard, ",")
}

func TestANewContentIsHandedOnOnceItIsStill(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := watchDesk(t)
		assert.Equal(t, d.after(time.Minute), "", "what was known is no news")
		d.set("ne", nil, true)
		assert.Equal(t, d.after(100*time.Millisecond), "")
		d.set("new", nil, true)
		assert.Equal(t, d.after(400*time.Millisecond), "", "it must be still for two quiet times")
		assert.Equal(t, d.after(200*time.Millisecond), "new")
		assert.Equal(t, d.after(time.Minute), "new", "once")
		d.set("new", nil, true)
		assert.Equal(t, d.after(time.Minute), "new", "written again, but the same")
		d.set("old", nil, true)
		assert.Equal(t, d.after(time.Minute), "new,old")
	})
}

func TestAFileThatIsWrittenForALongTimeIsWaitedFor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := watchDesk(t)
		for range 100 {
			d.set(d.content+"x", nil, true)
			assert.Equal(t, d.after(200*time.Millisecond), "")
		}
		assert.Equal(t, d.after(time.Second), "old"+strings.Repeat("x", 100))
	})
}

func TestAFileSystemThatDoesNotTell(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := watchDesk(t)
		d.set("new", nil, false)
		assert.Equal(t, d.after(11*time.Second), "new")
	})
}

func TestAMissingFileIsNothingNew(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := watchDesk(t)
		d.set("", errors.New("no such file"), true)
		assert.Equal(t, d.after(time.Minute), "")
		assert.Equal(t, d.logs.FilterMessageSnippet("cannot be read").Len(), 1, "said once")
		d.set("old", nil, true)
		assert.Equal(t, d.after(time.Minute), "")
		assert.Equal(t, d.logs.FilterMessageSnippet("can be read again").Len(), 1)
		d.set("new", nil, true)
		assert.Equal(t, d.after(time.Minute), "new")
	})
}

func TestWhatCouldNotBeDealtWithIsTriedAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := watchDesk(t)
		d.willing = false
		d.set("new", nil, true)
		assert.Equal(t, d.after(5*time.Second), "new")
		d.mu.Lock()
		d.willing = true
		d.mu.Unlock()
		assert.Equal(t, d.after(time.Minute), "new,new")
	})
}

// real watches a real file, and returns what is handed on.
func real(t *testing.T, file string) <-chan string {
	t.Helper()
	known, err := os.ReadFile(file)
	assert.NilError(t, err)
	heard := make(chan string, 100)
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan struct{})
	opt := Options{Quiet: time.Millisecond, Poll: time.Hour, MaxBytes: 100}
	go func() {
		defer close(ended)
		Watch(ctx, file, known, opt, func(content []byte) bool { heard <- string(content); return true })
	}()
	t.Cleanup(func() { cancel(); <-ended })
	return heard
}

func wantNews(t *testing.T, heard <-chan string, want string) {
	t.Helper()
	for {
		select {
		case got := <-heard:
			if got == want {
				return
			}
			// A writer that is slower than the quiet time of this test is seen at work.
			assert.Assert(t, strings.HasPrefix(want, got), "%q", got)
		case <-time.After(20 * time.Second):
			t.Fatalf("nobody noticed %q", want)
		}
	}
}

func write(t *testing.T, file, content string) {
	t.Helper()
	assert.NilError(t, os.WriteFile(file, []byte(content), 0o600))
}

func TestFilesThatChangeInEveryWay(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "queues.yaml")
	write(t, file, "one")
	heard := real(t, file)
	write(t, file, "two")
	wantNews(t, heard, "two")

	write(t, filepath.Join(dir, "new"), "three")
	assert.NilError(t, os.Rename(filepath.Join(dir, "new"), file))
	wantNews(t, heard, "three")

	assert.NilError(t, os.Remove(file))
	write(t, file, "four")
	wantNews(t, heard, "four")

	write(t, file, strings.Repeat("x", 200))
	wantNews(t, heard, strings.Repeat("x", 101))
}

// To open a pipe is to wait for who writes to it, for ever if need be, and the end with it.
func TestAPipeIsNotWaitedFor(t *testing.T) {
	file := filepath.Join(t.TempDir(), "queues.yaml")
	write(t, file, "one")
	heard := real(t, file)
	assert.NilError(t, os.Remove(file))
	assert.NilError(t, syscall.Mkfifo(file, 0o600))
	_, err := Read(file, 10)
	assert.Error(t, err, file+" is not a regular file")
	assert.NilError(t, os.Remove(file))
	write(t, file, "two")
	wantNews(t, heard, "two")
}

// A ConfigMap is a directory in which ..data is a link to the directory in force.
func TestAConfigMapIsSwapped(t *testing.T) {
	dir := t.TempDir()
	put := func(version, content string) {
		assert.NilError(t, os.Mkdir(filepath.Join(dir, version), 0o700))
		write(t, filepath.Join(dir, version, "queues.yaml"), content)
		assert.NilError(t, os.Symlink(version, filepath.Join(dir, "tmp")))
		assert.NilError(t, os.Rename(filepath.Join(dir, "tmp"), filepath.Join(dir, "..data")))
	}
	put("..1", "one")
	file := filepath.Join(dir, "queues.yaml")
	assert.NilError(t, os.Symlink("..data/queues.yaml", file))
	heard := real(t, file)
	for _, content := range []string{"two", "three", "four"} {
		put(".."+content, content)
		wantNews(t, heard, content)
	}
}

func TestALinkLeadsToAnotherDirectory(t *testing.T) {
	here, there := t.TempDir(), t.TempDir()
	target := filepath.Join(there, "target")
	write(t, target, "one")
	file := filepath.Join(here, "queues.yaml")
	assert.NilError(t, os.Symlink(target, file))
	heard := real(t, file)
	write(t, target, "two")
	wantNews(t, heard, "two")
}

// One byte more than the largest number cannot be counted; the file is read all the same.
func TestTheLargestBoundReadsEverything(t *testing.T) {
	name := filepath.Join(t.TempDir(), "file")
	write(t, name, "content")
	got, err := Read(name, math.MaxInt)
	assert.NilError(t, err)
	assert.Equal(t, string(got), "content")
}
