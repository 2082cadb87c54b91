package quota

import "github.com/canopy-scheduler/canopy/pkg/limits"

// Tree holds facts about all queues of a partition: whether there are constraints of a kind at all, so that they cost
// nothing otherwise.
type Tree struct {
	hasMaxApplications  bool              // a queue or a limit bounds running applications
	maxAppsQueues       int               // number of queues with such a bound, their own or in a limit
	hasClassQuotas      bool              // a queue may have class quotas, or asks may need one
	classQuotaQueues    int               // number of queues with class quotas
	classesNeedingQuota []limits.Selector // asks that match are rejected if no class quota counts them
}

// CountSettings counts the settings of q, which may have changed. removed: q has left the tree.
func (t *Tree) CountSettings(q *Queue, removed bool) {
	count(&t.maxAppsQueues, &q.maxAppsCounted, q.HasMaxApplications() && !removed)
	count(&t.classQuotaQueues, &q.classQuotasCounted, q.classes != nil && !removed)
}

func count(total *int, counted *bool, has bool) {
	switch {
	case has && !*counted:
		*total++
	case !has && *counted:
		*total--
	}
	*counted = has
}

// ApplyMaxApplications updates whether max applications can matter, from the settings that were counted. The asks
// of all applications need another MaxAppsCheck if it changed.
func (t *Tree) ApplyMaxApplications() { t.hasMaxApplications = t.maxAppsQueues > 0 }

// MaxApplicationsOutdated reports whether ApplyMaxApplications would change something.
func (t *Tree) MaxApplicationsOutdated() bool { return t.hasMaxApplications != (t.maxAppsQueues > 0) }

// HasMaxApplications reports whether a queue or a limit bounds running applications.
func (t *Tree) HasMaxApplications() bool { return t.hasMaxApplications }

// ApplyClassQuotas updates whether class quotas can matter, from the settings that were counted and the classes
// that need a quota.
func (t *Tree) ApplyClassQuotas(needing []limits.Selector) {
	t.classesNeedingQuota = needing
	t.hasClassQuotas = len(needing) > 0 || t.classQuotaQueues > 0
}

// HasClassQuotas reports whether a queue may have class quotas, or asks may need one.
func (t *Tree) HasClassQuotas() bool { return t.hasClassQuotas }

// QueueCounts returns the numbers of queues with max applications and with class quotas.
func (t *Tree) QueueCounts() (maxApplications, classQuotas int) {
	return t.maxAppsQueues, t.classQuotaQueues
}
