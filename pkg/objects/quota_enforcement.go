package objects

import (
	"time"

	"github.com/canopy-scheduler/canopy/pkg/quota"
)

// enforcement keeps the queues above an enforced max up to date.
type enforcement struct {
	ignoreAskChanges
	ignoreAllocationChanges
	ignoreGangChanges
	ignoreNodeChanges
	ignoreAccountChanges
	ignoreApplicationChanges

	quota.Enforcement
}

// UpdateViolations updates which queues are above an enforced max (QUO-48, QUO-49). The caller must call it after
// each command and after decisions.
func (p *Partition) UpdateViolations(now time.Time) {
	p.journal.enforcement.Update(now, func(x *quota.Queue) {
		if q := p.queueOf(x); q != nil {
			p.journal.queueChanged(q)
		}
	})
}

// TakeDueForEnforcement returns a queue for which to search for victims now; nil: there is none.
func (p *Partition) TakeDueForEnforcement(now time.Time) *Queue {
	for {
		x, search := p.journal.enforcement.TakeDue(now, p.PreemptionGeneration())
		if x == nil {
			return nil
		}
		q := p.queueOf(x)
		p.journal.queueChanged(q)
		if search {
			return q
		}
	}
}

// queueOf is the queue whose quota side is x; nil: it was removed.
func (p *Partition) queueOf(x *quota.Queue) *Queue {
	if q := p.queues[QueuePath(x.Path())]; q != nil && &q.quota == x {
		return q
	}
	return nil
}

func (e *enforcement) queueUsageChanged(q *Queue)      { e.Recheck(&q.quota) }
func (e *enforcement) queuePreemptingChanged(q *Queue) { e.Recheck(&q.quota) }
func (e *enforcement) queueSettingsChanged(q *Queue)   { e.RecheckSettings(&q.quota) }
func (e *enforcement) settingsApplied()                { e.ApplySettings() }

// The other changes change neither a max nor what is above it. A dynamic leaf, whose quotas tags change,
// has no enforced max.

func (*enforcement) queueRunningChanged(*Queue)            {}
func (*enforcement) queueChanged(*Queue)                   {}
func (*enforcement) queueStateChanged(*Queue, QueueChange) {}
func (*enforcement) quotasChanged(*Queue)                  {}
func (*enforcement) queueTreeChanged()                     {}
func (*enforcement) configurationChanged()                 {}
func (*enforcement) rebuilding()                           {}
func (*enforcement) resourceAdded()                        {}
func (*enforcement) refusalsMayEnd()                       {}
