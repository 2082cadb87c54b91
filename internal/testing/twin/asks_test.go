package twin

import (
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/canopy-scheduler/canopy/pkg/lifecycle"
	"github.com/canopy-scheduler/canopy/pkg/objects"
	"github.com/canopy-scheduler/canopy/pkg/resources"
	"github.com/canopy-scheduler/canopy/pkg/scheduler"
)

func (t *Twin) submit(ask *objects.Ask, class string) {
	reason := ""
	if w := t.allocation(ask.Key); w == nil || w.ask.App != ask.App {
		if constraintsUnreadable(ask) {
			reason = "an unreadable constraint"
		}
	}
	if reason == "" {
		reason = t.invalidReason(ask, false)
	}
	if w := t.allocation(ask.Key); reason == "" && w == nil {
		reason = t.runTimeReason(ask)
	}
	if reason == "" {
		reason = t.contradiction(ask, class, "")
	}
	if reason == "" {
		reason = t.quotaRejection(ask, class, t.allocation(ask.Key))
	}
	if reason != "" {
		t.reject(ask, reason)
		return
	}
	if t.allocation(ask.Key) == nil {
		ask = t.inDomain(ask)
	}
	t.upsertAsk(ask, class)
}

// submitAskWithClass checks the priority class of a new ask.
func (t *Twin) submitClassed(c scheduler.SubmitAskWithClass) {
	if w := t.allocation(c.Ask.Key); w == nil || w.ask.App != c.Ask.App {
		if c.NamedClass != "" && t.ignorePriority {
			t.reject(c.Ask, "no classes")
			return
		}
		if c.RejectReason != "" {
			t.reject(c.Ask, c.RejectReason)
			return
		}
		if a := t.app(c.Ask.App); a != nil && c.AllowedUsers != nil && !c.AllowedUsers.Allows(a.user) {
			t.reject(c.Ask, "not for this user")
			return
		}
	}
	t.submit(c.Ask, c.Class)
}

// report adds a recovered allocation. The node of a known allocation does not change. Quotas are not
// checked for a recovered allocation.
func (t *Twin) report(c scheduler.ReportAllocation) {
	ask, on := c.Ask, c.Node
	reason, w := t.invalidReason(ask, true), t.allocation(ask.Key)
	if reason == "" {
		reason = t.contradiction(ask, c.Class, on)
	}
	runs := w != nil && w.node != ""
	if reason == "" && !runs && t.node(on) == nil {
		reason = "node unknown"
	}
	if reason != "" {
		if w != nil || !t.holdOrphan(c) {
			t.reject(ask, reason)
		}
		return
	}
	t.releaseForeign(ask.Key)
	unknown := w == nil
	if unknown && constraintsUnreadable(ask) {
		t.refuse("constraints", "unreadable")
	}
	var started time.Time
	if unknown {
		started = t.startOf(ask)
	}
	w = t.upsertAsk(ask, c.Class)
	if unknown {
		w.started = started
	}
	if w.node == "" {
		t.bind(w, on)
	}
	if unknown && w.created.Before(w.boundAt) {
		w.boundAt = w.created
	}
	if !runs {
		t.keepDomain(ask.App)
	}
}

// holdOrphan keeps a reported allocation on its node that its application does not take. It returns false if that is
// not possible.
func (t *Twin) holdOrphan(c scheduler.ReportAllocation) bool {
	f, amounts := t.foreignOf(c.Ask.Key), c.Ask.Amounts
	if f != nil && (f.report == nil || f.report.Ask.App != c.Ask.App) || amounts.IsZero() {
		return false
	}
	return t.addForeign(&foreign{objects.Foreign{Key: c.Ask.Key, Node: c.Node, Amounts: amounts, Tags: c.Ask.Tags()}, &c})
}

// releaseOrphans ends the orphaned allocations that c means. It reports whether there were any.
func (t *Twin) releaseOrphans(c scheduler.Release) bool {
	if c.Scope == scheduler.OnlyAsks {
		return false
	}
	orphans := t.orphans(c.App, c.Key)
	for _, f := range orphans {
		t.releaseForeign(f.Key)
		if c.Type == scheduler.Unspecified || c.Type == scheduler.StoppedByRM {
			t.emit(scheduler.Released{Key: f.Key, App: c.App, Type: scheduler.StoppedByRM, Message: "released as the RM asked"})
		}
	}
	return len(orphans) > 0
}

func (t *Twin) reject(ask *objects.Ask, reason string) {
	t.emit(scheduler.AskRejected{Key: ask.Key, App: ask.App, Reason: reason})
}

// invalidReason says why an ask, or new amounts of a known one, are invalid. runs: it is a recovered allocation.
func (t *Twin) invalidReason(ask *objects.Ask, runs bool) string {
	w := t.allocation(ask.Key)
	var before resources.Amounts
	if w != nil {
		before = w.ask.Amounts
	}
	switch {
	case t.app(ask.App) == nil:
		return "application unknown"
	case w == nil && t.app(ask.App).state == lifecycle.Failing:
		return "its gang has failed"
	case t.foreignOf(ask.Key) != nil && !(runs && len(t.orphans(ask.App, ask.Key)) > 0):
		return "the key is that of a foreign allocation"
	case w != nil && w.ask.App != ask.App:
		return "the key belongs to another application"
	case w == nil && ask.Placeholder && ask.TaskGroup() == "":
		return "a placeholder of no task group"
	case w == nil && ask.Placeholder && len(t.app(ask.App).gang.Virtual) > 0:
		return "a placeholder beside virtual ones"
	case w == nil && ask.TaskGroup() != "" && t.affinityOf(ask).MayBeRefused() && len(t.app(ask.App).gang.Virtual) > 0:
		return "a member of a gang that is placed together, with constraints on the allocations around it"
	case ask.Amounts.HasNegative():
		return "a negative quantity"
	case ask.Amounts.IsZero():
		return "it asks for nothing"
	case !t.namesWithinLimit(w != nil || !runs, ask.Amounts.All()):
		return "too many resource names"
	case overflows(t.totalRequested().Sub(before), ask.Amounts):
		return "more than can be counted"
	}
	return ""
}

