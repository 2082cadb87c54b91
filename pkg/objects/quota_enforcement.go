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
			p.journal.post(Change{Kind: QueueChanged, Queue: q})
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
		p.journal.post(Change{Kind: QueueChanged, Queue: q})
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

// Wants leaves out the changes that change neither a max nor what is above it. A dynamic leaf, whose quotas tags
// change, has no enforced max.
func (*enforcement) Wants() ChangeSet {
	return 1<<QueueUsageChanged | 1<<QueuePreemptingChanged | 1<<QueueSettingsChanged | 1<<SettingsApplied
}

func (e *enforcement) On(c *Change) {
	switch c.Kind {
	case QueueUsageChanged, QueuePreemptingChanged:
		for q := c.Queue; q != nil; q = q.parent {
			e.Recheck(&q.quota)
		}
	case QueueSettingsChanged:
		e.RecheckSettings(&c.Queue.quota)
	case SettingsApplied:
		e.ApplySettings()
	}
}
