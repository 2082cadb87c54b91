package quota

import "github.com/canopy-scheduler/canopy/pkg/limits"

// Tree is what the queues of a partition have in common: whether there are constraints of a kind at all, so
// that they cost nothing otherwise.
type Tree struct {
	hasClassQuotas      bool              // a queue may have class quotas, or asks may need one
	classQuotaQueues    int               // number of queues with class quotas
	classesNeedingQuota []limits.Selector // of the asks that are rejected if no class quota counts them
}

// CountSettings counts the settings of q, which may have changed. removed: q has left the tree.
func (t *Tree) CountSettings(q *Queue, removed bool) {
	has := q.HasClassQuotas() && !removed
	if has != q.classQuotasCounted {
		q.classQuotasCounted = has
		t.classQuotaQueues += sign(has)
	}
}

func sign(more bool) int {
	if more {
		return 1
	}
	return -1
}

// ApplyClassQuotas updates whether class quotas can matter, from the settings that were counted and the classes
// that need a quota.
func (t *Tree) ApplyClassQuotas(needing []limits.Selector) {
	t.classesNeedingQuota = needing
	t.hasClassQuotas = len(needing) > 0 || t.classQuotaQueues > 0
}

// HasClassQuotas reports whether a queue may have class quotas, or asks may need one.
func (t *Tree) HasClassQuotas() bool { return t.hasClassQuotas }

// ClassQuotaQueues is the number of queues with class quotas.
func (t *Tree) ClassQuotaQueues() int { return t.classQuotaQueues }
