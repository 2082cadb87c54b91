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

// fakeFile is a file in memory, watched in virtual time.
type fakeFile struct {
	mu        sync.Mutex
	content   string
	err       error
	accept    bool
	delivered []string
	logs      *observer.ObservedLogs
	events    chan struct{}
}

func watchFakeFile(t *testing.T) *fakeFile {
	core, logs := observer.New(zapcore.DebugLevel)
	d := &fakeFile{content: "old", accept: true, logs: logs, events: make(chan struct{}, 1)}
	w := newFileWatch("q.yaml", []byte("old"), Options{Log: zap.New(core)}, func(content []byte) bool {
		d.mu.Lock()
		defer d.mu.Unlock()
		d.delivered = append(d.delivered, string(content))
		return d.accept
	})
	w.read = func() ([]byte, error) {
		d.mu.Lock()
		defer d.mu.Unlock()
		return []byte(d.content), d.err
	}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() { defer close(ended); w.run(ctx, d.events, func() {}) }()
	t.Cleanup(func() { cancel(); <-ended })
	synctest.Wait()
	return d
}

// set changes the content, or the read error, and with notify sends an event.
func (d *fakeFile) set(content string, err error, notify bool) {
	d.mu.Lock()
	d.content, d.err = content, err
	d.mu.Unlock()
	if notify {
		d.events <- struct{}{}
	}
}

func (d *fakeFile) deliveredAfter(t time.Duration) string {
	<-time.After(t)
	synctest.Wait()
	d.mu.Lock()
	defer d.mu.Unlock()
	return strings.Join(d.delivered, ",")
}

func TestWatch_DeliversAfterQuietPeriod(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := watchFakeFile(t)
		assert.Equal(t, d.deliveredAfter(time.Minute), "", "the known content is not delivered")
		d.set("ne", nil, true)
		assert.Equal(t, d.deliveredAfter(100*time.Millisecond), "")
		d.set("new", nil, true)
		assert.Equal(t, d.deliveredAfter(400*time.Millisecond), "", "the content must be read twice, a quiet period apart")
		assert.Equal(t, d.deliveredAfter(200*time.Millisecond), "new")
		assert.Equal(t, d.deliveredAfter(time.Minute), "new", "delivered once")
		d.set("new", nil, true)
		assert.Equal(t, d.deliveredAfter(time.Minute), "new", "the same content written again is not delivered")
		d.set("old", nil, true)
		assert.Equal(t, d.deliveredAfter(time.Minute), "new,old")
	})
}

func TestWatch_WaitsForOngoingWrites(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := watchFakeFile(t)
		for range 100 {
			d.set(d.content+"x", nil, true)
			assert.Equal(t, d.deliveredAfter(200*time.Millisecond), "")
		}
		assert.Equal(t, d.deliveredAfter(time.Second), "old"+strings.Repeat("x", 100))
	})
}

func TestWatch_PollsWithoutEvents(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := watchFakeFile(t)
		d.set("new", nil, false)
		assert.Equal(t, d.deliveredAfter(11*time.Second), "new")
	})
}

func TestWatch_MissingFileIsNoChange(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := watchFakeFile(t)
		d.set("", errors.New("no such file"), true)
		assert.Equal(t, d.deliveredAfter(time.Minute), "")
		assert.Equal(t, d.logs.FilterMessageSnippet("cannot be read").Len(), 1, "logged once")
		d.set("old", nil, true)
		assert.Equal(t, d.deliveredAfter(time.Minute), "")
		assert.Equal(t, d.logs.FilterMessageSnippet("can be read again").Len(), 1)
		d.set("new", nil, true)
		assert.Equal(t, d.deliveredAfter(time.Minute), "new")
	})
}

func TestWatch_RetriesUnhandledContent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := watchFakeFile(t)
		d.accept = false
		d.set("new", nil, true)
		assert.Equal(t, d.deliveredAfter(5*time.Second), "new")
		d.mu.Lock()
		d.accept = true
		d.mu.Unlock()
		assert.Equal(t, d.deliveredAfter(time.Minute), "new,new")
	})
}

