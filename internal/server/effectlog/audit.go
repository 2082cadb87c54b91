package effectlog

import (
	"time"

	"go.uber.org/zap"
)

// maxViolations bounds the violations that a line lists; it counts all of them.
const maxViolations = 5

// OnAudit logs the result of an audit of a partition: each that failed, and the first after it that
// passed; others at level debug. checked is the number of objects, err has the violations (OBS-59).
func (l *Log) OnAudit(partition string, checked int, took time.Duration, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	where, size, duration := zap.String("partition", partition), zap.Int("checked", checked), zap.Duration("took", took)
	failedBefore := l.failedAudits[partition]
	l.failedAudits[partition] = err != nil
	switch {
	case err != nil:
		all := violations(err, nil)
		l.log.Error("audit failed: the accounting of the partition is wrong", where, size, duration,
			zap.Int("violations", len(all)), zap.Strings("first", all[:min(len(all), maxViolations)]))
	case failedBefore:
		l.log.Info("audit passed again", where, size, duration)
	default:
		l.log.Debug("audit passed", where, size, duration)
	}
}

// violations lists the errors that are joined in err.
func violations(err error, list []string) []string {
	joined, ok := err.(interface{ Unwrap() []error })
	if !ok {
		return append(list, err.Error())
	}
	for _, one := range joined.Unwrap() {
		list = violations(one, list)
	}
	return list
}
