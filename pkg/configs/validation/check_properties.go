package validation

import (
	"fmt"
	"iter"
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/canopy-scheduler/canopy/pkg/configs"
	"github.com/canopy-scheduler/canopy/pkg/policies"
	"github.com/canopy-scheduler/canopy/pkg/resources"
)

// MaxProperties bounds the properties of a queue, inherited ones included (CFG-16). Without
// the bound a document could make each of many queues inherit very many properties.
const MaxProperties = 256

// checkQueueProperties warns of properties that have no effect or a malformed value (CFG-73 to
// CFG-78). They are warnings and not errors because YuniKorn ignores them.
func (r *Report) checkQueueProperties(q *Queue) {
	r.countProperties(q)
	for _, name := range slices.Sorted(maps.Keys(q.Properties)) {
		r.checkProperty(q, "", name, q.Properties[name])
	}
	warn := func(rule, message, hint string) {
		r.Add(q.Subject, r.At(q.Queue, "properties", configs.SortPolicyProperty), rule, message, hint)
	}
	r.checkRunTimes(q)
	switch sort := q.Properties[configs.SortPolicyProperty]; {
	case q.isParent() && sort == policies.StateAware.String():
		warn("stateaware-parent",
			"stateaware has no effect on a parent: child queues are always sorted by fair share",
			"only leaf queues below inherit it; set it there")
	case q.isParent() && sort == policies.Fair.String() && q.passesOnSort():
		warn("fair-parent",
			"leaf queues below inherit fair, and so reject applications with task groups (gangs); on the parent itself it has "+
				"no effect",
			"leave it out: child queues are always sorted by fair share; or set fifo in the leaf queues of gangs")
	case !q.isParent() && sort == policies.Fair.String() && !isPositive(q.Guaranteed.All()) &&
		!q.Guaranteed.HasPercents() && !r.IsMisread(&q.Guaranteed):
		warn("fair-raw", "fair without guaranteed resources compares plain numbers, "+
			"so bytes of memory outweigh everything", "set resources.guaranteed, or use fifo")
	}
}

// checkRunTimes warns of a default run time above the maximum, where one of the two is set (CFG-137).
func (r *Report) checkRunTimes(q *Queue) {
	for _, own := range []string{configs.RunTimeDefaultProperty, configs.RunTimeMaxProperty} {
		if _, set := q.Properties[own]; !set {
			continue
		}
		s := configs.ReadSettings(map[string]string{
			configs.RunTimeDefaultProperty: q.property(configs.RunTimeDefaultProperty),
			configs.RunTimeMaxProperty:     q.property(configs.RunTimeMaxProperty),
		}).RunTime
		if s.Max > 0 && s.Default > s.Max {
			r.Add(q.Subject, r.At(q.Queue, "properties", own), "runtime-default",
				fmt.Sprintf("runtime.default is %v and runtime.max %v, so the default has no effect", s.Default, s.Max),
				"lower the default, or leave it out: asks without a wish have the maximum then")
			return
		}
	}
}

// checkBackfill warns of a partition with backfill in which no queue enforces bounds of run times (CFG-138). A child
// template may.
func (r *Report) checkBackfill(p *Partition) {
	if p.Reservation.Backfill != configs.BackfillOff && !p.Root.enforcesRunTimes() {
		r.Add(p.Subject, r.At(p.Partition), "backfill-unbounded",
			"reservation.backfill is "+p.Reservation.Backfill.String()+
				", and no queue enforces a bound of run times, so nothing is backfilled",
			"set runtime.enforce and runtime.default in the properties of queues")
	}
}

// enforcesRunTimes reports whether q, a queue below it, or one that is created there enforces bounds of run times.
func (q *Queue) enforcesRunTimes() bool {
	enforced := func(properties map[string]string) bool {
		return configs.ReadSettings(properties).RunTime.Enforced
	}
	return enforced(q.Properties) || q.ChildTemplate != nil && enforced(q.ChildTemplate.Properties) ||
		slices.ContainsFunc(q.Children, (*Queue).enforcesRunTimes)
}