// watchFile watches a real file, and returns the channel of delivered contents.
func watchFile(t *testing.T, file string) <-chan string {
	t.Helper()
	known, err := os.ReadFile(file)
	assert.NilError(t, err)
	delivered := make(chan string, 100)
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan struct{})
	opt := Options{QuietPeriod: time.Millisecond, Poll: time.Hour, MaxBytes: 100}
	go func() {
		defer close(ended)
		Watch(ctx, file, known, opt, func(content []byte) bool { delivered <- string(content); return true })
	}()
	t.Cleanup(func() { cancel(); <-ended })
	return delivered
}

func waitForContent(t *testing.T, delivered <-chan string, want string) {
	t.Helper()
	for {
		select {
		case got := <-delivered:
			if got == want {
				return
			}
			// A writer slower than the quiet period of this test may have written a part only.
			assert.Assert(t, strings.HasPrefix(want, got), "%q", got)
		case <-time.After(20 * time.Second):
			t.Fatalf("%q was not delivered", want)
		}
	}
}

func write(t *testing.T, file, content string) {
	t.Helper()
	assert.NilError(t, os.WriteFile(file, []byte(content), 0o600))
}

func TestWatch_EditRenameAndReplace(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "queues.yaml")
	write(t, file, "one")
	delivered := watchFile(t, file)
	write(t, file, "two")
	waitForContent(t, delivered, "two")

	write(t, filepath.Join(dir, "new"), "three")
	assert.NilError(t, os.Rename(filepath.Join(dir, "new"), file))
	waitForContent(t, delivered, "three")

	assert.NilError(t, os.Remove(file))
	write(t, file, "four")
	waitForContent(t, delivered, "four")

	write(t, file, strings.Repeat("x", 200))
	waitForContent(t, delivered, strings.Repeat("x", 101))
}

// A named pipe in place of the file does not block the watch: opening a pipe could wait for a writer for
// ever (CFG-93).
func TestWatch_DoesNotBlockOnPipe(t *testing.T) {
	file := filepath.Join(t.TempDir(), "queues.yaml")
	write(t, file, "one")
	delivered := watchFile(t, file)
	assert.NilError(t, os.Remove(file))
	assert.NilError(t, syscall.Mkfifo(file, 0o600))
	_, err := Read(file, 10)
	assert.Error(t, err, file+" is not a regular file")
	assert.NilError(t, os.Remove(file))
	write(t, file, "two")
	waitForContent(t, delivered, "two")
}

// A ConfigMap mount is a directory in which ..data is a symbolic link to the present version. An update
// swaps the link (CFG-90).
func TestWatch_ConfigMapSwap(t *testing.T) {
	dir := t.TempDir()
	swap := func(version, content string) {
		assert.NilError(t, os.Mkdir(filepath.Join(dir, version), 0o700))
		write(t, filepath.Join(dir, version, "queues.yaml"), content)
		assert.NilError(t, os.Symlink(version, filepath.Join(dir, "tmp")))
		assert.NilError(t, os.Rename(filepath.Join(dir, "tmp"), filepath.Join(dir, "..data")))
	}
	swap("..1", "one")
	file := filepath.Join(dir, "queues.yaml")
	assert.NilError(t, os.Symlink("..data/queues.yaml", file))
	delivered := watchFile(t, file)
	for _, content := range []string{"two", "three", "four"} {
		swap(".."+content, content)
		waitForContent(t, delivered, content)
	}
}

func TestWatch_SymlinkToAnotherDirectory(t *testing.T) {
	linkDir, targetDir := t.TempDir(), t.TempDir()
	target := filepath.Join(targetDir, "target")
	write(t, target, "one")
	file := filepath.Join(linkDir, "queues.yaml")
	assert.NilError(t, os.Symlink(target, file))
	delivered := watchFile(t, file)
	write(t, target, "two")
	waitForContent(t, delivered, "two")
}

// Read accepts a bound of math.MaxInt, where the bound plus one byte would overflow.
func TestRead_LargestBound(t *testing.T) {
	name := filepath.Join(t.TempDir(), "file")
	write(t, name, "content")
	got, err := Read(name, math.MaxInt)
	assert.NilError(t, err)
	assert.Equal(t, string(got), "content")
}
