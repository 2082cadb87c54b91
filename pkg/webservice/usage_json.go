package webservice

import (
	"cmp"
	"slices"
	"sync"

	"github.com/canopy-scheduler/canopy/pkg/lifecycle"
	"github.com/canopy-scheduler/canopy/pkg/scheduler"
)

// The JSON of usages, with the keys of YuniKorn. A user has entries in all its queues, so it is written entry
// by entry.

// usageText is JSON of usages, and lists for the names in it.
type usageText struct {
	*jsonText
	yield func([]byte) bool
	apps  []*scheduler.ApplicationView
}

// usageLists are the lists of usageTexts that have been written.
var usageLists = sync.Pool{New: func() any { return new([]*scheduler.ApplicationView) }}

// pieces is the JSON list of all usages in name order; with a name, that of one alone.
func (u *usages) pieces(only *queueUsage) pieces {
	return func(yield func([]byte) bool) {
		list, _ := usageLists.Get().(*[]*scheduler.ApplicationView)
		t := &usageText{newJSONText(), yield, *list}
		defer func() {
			clear(t.apps[:cap(t.apps)])
			*list = t.apps[:0]
			usageLists.Put(list)
			t.release()
		}()
		if only != nil {
			if !t.userOrGroup(u.groups, only) {
				return
			}
		} else {
			t.begin('[')
			for _, n := range u.root.byName {
				if !t.flush(t.yield) || !t.userOrGroup(u.groups, n) {
					return
				}
			}
			t.end(']')
		}
		yield(t.text)
	}
}

// userOrGroup appends a user, or a group, with its queues; false: the answer has ended.
func (t *usageText) userOrGroup(group bool, n *queueUsage) bool {
	t.begin('{')
	t.gather(n, false)
	if group {
		t.field("groupName", n.name)
		t.ids("applications")
	} else {
		t.field("userName", n.name)
		t.groups()
	}
	t.name("queues")
	if !t.queue(n) {
		return false
	}
	t.end('}')
	return true
}

// gather puts the applications of n, and of the queues below, into t.apps, in the order of their IDs.
func (t *usageText) gather(n *queueUsage, running bool) {
	t.apps = appendApplications(t.apps[:0], n, running)
	slices.SortFunc(t.apps, func(a, b *scheduler.ApplicationView) int { return cmp.Compare(a.ID, b.ID) })
}

func appendApplications(to []*scheduler.ApplicationView, n *queueUsage, running bool) []*scheduler.ApplicationView {
	for _, a := range n.apps {
		if !running || a.State == lifecycle.Running {
			to = append(to, a)
		}
	}
	for _, child := range n.children {
		to = appendApplications(to, child, running)
	}
	return to
}

// ids appends a field with the IDs of t.apps, which is left out if there are none.
func (t *usageText) ids(name string) {
	if len(t.apps) == 0 {
		return
	}
	t.name(name)
	t.begin('[')
	for _, a := range t.apps {
		t.element(string(a.ID))
	}
	t.end(']')
}

// groups appends a field with the group whose limit an application counts against, by application. It is left
// out if there is none.
func (t *usageText) groups() {
	t.apps = slices.DeleteFunc(t.apps, func(a *scheduler.ApplicationView) bool { return a.LimitGroup == "" })
	if len(t.apps) == 0 {
		return
	}
	t.name("groups")
	t.begin('{')
	for _, a := range t.apps {
		t.key(string(a.ID))
		t.element(a.LimitGroup)
	}
	t.end('}')
}

// queue appends the usage in a queue, with the queues below; false: the answer has ended.
func (t *usageText) queue(n *queueUsage) bool {
	t.begin('{')
	t.field("queuePath", n.path)
	t.optionalAmounts("resourceUsage", n.used)
	t.gather(n, true)
	t.ids("runningApplications")
	t.optionalLimit("maxResources", n.limit.MaxResources)
	t.optionalCount("maxApplications", n.limit.MaxApplications)
	if len(n.children) > 0 {
		t.name("children")
		t.begin('[')
		for _, child := range n.children {
			if !t.flush(t.yield) || !t.queue(child) {
				return false
			}
		}
		t.end(']')
	}
	t.end('}')
	return true
}