// passesOnSort reports whether a leaf below q has the sort policy of q.
func (q *Queue) passesOnSort() bool {
	return slices.ContainsFunc(q.Children, func(c *Queue) bool {
		_, own := c.Properties[configs.SortPolicyProperty]
		return !own && (!c.isParent() || c.passesOnSort())
	})
}

// countProperties bounds the number of properties of a queue, inherited ones included (CFG-16).
func (r *Report) countProperties(q *Queue) {
	if q.Above != nil {
		q.propertyCount = q.Above.propertyCount
	}
	if q.propertyCount > MaxProperties {
		return // reported above
	}
	for name := range q.Properties {
		if !q.Above.hasProperty(name) {
			q.propertyCount++
		}
	}
	if q.propertyCount > MaxProperties {
		r.Add(q.Subject, r.At(q.Queue), "bound-properties",
			fmt.Sprintf("the queue has more than %d properties, inherited ones included", MaxProperties), "")
	}
}

// property returns the value of a property of a queue, of its own or inherited; empty: it has none.
func (q *Queue) property(name string) string {
	for ; q != nil; q = q.Above {
		if text, ok := q.Properties[name]; ok {
			return text
		}
	}
	return ""
}

// hasProperty reports whether a queue has a property, of its own or inherited.
func (q *Queue) hasProperty(name string) bool {
	for ; q != nil; q = q.Above {
		if _, ok := q.Properties[name]; ok {
			return true
		}
	}
	return false
}

// checkProperty warns of one unknown or malformed property (CFG-73, CFG-74), or of one that has no effect where it is.
// An empty value is the default and is not warned of. prefix is empty, or "childtemplate ".
func (r *Report) checkProperty(q *Queue, prefix, name, text string) {
	p, ok := configs.FindProperty(name)
	path := propertyPath(prefix, name)
	switch {
	case !ok && r.LimitReached("property-unknown"):
		return
	case !ok:
		r.Add(q.Subject, r.KeyAt(q.Queue, path...), "property-unknown",
			fmt.Sprintf("unknown %sproperty %s has no effect", prefix, Quote(name)),
			DidYouMean(name, configs.PropertyNames()))
		return
	case text != "" && !p.Accepts(text):
		hint := p.Accepted
		if near := strings.ToLower(strings.TrimSpace(text)); p.Accepts(near) {
			hint = fmt.Sprintf("write %q; %s", near, p.Accepted)
		}
		r.Add(q.Subject, r.At(q.Queue, path...), "property-value",
			fmt.Sprintf("%s is no value of %s%s, so the default is used", Quote(text), prefix, p.Name), hint)
	}
	isSet := !configs.IsDefaultProperty(p.Name, text)
	for i := range uselessProperties {
		u := &uselessProperties[i]
		if u.name == p.Name && (isSet || u.evenDefault) && u.applies(q, prefix != "") && !r.LimitReached(u.rule) {
			r.Add(q.Subject, r.KeyAt(q.Queue, path...), u.rule, prefix+p.Name+" has no effect: "+u.reason, u.hint)
		}
	}
}

// propertyPath returns the path of a property in a queue or, with a prefix, in its child template.
func propertyPath(prefix, name string) []any {
	if prefix != "" {
		return []any{"childtemplate", "properties", name}
	}
	return []any{"properties", name}
}

