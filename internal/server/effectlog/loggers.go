package effectlog

import (
	"go.uber.org/zap"

	"github.com/canopy-scheduler/canopy/pkg/scheduler"
)

// loggers are the loggers of the lines, by what a line is about. Each has a name, for which an operator can set a level
// (CFG-100).
type loggers struct {
	allocation, application, node, partition, preemption, queue, reservation *zap.Logger
}

func newLoggers(log *zap.Logger) loggers {
	named := func(name string) *zap.Logger { return log.Named("scheduler." + name) }
	return loggers{
		allocation: named("allocation"), application: named("application"), node: named("node"),
		partition:  named("partition"),
		preemption: named("preemption"), queue: named("queue"), reservation: named("reservation"),
	}
}

// of returns the logger of an effect.
func (l *loggers) of(e scheduler.Effect) *zap.Logger {
	switch e := e.(type) {
	case scheduler.ApplicationAccepted, scheduler.ApplicationUpdated, scheduler.ApplicationRejected:
		return l.application
	case scheduler.NodeAccepted, scheduler.NodeRejected, scheduler.NodeChanged:
		return l.node
	case scheduler.QueueChanged:
		return l.queue
	case scheduler.PartitionReset, scheduler.OperatorActed:
		return l.partition
	case scheduler.Event:
		switch e.Kind {
		case scheduler.EventReserved, scheduler.EventReservationEnded, scheduler.EventReservationsMoved:
			return l.reservation
		}
		if e.Kind == scheduler.EventNodeRefused || e.Kind == scheduler.EventNodeRefusalEnded {
			return l.node
		}
		return l.preemption
	}
	return l.allocation
}
