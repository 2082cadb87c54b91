package plan

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/canopy-scheduler/canopy/pkg/configs"
	"github.com/canopy-scheduler/canopy/pkg/limits"
	"github.com/canopy-scheduler/canopy/pkg/resources"
)

// OverLimit is a user or a group that uses more than a new limit allows in a queue. What
// runs goes on, and nothing of theirs starts there until they are below.
type OverLimit struct {
	Partition string             `json:"partition"`
	Queue     string             `json:"queue"`
	User      string             `json:"user,omitempty"`  // or else
	Group     string             `json:"group,omitempty"` // as which applications count now
	Resource  string             `json:"resource"`        // "applications" are running ones
	Used      resources.Quantity `json:"used"`
	Limit     resources.Quantity `json:"limit"`
	By        resources.Quantity `json:"by"`
}

// runningApplications stands for a resource where applications are counted.
const runningApplications = "applications"

// String is the excess in words.
func (o OverLimit) String() string {
	holder := "user " + o.User
	if o.Group != "" {
		holder = "group " + o.Group
	}
	return fmt.Sprintf("%s is over the new limit in %s by %s: %s used, and %s allowed", holder, o.Queue,
		resources.FormatNamedQuantity(o.Resource, o.By), resources.FormatQuantity(o.Resource, o.Used), resources.FormatQuantity(o.Resource, o.Limit))
}

// Usage is what a user or a group uses in a queue and below it.
type Usage struct {
	Queue       string
	User, Group string // one of them
	Resources   map[string]resources.Quantity
	Running     int // applications
}

// bound is what the limits of a queue say about whose usage it is; what is above counts at
// the queue that has it.
func (u *Usage) bound(q *configs.Queue) limits.Bound {
	if q == nil {
		return limits.Bound{}
	}
	find, name := limits.ForUser, u.User
	if u.Group != "" {
		find, name = limits.ForGroup, u.Group
	}
	r, _ := find(q.Limits, name)
	return r.Bound()
}

// listOverLimit lists who uses more than limits that change allow.
func (p *Plan) listOverLimit(c *configs.PartitionChange, old, new queueTree, s *Partition) {
	changed := map[string]bool{}
	for _, l := range c.Limits {
		changed[l.Queue] = true
	}
	for i := range s.Usage {
		u := &s.Usage[i]
		if !changed[u.Queue] {
			continue
		}
		was, is := u.bound(old[u.Queue]), u.bound(new[u.Queue])
		over := func(resource string, used, most resources.Quantity) {
			p.OverLimit = append(p.OverLimit, OverLimit{c.Partition, u.Queue, u.User, u.Group, resource, used, most, used - most})
		}
		for name, most := range is.MaxResources.All() {
			before, had := was.MaxResources.Get(name)
			if n := u.Resources[name]; n > most && (!had || before != most) {
				over(name, n, most)
			}
		}
		if most := is.MaxApplications; most != 0 && most != was.MaxApplications && uint64(u.Running) > most {
			over(runningApplications, resources.Quantity(u.Running), resources.Quantity(most))
		}
	}
	slices.SortStableFunc(p.OverLimit, func(a, b OverLimit) int {
		return cmp.Or(cmp.Compare(a.Partition, b.Partition), cmp.Compare(a.Queue, b.Queue),
			cmp.Compare(a.Group, b.Group), cmp.Compare(a.User, b.User))
	})
}
