package objects

import (
	"time"

	"github.com/canopy-scheduler/canopy/pkg/quota"
)

// enforcement keeps the queues above an enforced max up to date.
type enforcement struct {
	quota.Enforcement
}

// UpdateViolations updates which queues are above an enforced max (QUO-48, QUO-49). The caller must call it after
// each command and after decisions.
func (p *Partition) UpdateViolations(now time.Time) {
	p.journal.enforcement.Update(now, func(x *quota.Queue) {
		if q := p.queueOf(x); q != nil {
			p.journal.post(change{kind: queueChanged, queue: q})
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
		p.journal.post(change{kind: queueChanged, queue: q})
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

// wants leaves out the changes that change neither a max nor what is above it. A dynamic leaf, whose quotas tags
// change, has no enforced max.
func (*enforcement) wants() changeSet {
	return 1<<queueUsageChanged | 1<<queuePreemptingChanged | 1<<queueSettingsChanged | 1<<settingsApplied
}

func (e *enforcement) on(c *change) {
	switch c.kind {
	case queueUsageChanged, queuePreemptingChanged:
		for q := c.queue; q != nil; q = q.parent {
			e.Recheck(&q.quota)
		}
	case queueSettingsChanged:
		e.RecheckSettings(&c.queue.quota)
	case settingsApplied:
		e.ApplySettings()
	}
}
