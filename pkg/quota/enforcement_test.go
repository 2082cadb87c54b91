package quota

import (
	"testing"
	"time"

	"gotest.tools/v3/assert"

	"github.com/canopy-scheduler/canopy/pkg/resources"
)

var epoch = time.Unix(1_000_000_000, 0)

// enforcedQueues are root, root.a and root.a.b, in which the max of the lower two is 10, enforced after a minute
// and after two.
func enforcedQueues(names *resources.NameTable) (e *Enforcement, parent, leaf *Queue) {
	root, parent, leaf := &Queue{}, &Queue{}, &Queue{}
	root.Init("root", nil)
	parent.Init("root.a", root)
	leaf.Init("root.a.b", parent)
	for i, q := range []*Queue{parent, leaf} {
		q.Configure(&Settings{Max: bound(map[string]resources.Quantity{"vcore": 10})}, names, resources.Cluster)
		q.SetEnforcement(true, time.Duration(1+i)*time.Minute)
	}
	return &Enforcement{}, parent, leaf
}

func (e *Enforcement) post(queues []*Queue, v resources.Vector, sign int, now time.Time) (changed []string) {
	for _, q := range queues {
		q.Post(v, sign)
		e.Recheck(q)
	}
	e.Update(now, func(q *Queue) { changed = append(changed, q.path) })
	return changed
}

// A queue above its max is due after its delay, the lowest first, and again after five seconds if something changed.
func TestEnforcement_DueQueues(t *testing.T) {
	names := resources.NewNameTable()
	e, parent, leaf := enforcedQueues(names)
	both, v := []*Queue{leaf, parent}, names.Hold(vcores(11), resources.Asks)
	assert.DeepEqual(t, e.post(both, v, 1, epoch), []string{"root.a.b", "root.a"})
	at, ok := e.NextDue(1)
	assert.Assert(t, ok && at.Equal(epoch.Add(time.Minute)), at)
	e.CollectDue(epoch.Add(2 * time.Minute))
	taken, search := e.TakeDue(epoch.Add(2*time.Minute), 1)
	assert.Assert(t, search && taken == leaf, "a victim in the leaf counts for its parent (QUO-59)")
	taken, search = e.TakeDue(epoch.Add(2*time.Minute), 1)
	assert.Assert(t, search && taken == parent)
	taken, _ = e.TakeDue(epoch.Add(2*time.Minute), 1)
	assert.Assert(t, taken == nil)

	_, ok = e.NextDue(1)
	assert.Assert(t, !ok, "nothing has changed since the search")
	at, ok = e.NextDue(2)
	assert.Assert(t, ok && at.Equal(epoch.Add(2*time.Minute+reevaluationDelay)), at)
	e.CollectDue(at)
	taken, search = e.TakeDue(at, 1)
	assert.Assert(t, taken == leaf && !search)
	listed, err := e.CheckOrder(func(*Queue) bool { return true })
	assert.NilError(t, err)
	for _, q := range both {
		assert.NilError(t, e.Check(q, true, true, listed[q]))
	}
	e.post(both, v, -1, at)
	for _, q := range both {
		_, above := q.AboveMax(names)
		assert.Assert(t, !above)
		assert.NilError(t, e.Check(q, false, false, 0))
	}
}

// What is marked for preemption, overdue or not, does not count as above the max (QUO-50).
func TestEnforcement_PreemptingDoesNotCount(t *testing.T) {
	names := resources.NewNameTable()
	e, _, leaf := enforcedQueues(names)
	v := names.Hold(vcores(11), resources.Asks)
	e.post([]*Queue{leaf}, v, 1, epoch)
	above, ok := leaf.AboveMax(names)
	assert.Assert(t, ok && above.Due.Equal(epoch.Add(2*time.Minute)) && above.Excess.Equal(vcores(1)), above)
	for _, overdue := range []bool{false, true} {
		leaf.PostPreempting(v, overdue, 1)
		e.Recheck(leaf)
		e.Update(epoch, func(*Queue) {})
		assert.Assert(t, leaf.Excess().IsZero() && !leaf.ExceedsMax() && leaf.violation == nil && len(e.violating) == 0)
		leaf.PostPreempting(v, overdue, -1)
		e.Recheck(leaf)
		e.Update(epoch, func(*Queue) {})
		assert.Assert(t, leaf.violation != nil)
	}
}

// Another delay holds from the time at which the queue rose above its max.
func TestEnforcement_DelayChanges(t *testing.T) {
	names := resources.NewNameTable()
	e, parent, leaf := enforcedQueues(names)
	e.post([]*Queue{leaf, parent}, names.Hold(vcores(11), resources.Asks), 1, epoch)
	e.CollectDue(epoch.Add(time.Minute))
	assert.Assert(t, len(e.due) == 1 && e.due[0] == parent)
	parent.SetEnforcement(true, 90*time.Second)
	e.ApplySettings()
	assert.Assert(t, len(e.due) == 0 && e.violating[0] == parent && e.violating[1] == leaf)
	leaf.SetEnforcement(false, 0)
	e.RecheckSettings(leaf)
	e.Update(epoch, func(*Queue) {})
	assert.Assert(t, len(e.violating) == 1 && leaf.violation == nil)
}