// uselessProperties are properties that have no effect in some places (CFG-75, CFG-78, CFG-134). The delay of the
// back-off alone means nothing in YuniKorn either.
var uselessProperties = []struct {
	name, rule   string
	evenDefault  bool // also with the default value
	applies      func(q *Queue, inTemplate bool) bool
	reason, hint string
}{
	{configs.BackoffProperty, "property-unused", false, func(*Queue, bool) bool { return true },
		"an ask that cannot be placed is tried again only after something has changed", "it may be left out"},
	{configs.PriorityPreemptionProperty, "priority-off", false,
		func(q *Queue, inTemplate bool) bool { return !inTemplate && q.Partition.PriorityDisabled },
		"the partition has priority: disabled", ""},
	{configs.AgeingProperty, "priority-off", false,
		func(q *Queue, inTemplate bool) bool { return !inTemplate && q.Partition.PriorityDisabled },
		"the partition has priority: disabled", ""},
	{configs.AgeingProperty, "property-unused", false,
		func(q *Queue, inTemplate bool) bool { return !inTemplate && q.isParent() },
		"only applications of a leaf age, and it is not inherited", "set it in the leaves, or in the childtemplate"},
	{configs.HalfLifeProperty, "property-unused", false,
		func(q *Queue, inTemplate bool) bool { return !inTemplate && !q.isParent() && q.sortsStateAware() },
		"a stateaware leaf is not ordered by usage over time", "set application.sort.policy: fifo"},
	{configs.FairnessByProperty, "property-unused", false,
		func(q *Queue, inTemplate bool) bool {
			return !inTemplate && (q.isParent() || !isFair(q.Properties)) || inTemplate && !isFair(q.ChildTemplate.Properties)
		},
		"it says who is compared in a leaf with fairness.halflife or preemption.fairshare",
		"set one of these of the leaf, too"},
	{configs.FairnessWeightProperty, "property-unused", false,
		func(q *Queue, inTemplate bool) bool {
			parent := q.Above
			if inTemplate {
				parent = q
			}
			return parent == nil || !isFair(parent.Properties)
		},
		"its parent has neither fairness.halflife nor preemption.fairshare", "set one of these of the parent"},
	{configs.FairShareProperty, "priority-off", false,
		func(q *Queue, inTemplate bool) bool { return !inTemplate && q.Partition.PriorityDisabled },
		"the partition has priority: disabled", ""},
	{configs.FairShareProperty, "property-unused", false,
		func(q *Queue, inTemplate bool) bool { return !inTemplate && !q.Partition.PreemptionEnabled },
		"preemption is disabled in the partition", "set preemption: enabled: true of the partition"},
	{configs.QuotaPreemptionDelayProperty, "quota-delay", false,
		func(q *Queue, inTemplate bool) bool { return !inTemplate && !q.Partition.QuotaPreemptionEnabled },
		"the partition does not enforce a max", "set preemption: {quotapreemptionenabled: true} in the partition"},
	{configs.QuotaPreemptionDelayProperty, "quota-delay", false, isInTemplate,
		"only the max of configured queues is enforced", ""},
	{configs.QuotaSettleProperty, "quota-delay", false, isInTemplate,
		"only the max of configured queues is enforced", ""},
	{configs.ExistingLeavesProperty, "property-unused", true, isInTemplate,
		"a leaf has no child template", "set it in the properties of the queue itself"},
	{configs.MinRuntimeStrictProperty, "property-unused", false,
		func(q *Queue, inTemplate bool) bool { return !inTemplate && !q.hasMinRuntime() },
		"no queue here has a minimum run time", "set preemption.minruntime"},
	{configs.MinRuntimeStrictProperty, "property-unused", false,
		func(q *Queue, inTemplate bool) bool { return inTemplate && !setsMinRuntime(q.ChildTemplate.Properties) },
		"the template has no minimum run time", "set preemption.minruntime in the template"},
}

func isInTemplate(_ *Queue, inTemplate bool) bool { return inTemplate }

// hasMinRuntime reports whether preemption.minruntime is set in q, or in a queue above or below it.
func (q *Queue) hasMinRuntime() bool {
	for above := q.Above; above != nil; above = above.Above {
		if setsMinRuntime(above.Properties) {
			return true
		}
	}
	return q.hasMinRuntimeBelow()
}

func (q *Queue) hasMinRuntimeBelow() bool {
	return setsMinRuntime(q.Properties) || slices.ContainsFunc(q.Children, (*Queue).hasMinRuntimeBelow)
}

// isFair reports whether the properties of a queue or a template have a half-life, or share fairly.
func isFair(own map[string]string) bool {
	return !configs.IsDefaultProperty(configs.HalfLifeProperty, own[configs.HalfLifeProperty]) ||
		!configs.IsDefaultProperty(configs.FairShareProperty, own[configs.FairShareProperty])
}

