package logging

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"
	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
	"gotest.tools/v3/assert"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// blockingPipe is the output of a log. While it is held, Write blocks.
type blockingPipe struct {
	mu   sync.Mutex
	text bytes.Buffer
	err  error
	read chan struct{} // closed: writes do not block
}

func newBlockingPipe() *blockingPipe { return &blockingPipe{read: make(chan struct{})} }

func (p *blockingPipe) Write(b []byte) (int, error) {
	<-p.read
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.err != nil {
		return 0, p.err
	}
	return p.text.Write(b)
}

func (p *blockingPipe) fail(err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.err = err
}

func (p *blockingPipe) lines() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return strings.Split(strings.TrimSuffix(p.text.String(), "\n"), "\n")
}

func droppedNotice(lines int64) []byte { return fmt.Appendf(nil, "%d dropped\n", lines) }

func writeLines(t *testing.T, w *Writer, lines ...string) {
	t.Helper()
	for _, line := range lines {
		n, err := w.Write([]byte(line + "\n"))
		assert.NilError(t, err)
		assert.Equal(t, n, len(line)+1)
	}
}

func TestWriter_NeverBlocksAndCountsWhatItDrops(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		out := newBlockingPipe()
		w := NewWriter(out, 10, droppedNotice)
		writeLines(t, w, "a")
		synctest.Wait() // the first line is being written, and the buffer is empty
		writeLines(t, w, "bbbb", "cccc", "d", "e")
		assert.Equal(t, w.Dropped(), int64(2))
		assert.ErrorContains(t, w.Flush(time.Second), "could not be written within 1s")
		close(out.read)
		assert.NilError(t, w.Flush(time.Second))
		assert.DeepEqual(t, out.lines(), []string{"a", "bbbb", "cccc", "2 dropped"})
		writeLines(t, w, "f")
		assert.NilError(t, w.Close(time.Second))
		assert.DeepEqual(t, out.lines(), []string{"a", "bbbb", "cccc", "2 dropped", "f"})
		writeLines(t, w, "g") // a line after Close is dropped and counted
		assert.Equal(t, w.Dropped(), int64(3))
	})
}

func TestWriter_CloseIsBoundedWithoutAReader(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		out := newBlockingPipe()
		w := NewWriter(out, 10, droppedNotice)
		writeLines(t, w, "a")
		start := time.Now()
		assert.ErrorContains(t, w.Close(2*time.Second), "could not be written within 2s")
		assert.Equal(t, time.Since(start), 2*time.Second)
		close(out.read)
	})
}

func TestWriter_LinesThatCannotBeWrittenAreCounted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		out := newBlockingPipe()
		close(out.read)
		out.fail(errors.New("no space left on device"))
		w := NewWriter(out, 100, droppedNotice)
		writeLines(t, w, "a", "b")
		assert.NilError(t, w.Flush(time.Second))
		assert.Equal(t, w.Dropped(), int64(2))
		writeLines(t, w, "c") // with a notice of two dropped lines, which is lost too
		assert.NilError(t, w.Flush(time.Second))
		out.fail(nil)
		writeLines(t, w, "d")
		assert.NilError(t, w.Close(time.Second))
		assert.DeepEqual(t, out.lines(), []string{"d", "3 dropped"})
	})
}

func TestWriter_KeepsLinesWholeAndInOrderUnderLoad(t *testing.T) {
	out := newBlockingPipe()
	close(out.read)
	w := NewWriter(out, 0, droppedNotice)
	var writers sync.WaitGroup
	for g := range 4 {
		writers.Go(func() {
			for i := range 1000 {
				fmt.Fprintf(w, "%d %d\n", g, i)
			}
		})
	}
	writers.Wait()
	assert.NilError(t, w.Close(time.Minute))
	assert.Equal(t, w.Dropped(), int64(0))
	next := map[int]int{}
	for _, line := range out.lines() {
		var g, i int
		_, err := fmt.Sscanf(line, "%d %d", &g, &i)
		assert.NilError(t, err, "%q", line)
		assert.Equal(t, i, next[g])
		next[g]++
	}
	assert.DeepEqual(t, next, map[int]int{0: 1000, 1: 1000, 2: 1000, 3: 1000})
}

