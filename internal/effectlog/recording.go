package effectlog

import "go.uber.org/zap"

// OnRecording logs that steps of a partition were not recorded, or, with a nil error, that they are recorded again (REC-6).
// lost are those since the last call.
func (l *Log) OnRecording(partition string, lost uint64, err error) {
	where, steps := zap.String("partition", partition), zap.Uint64("lost", lost)
	if err != nil {
		l.log.Warn("the recording has a gap", where, steps, zap.Error(err))
		return
	}
	l.log.Info("the recording goes on", where, steps)
}
