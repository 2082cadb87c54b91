package scheduler

import (
	"time"

	"github.com/canopy-scheduler/canopy/pkg/objects"
)

// ApplicationExplanation says why the pending asks of an application are not placed. It is a value and never changes.
type ApplicationExplanation struct {
	At        objects.Timestamp `json:"time"`
	Partition string            `json:"partition"`
	App       objects.AppID     `json:"applicationID"`
	Known     bool              `json:"-"` // the partition has the application; otherwise the following fields are empty
	State     string            `json:"state"`
	User      string            `json:"user"`
	Queue     objects.QueuePath `json:"queueName"`
	Pending   int               `json:"pendingAsks"`

	Groups     []AskGroupExplanation `json:"-"` // in selection order, at most maxExplainedGroups
	MoreGroups int                   `json:"-"` // ask groups besides
}

// AskGroupExplanation is about the pending asks of an application that wait for the same: with the same request,
// constraints, priority and task group.
type AskGroupExplanation struct {
	Pending int          // how many asks the group has
	First   *Explanation // of the first of them in selection order
}

// maxExplainedGroups is for how many groups an application is explained: each costs a look at every node.
const maxExplainedGroups = 5

// ExplainApplication explains the pending asks of an application, by group (EXP-7). It changes nothing.
func (c *Core) ExplainApplication(id objects.AppID, now time.Time) *ApplicationExplanation {
	e := &ApplicationExplanation{At: objects.TimestampOf(now), Partition: c.part.Name(), App: id}
	a, known := c.part.Application(id)
	if !known {
		return e
	}
	e.Known, e.State, e.User, e.Queue, e.Pending = true, a.State().String(), a.User().Name, a.Queue().Path(),
		a.PendingAskCount()
	for i, group := range a.PendingGroups() {
		if i == maxExplainedGroups {
			e.MoreGroups = len(a.PendingGroups()) - i
			break
		}
		e.Groups = append(e.Groups,
			AskGroupExplanation{Pending: group.PendingCount(), First: c.Explain(group.FirstPending().Key(), now)})
	}
	return e
}