// contradiction says what a repeated ask may not change: another priority, unless a class has given it, another
// task group, another required node while it is pending, or another node than the one that it is on.
func (t *Twin) contradiction(ask *objects.Ask, class string, on objects.NodeID) string {
	w := t.allocation(ask.Key)
	switch {
	case w == nil:
	case class == "" && w.class == "" && ask.Priority != w.ask.Priority:
		return "another priority"
	case ask.TaskGroup() != w.ask.TaskGroup() || ask.Placeholder != w.ask.Placeholder:
		return "another task group"
	case on == "" && w.node == "" && ask.RequiredNode() != w.ask.RequiredNode():
		return "another required node"
	case on != "" && w.node != "" && on != w.node:
		return "it runs elsewhere"
	}
	return ""
}

// upsertAsk adds a valid ask, or sets the amounts of a known one.
func (t *Twin) upsertAsk(ask *objects.Ask, class string) *allocation {
	if w := t.allocation(ask.Key); w != nil {
		if !w.ask.Amounts.Equal(ask.Amounts) {
			t.unnominate(w)
			t.unreserve(w)
			t.unlink(w)
		}
		resized := *w.ask
		resized.Amounts = ask.Amounts
		if used, err := objects.ReadUsage(ask.Tags()); err != nil &&
			ask.Tags()[objects.UsageTag] != w.ask.Tags()[objects.UsageTag] {
			t.refuse("usage", "nonsense")
		} else if used != nil && err == nil {
			tags := map[string]string{objects.UsageTag: ask.Tags()[objects.UsageTag]}
			for name, value := range w.ask.Tags() {
				if name != objects.UsageTag {
					tags[name] = value
				}
			}
			resized = *resized.WithTags(tags)
		}
		w.ask = &resized
		t.updatePeak(t.app(ask.App))
		return w
	}
	a := t.app(ask.App)
	ask = t.withRefusals(ask)
	t.arrivals++
	w := &allocation{ask: ask, class: class, created: ask.Created.Time(), arrival: t.arrivals}
	if w.created.IsZero() {
		w.created = t.now
	}
	if w.created.Before(a.submitted) {
		a.submitted = w.created
	}
	t.allocations = append(t.allocations, w)
	t.standInAdded(a, w)
	t.onAskAdded(a)
	return w
}

// bind gives an ask its node.
func (t *Twin) bind(w *allocation, on objects.NodeID) {
	t.place(w, on)
	t.emitStates()
	t.emit(scheduler.Allocated{Binding: &scheduler.Binding{Ask: w.ask, Node: on}})
}

// place does what bind does, without effects.
func (t *Twin) place(w *allocation, on objects.NodeID) {
	a := t.app(w.ask.App)
	t.unlink(w)
	if a.allocationsMade == 0 {
		a.firstAllocated = t.now
	}
	a.allocationsMade++
	w.node, w.boundAt, a.askedAgain = on, t.now, false
	t.updatePeak(a)
	t.onBound(a, w)
}

func (t *Twin) release(c scheduler.Release) {
	if c.Key == "" {
		for _, w := range t.allocationsOf(c.App) {
			t.unlink(w)
		}
	}
	if c.NodeRefused {
		for _, w := range byKey(t.allocationsOf(c.App)) {
			if w.node != "" && (c.Key == "" || w.ask.Key == c.Key) && c.Scope != scheduler.OnlyAsks {
				t.refuseNode(w)
			}
		}
	}
	gone := t.removeAllocations(func(w *allocation) bool {
		meant := w.ask.App == c.App && (c.Key == "" || w.ask.Key == c.Key)
		switch c.Scope {
		case scheduler.OnlyAsks:
			meant = meant && w.node == ""
		case scheduler.OnlyAllocations:
			meant = meant && w.node != ""
		}
		return meant && (w.node != "" || c.Type != scheduler.TimedOut)
	})
	known := slices.ContainsFunc(t.allocations,
		func(w *allocation) bool { return w.ask.App == c.App && w.ask.Key == c.Key })
	orphans := t.releaseOrphans(c)
	if c.Type == scheduler.PreemptedByScheduler && c.Key != "" && len(gone) == 0 && !known && !orphans {
		t.refuse(fmt.Sprintf("confirmation that allocation %s was preempted", c.Key), "nobody has it")
	}
	for _, w := range gone {
		switch {
		case w.node == "":
			t.emit(scheduler.AskCancelled{Key: w.ask.Key, App: w.ask.App, Reason: "cancelled as the RM asked"})
		case c.Type == scheduler.Unspecified, c.Type == scheduler.StoppedByRM: // else the RM confirms a release
			t.emitReleased(w, "allocation remove as per RM request")
		}
	}
}

func (t *Twin) totalRequested() resources.Amounts {
	var sum resources.Amounts
	for _, w := range t.allocations {
		sum = sum.Add(w.ask.Amounts)
	}
	return sum
}

// overflows reports whether a sum exceeds 64 bits.
func overflows(sum, more resources.Amounts) bool {
	for _, n := range sum.Add(more).All() {
		if n == math.MaxInt64 {
			return true
		}
	}
	return false
}
