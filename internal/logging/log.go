package logging

import (
	"io"
	"time"

	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
)

// closeTimeout is how long Close waits for the last lines.
const closeTimeout = time.Second

// Options say how a Log writes.
type Options struct {
	Encoder zapcore.Encoder      // of lines
	Level   zapcore.LevelEnabler // what is logged
	Buffer  int                  // bytes of lines that wait to be written; 0: DefaultBuffer
	Burst   int                  // lines of the same level and message within a second; 0: any number
}

// Log is a logger that never blocks, and what it did not write.
type Log struct {
	*zap.Logger
	writer  *Writer
	sampler *sampler // nil: nothing is left out
}

// New returns a Log to out. Close ends it.
func New(out io.Writer, opt Options) *Log {
	encoder := opt.Encoder.Clone()
	l := &Log{writer: NewWriter(out, opt.Buffer, func(lines int64) []byte {
		text, err := encoder.EncodeEntry(zapcore.Entry{
			Level: zapcore.WarnLevel, Time: time.Now(), Message: "log lines dropped: the log was not read, or could not be written",
		}, []zapcore.Field{zap.Int64("lines", lines)})
		if err != nil {
			return nil // the count stays in the metric
		}
		return text.Bytes()
	})}
	core := zapcore.NewCore(opt.Encoder, l.writer, opt.Level)
	if opt.Burst > 0 {
		l.sampler, core = newSampler(core, opt.Burst)
	}
	l.Logger = zap.New(core)
	return l
}

// Dropped is how many lines were lost because the log was not read or could not be written.
func (l *Log) Dropped() int64 { return l.writer.Dropped() }

// Omitted is how many lines were left out because they repeated others too often.
func (l *Log) Omitted() int64 {
	if l.sampler == nil {
		return 0
	}
	return l.sampler.omitted()
}

// Lines are Dropped and Omitted.
func (l *Log) Lines() (dropped, omitted int64) { return l.Dropped(), l.Omitted() }

// Flush writes what was logged so far, within a bound. The error says that the bound was met.
func (l *Log) Flush(within time.Duration) error { return l.writer.Flush(within) }

// Close writes the last lines, within a second. The error says that they are lost.
func (l *Log) Close() error {
	if l.sampler != nil {
		l.sampler.close()
	}
	return l.writer.Close(closeTimeout)
}