func newLog(out *blockingPipe, buffer, burst int) *Log {
	c := zap.NewProductionEncoderConfig()
	c.TimeKey = ""
	return New(out, Options{Encoder: zapcore.NewJSONEncoder(c), Level: zapcore.DebugLevel, Buffer: buffer, Burst: burst})
}

func TestLog_RepeatedLinesAreOmittedWithACount(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		out := newBlockingPipe()
		close(out.read)
		log := newLog(out, 0, 2)
		for i := range 5 {
			log.Info("ask refused", zap.Int("number", i))
			log.Warn("node lost")
		}
		log.Info("other")
		<-time.After(1100 * time.Millisecond)
		for range 3 {
			log.Info("ask refused")
		}
		assert.Equal(t, log.Omitted(), int64(7))
		assert.NilError(t, log.Close())
		assert.DeepEqual(t, out.lines(), []string{
			`{"level":"info","msg":"ask refused","number":0}`,
			`{"level":"warn","msg":"node lost"}`,
			`{"level":"info","msg":"ask refused","number":1}`,
			`{"level":"warn","msg":"node lost"}`,
			`{"level":"info","msg":"other"}`,
			`{"level":"info","msg":"log lines left out: the same message was logged too often","message":"ask ` +
				`refused","lines":3}`,
			`{"level":"warn","msg":"log lines left out: the same message was logged too often","message":"node lost","lines":3}`,
			`{"level":"info","msg":"ask refused"}`,
			`{"level":"info","msg":"ask refused"}`,
			`{"level":"info","msg":"log lines left out: the same message was logged too often","message":"ask ` +
				`refused","lines":1}`,
		})
	})
}

// A message that contains data must not make the report as large as the burst.
func TestLog_TheReportOfOmittedLinesIsBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		out := newBlockingPipe()
		close(out.read)
		log := newLog(out, 0, 1)
		for i := range 5000 {
			message := fmt.Sprint("message ", i)
			log.Info(message)
			log.Info(message)
		}
		assert.Assert(t, log.Omitted() >= 5000)
		<-time.After(2 * time.Second)
		assert.NilError(t, log.Close())
		reports := 0
		for _, line := range out.lines() {
			reports += strings.Count(line, "log lines left out")
		}
		assert.Equal(t, reports, maxMessages+1)
	})
}

func TestLog_UnreadLinesAreDroppedAndReportedLater(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		out := newBlockingPipe()
		log := newLog(out, 1000, 0)
		log.Info("first")
		synctest.Wait() // the write is blocked
		for i := range 999 {
			log.Info("line", zap.Int("number", i))
		}
		dropped := log.Dropped()
		assert.Assert(t, dropped > 900, dropped)
		close(out.read)
		assert.NilError(t, log.Flush(time.Second))
		assert.NilError(t, log.Close())
		lines := out.lines()
		assert.Equal(t, int64(len(lines)-1), 1000-dropped)
		want := fmt.Sprintf(`{"level":"warn","msg":"log lines dropped: the log was not read, or could not be `+
			`written","lines":%d}`, dropped)
		assert.Equal(t, lines[len(lines)-1], want)
	})
}

// The logger waits for lines at the levels panic and fatal, but not for ever.
func TestLog_FatalLinesAreFlushedWithinABound(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		out := newBlockingPipe()
		log := newLog(out, 0, 0)
		start := time.Now()
		func() {
			defer func() { assert.Equal(t, recover(), "broken") }()
			log.Panic("broken")
		}()
		assert.Equal(t, time.Since(start), syncTimeout)
		close(out.read)
		func() {
			defer func() { assert.Equal(t, recover(), "again") }()
			log.Panic("again")
		}()
		assert.Assert(t, strings.Contains(strings.Join(out.lines(), "\n"), `"msg":"again"`),
			"the line was written before the panic")
		assert.NilError(t, log.Close())
	})
}
