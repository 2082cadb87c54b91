package whatif

import (
	"slices"

	"github.com/canopy-scheduler/canopy/pkg/objects"
	"github.com/canopy-scheduler/canopy/pkg/scheduler"
)

// What the resource manager does in the changed run in place of what it did.

// translate returns what the resource manager does in the changed run in place of a recorded command.
func (r *run) translate(cmd scheduler.Command) []scheduler.Command {
	switch c := cmd.(type) {
	case nil:
		return nil
	case scheduler.UseConfig:
		return r.translateConfig(c)
	case scheduler.Release:
		if c.Key == "" {
			return r.translateEnd(c.App, c)
		}
		if r.appliesRelease(c) {
			return []scheduler.Command{c}
		}
		return nil
	case scheduler.RemoveApplication:
		return r.translateEnd(c.App, c)
	}
	return r.nodes.translate(cmd)
}

func (r *run) translateConfig(c scheduler.UseConfig) []scheduler.Command {
	if r.scenario.Config != nil {
		r.notes.reloads++
		return nil
	}
	p, changed, err := r.scenario.partition(c.Partition)
	if err != nil || !changed {
		return []scheduler.Command{c}
	}
	return []scheduler.Command{scheduler.UseConfig{Partition: p}}
}

// appliesRelease reports whether a recorded release of one key is made in the changed run at the same time: what it
// ends began at the same time there, or never ran in the recording. Otherwise a timer ends it.
func (r *run) appliesRelease(c scheduler.Release) bool {
	then, x := r.recorded.last[c.Key], r.changed.last[c.Key]
	switch {
	case then == nil || x == nil || then.sameState(x) || then.pending():
		return true
	case confirms(c.Type) && !then.releasing.IsZero():
		return false // of an order that the changed scheduler has not given, or at another time
	}
	return then.bound() && x.bound() && x.started.Equal(then.started)
}

func confirms(t scheduler.Termination) bool {
	return t == scheduler.PreemptedByScheduler || t == scheduler.TimedOut || t == scheduler.PlaceholderReplaced
}

// translateEnd returns what the resource manager does in place of a command that ends all of an application. What
// waited in the recording ends now; what runs for as long as it would; and an application is removed when nothing is
// left of it.
func (r *run) translateEnd(app objects.AppID, cmd scheduler.Command) (out []scheduler.Command) {
	_, removes := cmd.(scheduler.RemoveApplication)
	if r.sameRequests(app) && (!removes || r.recorded.application(app).lastEnd.Equal(r.changed.application(app).lastEnd)) {
		return []scheduler.Command{cmd}
	}
	for _, then := range inOrder(r.recorded.live[app]) {
		x := r.changed.last[then.key]
		if x != nil && x.ended.IsZero() && (then.pending() || then.releasing.IsZero() && x.started.Equal(then.started)) {
			out = append(out, scheduler.Release{App: app, Key: x.key, Type: scheduler.StoppedByRM})
		}
	}
	if removes && len(r.recorded.live[app]) > 0 {
		if len(r.changed.live[app]) == 0 {
			return append(out, cmd)
		}
		r.removals[app] = true
	}
	return out
}

// sameRequests reports whether both runs have the same requests of an application, in the same states.
func (r *run) sameRequests(app objects.AppID) bool {
	a, b := r.recorded.live[app], r.changed.live[app]
	if len(a) != len(b) {
		return false
	}
	for then := range a {
		x := r.changed.last[then.key]
		if x == nil || !b[x] || !then.sameState(x) {
			return false
		}
	}
	return true
}

func inOrder(set map[*request]bool) []*request {
	list := make([]*request, 0, len(set))
	for x := range set {
		list = append(list, x)
	}
	slices.SortFunc(list, func(a, b *request) int {
		if c := a.submitted.Compare(b.submitted); c != 0 {
			return c
		}
		if a.key < b.key {
			return -1
		}
		return 1
	})
	return list
}
