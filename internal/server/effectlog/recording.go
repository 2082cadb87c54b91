package effectlog

import "go.uber.org/zap"

// OnRecording logs that the session of a partition is not recorded any more, or that files of recordings could not be
// completed or removed (REC-6).
func (l *Log) OnRecording(partition string, err error) {
	l.log.Warn("the recording has failed", zap.String("partition", partition), zap.Error(err))
}
