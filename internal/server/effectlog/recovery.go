package effectlog

import (
	"time"

	"go.uber.org/zap"
)

// OnRecovered logs that decisions begin after a registration, because no more allocations that run are reported, or
// because that has taken too long (RMI-80). reported is how many there were.
func (l *Log) OnRecovered(partition string, reported int, took time.Duration, bounded bool) {
	fields := []zap.Field{zap.String("partition", partition), zap.Int("reported", reported), zap.Duration("took", took)}
	if bounded {
		l.log.Warn("decisions begin although the resource manager still reports allocations: a max may be exceeded",
			fields...)
		return
	}
	l.log.Info("the recovery is over: decisions begin", fields...)
}
