package effectlog

import (
	"time"

	"go.uber.org/zap"
)

// maxViolations is how many violations a line names; it counts all of them.
const maxViolations = 5

// OnAudit writes what an audit of the books of a partition has found: each that failed, and the
// first after it that did not. checked is how many objects it has looked at, err what is wrong.
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

// violations lists the errors that were joined to err.
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