// sortsStateAware reports whether the nearest application.sort.policy, of q or a queue above, is stateaware.
func (q *Queue) sortsStateAware() bool {
	for ; q != nil; q = q.Above {
		if sort := q.Properties[configs.SortPolicyProperty]; sort != "" {
			return sort == policies.StateAware.String()
		}
	}
	return false
}

// setsMinRuntime reports whether the properties of a queue or a template have a minimum run time.
func setsMinRuntime(own map[string]string) bool {
	return !configs.IsDefaultProperty(configs.MinRuntimeProperty, own[configs.MinRuntimeProperty])
}

// checkTemplate warns of a child template without effect, and of a max or a guarantee of zeroes
// only (CFG-75, CFG-43).
func (r *Report) checkTemplate(q *Queue) {
	r.checkZero(q, &q.Max, q.Max.All(), "max")
	r.checkZero(q, &q.Guaranteed, q.Guaranteed.All(), "guaranteed")
	t := q.ChildTemplate
	if t == nil {
		return
	}
	r.checkZero(q, &t.Max, t.Max.All(), "childtemplate", "max")
	r.checkZero(q, &t.Guaranteed, t.Guaranteed.All(), "childtemplate", "guaranteed")
	for _, name := range slices.Sorted(maps.Keys(t.Properties)) {
		r.checkProperty(q, "childtemplate ", name, t.Properties[name])
	}
	if !q.isParent() {
		r.Add(q.Subject, r.At(q.Queue, "childtemplate"), "template-leaf", "childtemplate has no effect on a leaf",
			"give the queue the flag parent: true")
	}
}

// checkZero warns that a max or a guarantee of zeroes only counts as not set (CFG-43).
func (r *Report) checkZero(q *Queue, of any, all iter.Seq2[string, resources.Quantity], keys ...string) {
	if r.isZero(of, all) {
		last := len(keys) - 1
		path := []any{"resources", keys[last]}
		if last > 0 {
			path = []any{keys[0], "resources", keys[last]}
		}
		r.Add(q.Subject, r.At(q.Queue, path...), "zero-resources",
			"all quantities of "+strings.Join(keys, " ")+" are zero, which is the same as not setting it", "")
	}
}

// The highest value of a PriorityClass that users can create in Kubernetes, and the lowest
// value of its system classes.
const (
	highestUserPriority  = 1_000_000_000
	lowestSystemPriority = 2_000_000_000
)

// checkOffsets warns where offsets raise the highest priority of a user's class to that of a
// system class (CFG-77). Root's offset has no effect, and a child template counts as a child.
func (r *Report) checkOffsets(root *Queue) {
	r.highestPriority(root)
}

// highestPriority is the highest current priority that q can have from asks of users: that of
// its children, or of its own asks, plus its offset; with a fence it is the offset alone. A
// queue that was warned of counts as if it had no offset, so a queue above is
// warned of only for its own offset.
func (r *Report) highestPriority(q *Queue) int64 {
	highest := int64(highestUserPriority)
	if t := q.ChildTemplate; t != nil && q.isParent() {
		highest = max(highest, r.checkPriorityOffset(q, "childtemplate ", t.Properties, highestUserPriority))
	}
	for _, c := range q.Children {
		highest = max(highest, r.highestPriority(c))
	}
	if q.Above == nil {
		return highest
	}
	return r.checkPriorityOffset(q, "", q.Properties, highest)
}

func (r *Report) checkPriorityOffset(q *Queue, prefix string, own map[string]string, highest int64) int64 {
	s := configs.ReadSettings(own)
	highest += int64(s.PriorityOffset)
	system := int64(lowestSystemPriority)
	if s.PriorityPolicy == policies.PriorityFence { // the current priority is the offset alone
		highest, system = int64(s.PriorityOffset), highestUserPriority+1
	}
	if highest < system {
		return highest
	}
	r.Add(q.Subject, r.At(q.Queue, propertyPath(prefix, configs.PriorityOffsetProperty)...), "offset-system",
		fmt.Sprintf("with the %soffset %d, asks of users can have priority %d; system priorities begin at %d",
			prefix, s.PriorityOffset, min(highest, math.MaxInt32), system),
		"the offsets of a path should stay below 1000000000 together")
	return highestUserPriority
}
