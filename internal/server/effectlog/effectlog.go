// Package effectlog writes the decisions of the partitions, and rejections, as structured log
// lines: one line for each fact that an operator looks for. docs/LOGGING.md lists them.
//
// It gets the effects where they are delivered, as history and metrics do, and reads no state.
// Placed asks and released allocations have a line at level debug only; rejections of asks are
// counted, and logged once a second (rejections.go).
//
// Invariant: no caller waits for a reader of the log. So the logger must not block, as that of
// package logging.
package effectlog

import (
	"sync"

	"go.uber.org/zap"

	"github.com/canopy-scheduler/canopy/pkg/lifecycle"
	"github.com/canopy-scheduler/canopy/pkg/objects"
	"github.com/canopy-scheduler/canopy/pkg/scheduler"
)

// Log writes effects to a logger. It is safe for concurrent use.
type Log struct {
	to         loggers
	log        *zap.Logger // of what concerns a partition as a whole
	rejections rejections

	mu           sync.Mutex
	failedAudits map[string]bool // partitions whose last audit failed
}

// New returns a Log to a logger that does not block. The caller must Close it.
func New(log *zap.Logger) *Log {
	to := newLoggers(log)
	return &Log{to: to, log: to.partition, rejections: rejections{log: to.allocation}, failedAudits: map[string]bool{}}
}

// Close writes the pending counts. Later rejections are written at once.
func (l *Log) Close() { l.rejections.close() }

// OnEffects writes the effects of one partition, in order. Calls for one partition must not be
// concurrent.
func (l *Log) OnEffects(partition string, effects []scheduler.Effect) {
	w := writer{to: &l.to, partition: zap.String("partition", partition), debug: l.log.Core().Enabled(zap.DebugLevel)}
	for i := range effects {
		if e, rejected := effects[i].(scheduler.AskRejected); rejected {
			l.rejections.add(partition, e)
			continue
		}
		w.write(effects[i])
	}
	w.endPreemption()
}

// OnAPIRejected writes a rejection by the API itself, which no partition has seen (OBS-74).
func (l *Log) OnAPIRejected(e scheduler.Effect) {
	if e, rejected := e.(scheduler.AskRejected); rejected {
		l.rejections.add("", e)
		return
	}
	w := writer{to: &l.to, partition: zap.Skip()}
	w.write(e)
}

// writer writes the effects of one delivery.
type writer struct {
	to        *loggers
	log       *zap.Logger // of the effect that is written
	partition zap.Field
	debug     bool
	victims   victimGroup
}

// write writes one effect (OBS-68).
func (w *writer) write(e scheduler.Effect) {
	w.log = w.to.of(e)
	switch e := e.(type) {
	case scheduler.Allocated:
		if w.debug {
			w.log.Debug("ask placed", w.partition, application(e.Ask.App), key(e.Ask.Key), node(e.Node),
				zap.Int32("priority", e.Ask.Priority), amounts("amounts", e.Ask.Amounts))
		}
	case scheduler.Released:
		if w.debug {
			w.log.Debug("allocation released", w.partition, application(e.App), key(e.Key), zap.Stringer("type", e.Type),
				reason(e.Message))
		}
	case scheduler.AskCancelled:
		if w.debug {
			w.log.Debug("ask cancelled", w.partition, application(e.App), key(e.Key), reason(e.Reason))
		}
	case scheduler.AsksWait:
		if w.debug {
			for a, why := range e.EachWithReason {
				w.log.Debug("ask waits", w.partition, application(a.Ask.App), key(a.Ask.Key), zap.Stringer("state", a.State),
					reason(why))
			}
		}
	case scheduler.AskTimedOut:
		if w.debug {
			w.log.Debug("ask cancelled", w.partition, application(e.App), key(e.Key), reason(e.Message))
		}
	case scheduler.Event:
		w.preemptionEvent(&e)
	case scheduler.ApplicationAccepted:
		if w.debug {
			w.log.Debug("application accepted", w.partition, application(e.App))
		}
	case scheduler.ApplicationUpdated:
		w.application(e)
	case scheduler.ApplicationRejected:
		w.log.Info("application rejected", w.partition, application(e.App), zap.String("queue", e.Queue),
			zap.String("user", e.User), reason(e.Reason))
	case scheduler.NodeAccepted:
		w.log.Info("node added", w.partition, node(e.Node), amounts("capacity", e.Total),
			zap.Bool("schedulable", e.Schedulable))
	case scheduler.NodeRejected:
		w.log.Warn("node refused", w.partition, node(e.Node), reason(e.Reason))
	case scheduler.OperatorActed:
		w.operator(e)
	case scheduler.NodeChanged:
		w.node(&e)
	case scheduler.QueueChanged:
		w.queue(e)
	case scheduler.PartitionReset:
		w.log.Info("partition emptied: a resource manager registered", w.partition, reason(e.Reason))
	}
}

func (w *writer) application(e scheduler.ApplicationUpdated) {
	switch {
	case e.State == lifecycle.Failed:
		w.log.Warn("application failed", w.partition, application(e.App), queue(e.Queue), reason(e.Reason.String()))
	case w.debug:
		w.log.Debug("application entered a state", w.partition, application(e.App), queue(e.Queue),
			zap.Stringer("state", e.State), reason(e.Reason.String()))
	}
}

// operator writes what an operator has done (OPS-5).
func (w *writer) operator(e scheduler.OperatorActed) {
	m := scheduler.Operate(e)
	action := m.Action.Info()
	from, to := zap.Skip(), zap.Skip()
	if action.ToQueue {
		from, to = zap.String("from", string(m.From)), queue(m.Queue)
	}
	w.log.Info("operator acted", w.partition, zap.String("action", action.Verb), zap.String(string(action.On), m.Object()),
		to, from, zap.String("by", m.By))
}

func (w *writer) node(e *scheduler.NodeChanged) {
	switch e.Change {
	case scheduler.NodeResized:
		w.log.Info("node resized", w.partition, node(e.Node), amounts("before", e.Before), amounts("capacity", e.After))
	case scheduler.NodeOvercommitted:
		w.log.Warn("node overcommitted: its allocations exceed its capacity", w.partition, node(e.Node),
			amounts("capacity", e.After),
			amounts("excess", e.Excess), zap.Int("allocations", e.Allocations))
	case scheduler.NodeNotOvercommitted:
		w.log.Info("node no longer overcommitted", w.partition, node(e.Node), amounts("capacity", e.After),
			zap.Int("allocations", e.Allocations))
	case scheduler.NodeMadeUnschedulable:
		w.log.Info("node made unschedulable", w.partition, node(e.Node), zap.Int("allocations", e.Allocations))
	case scheduler.NodeMadeSchedulable:
		w.log.Info("node made schedulable", w.partition, node(e.Node), zap.Int("allocations", e.Allocations))
	case scheduler.NodeRemoved:
		w.log.Info("node removed", w.partition, node(e.Node), amounts("capacity", e.Before),
			zap.Int("allocations", e.Allocations))
	}
}

func (w *writer) queue(e scheduler.QueueChanged) {
	if e.Dynamic {
		if w.debug {
			w.log.Debug("dynamic queue changed", w.partition, queue(e.Queue), zap.Stringer("change", e.Change))
		}
		return
	}
	switch e.Change {
	case objects.QueueDraining:
		w.log.Info("queue draining: the configuration does not have it any more", w.partition, queue(e.Queue))
	case objects.QueueRestored:
		w.log.Info("queue restored: the configuration has it again", w.partition, queue(e.Queue))
	case objects.QueueRemoved:
		w.log.Info("queue removed", w.partition, queue(e.Queue))
	}
}
