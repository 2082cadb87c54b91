package effectlog

import (
	"time"

	"go.uber.org/zap"
)

// OnRecording logs that steps of a partition were not recorded, or, with a nil error, that they are recorded again
// (REC-6). lost are those since the last call.
func (l *Log) OnRecording(partition string, lost uint64, err error) {
	where, steps := zap.String("partition", partition), zap.Uint64("lost", lost)
	if err != nil {
		l.log.Warn("the recording has a gap", where, steps, zap.Error(err))
		return
	}
	l.log.Info("the recording goes on", where, steps)
}

// OnCheckpoint logs that the state of a partition was recorded, and for how long its decisions have waited for that,
// or, with an error, that it is not recorded any more (REC-14).
func (l *Log) OnCheckpoint(partition string, bytes int, took time.Duration, err error) {
	where := zap.String("partition", partition)
	if err != nil {
		l.log.Warn("the recording gets no more checkpoints", where, zap.Error(err))
		return
	}
	l.log.Info("the recording has a checkpoint", where, zap.Int("bytes", bytes), zap.Duration("took", took))
}
