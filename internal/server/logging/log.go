package logging

import (
	"io"
	"time"

	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
)

// closeTimeout bounds the time for which Close waits for the last lines to be written.
const closeTimeout = time.Second

// Options configure a Log.
type Options struct {
	Encoder zapcore.Encoder      // format of lines
	Level   zapcore.LevelEnabler // what is logged
	Buffer  int                  // bytes of lines that wait to be written; 0: DefaultBuffer
	Burst   int                  // lines with the same level and message per second; 0: unbounded
}

// Log is a logger that never blocks.
type Log struct {
	*zap.Logger
	writer  *Writer
	sampler *sampler // nil: no line is omitted
}

// New returns a Log that writes to out. The caller must Close it.
func New(out io.Writer, opt Options) *Log {
	encoder := opt.Encoder.Clone()
	l := &Log{writer: NewWriter(out, opt.Buffer, func(lines int64) []byte {
		text, err := encoder.EncodeEntry(zapcore.Entry{
			Level: zapcore.WarnLevel, Time: time.Now(),
			Message: "log lines dropped: the log was not read, or could not be written",
		}, []zapcore.Field{zap.Int64("lines", lines)})
		if err != nil {
			return nil // the metric still has the count
		}
		return text.Bytes()
	})}
	core := zapcore.NewCore(opt.Encoder, l.writer, opt.Level)
	if opt.Burst > 0 {
		l.sampler, core = newSampler(core, opt.Burst)
	}
	l.Logger = zap.New(countedCore{core, l})
	return l
}

// LineCounter is a core that counts the lines that were dropped or omitted since the start. That of a
// Log is one.
type LineCounter interface {
	Lines() (dropped, omitted int64)
}

// countedCore is the core of a Log.
type countedCore struct {
	zapcore.Core
	log *Log
}

// Lines implements LineCounter.
func (c countedCore) Lines() (dropped, omitted int64) { return c.log.Lines() }

// Dropped returns the number of lines that were lost because the output blocked or failed.
func (l *Log) Dropped() int64 { return l.writer.Dropped() }

// Omitted returns the number of lines that were omitted because they repeated too often.
func (l *Log) Omitted() int64 {
	if l.sampler == nil {
		return 0
	}
	return l.sampler.omitted()
}

// Lines returns Dropped and Omitted.
func (l *Log) Lines() (dropped, omitted int64) { return l.Dropped(), l.Omitted() }

// Flush waits until the lines so far are written, or returns an error after within.
func (l *Log) Flush(within time.Duration) error { return l.writer.Flush(within) }

// Close writes the last lines (OBS-70). It returns an error if that takes more than a second.
func (l *Log) Close() error {
	if l.sampler != nil {
		l.sampler.close()
	}
	return l.writer.Close(closeTimeout)
}
