package validation

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/canopy-scheduler/canopy/pkg/configs"
	"github.com/canopy-scheduler/canopy/pkg/policies"
)

// MaxProperties bounds the properties of a queue, inherited ones included (CFG-16). Without
// the bound a document could make each of many queues inherit very many properties.
const MaxProperties = 256

// checkQueueProperties warns of properties that have no effect or a malformed value (CFG-73 to
// CFG-78). They are warnings and not errors because YuniKorn ignores them.
func (r *Report) checkQueueProperties(q *QueueDraft) {
	r.countProperties(q)
	for _, s := range q.Settings {
		r.checkProperty(q, "", s)
	}
	sort, ok := q.ownSetting(configs.SortPolicyProperty)
	switch {
	case !ok:
	case q.isParent() && sort.Value.Text == policies.StateAware.String():
		r.Add(q, sort.Value.Position, "stateaware-parent",
			"stateaware has no effect on a parent: child queues are always sorted by fair share",
			"only leaf queues below inherit it; set it there")
	case q.isParent() && sort.Value.Text == policies.Fair.String() && q.passesOnSort():
		r.Add(q, sort.Value.Position, "fair-parent",
			"leaf queues below inherit fair, and so reject applications with task groups (gangs); on the parent itself it has "+
				"no effect",
			"leave it out: child queues are always sorted by fair share; or set fifo in the leaf queues of gangs")
	case !q.isParent() && sort.Value.Text == policies.Fair.String() && q.Guaranteed.hasNoQuantity():
		r.Add(q, sort.Value.Position, "fair-raw", "fair without guaranteed resources compares plain numbers, "+
			"so bytes of memory outweigh everything", "set resources.guaranteed, or use fifo")
	}
}

// passesOnSort reports whether a leaf below q has the sort policy of q.
func (q *QueueDraft) passesOnSort() bool {
	return slices.ContainsFunc(q.Children, func(c *QueueDraft) bool {
		_, own := c.ownSetting(configs.SortPolicyProperty)
		return !own && (!c.isParent() || c.passesOnSort())
	})
}

// countProperties bounds the number of properties of a queue, inherited ones included (CFG-16).
func (r *Report) countProperties(q *QueueDraft) {
	if q.ParentQueue != nil {
		q.propertyCount = q.ParentQueue.propertyCount
	}
	if q.propertyCount > MaxProperties {
		return // reported above
	}
	for _, s := range q.Settings {
		if !q.ParentQueue.hasProperty(s.Name.Text) {
			q.propertyCount++
		}
	}
	if q.propertyCount > MaxProperties {
		r.Add(q, q.Position, "bound-properties",
			fmt.Sprintf("the queue has more than %d properties, inherited ones included", MaxProperties), "")
	}
}

// hasProperty reports whether a queue has a property, of its own or inherited.
func (q *QueueDraft) hasProperty(name string) bool {
	for ; q != nil; q = q.ParentQueue {
		if _, ok := q.ownSetting(name); ok {
			return true
		}
	}
	return false
}

// checkProperty warns of one unknown or malformed property (CFG-73, CFG-74), or of one that has no effect where it is.
// An empty value is the default and is not warned of.
func (r *Report) checkProperty(q *QueueDraft, prefix string, s Setting) {
	p, ok := configs.FindProperty(s.Name.Text)
	text := s.Value.Text
	switch {
	case !ok && r.LimitReached("property-unknown"):
		return
	case !ok:
		r.Add(q, s.Name.Position, "property-unknown",
			fmt.Sprintf("unknown %sproperty %s has no effect", prefix, Quote(s.Name.Text)),
			DidYouMean(s.Name.Text, configs.PropertyNames()))
		return
	case text != "" && !p.Accepts(text):
		hint := p.Accepted
		if near := strings.ToLower(strings.TrimSpace(text)); p.Accepts(near) {
			hint = fmt.Sprintf("write %q; %s", near, p.Accepted)
		}
		r.Add(q, s.Value.Position, "property-value",
			fmt.Sprintf("%s is no value of %s%s, so the default is used", Quote(text), prefix, p.Name), hint)
	}
	isSet := !configs.IsDefaultProperty(p.Name, text)
	for i := range uselessProperties {
		u := &uselessProperties[i]
		if u.name == p.Name && (isSet || u.evenDefault) && u.applies(q.Partition, prefix != "") && !r.LimitReached(u.rule) {
			r.Add(q, s.Name.Position, u.rule, prefix+p.Name+" has no effect: "+u.reason, u.hint)
		}
	}
}

// uselessProperties are properties that have no effect in some places (CFG-75, CFG-78, CFG-134). The delay of the
// back-off alone means nothing in YuniKorn either.
var uselessProperties = []struct {
	name, rule   string
	evenDefault  bool // also with the default value
	applies      func(p *PartitionDraft, inTemplate bool) bool
	reason, hint string
}{
	{configs.BackoffProperty, "property-unused", false, func(*PartitionDraft, bool) bool { return true },
		"an ask that cannot be placed is tried again only after something has changed", "it may be left out"},
	{configs.PriorityPreemptionProperty, "priority-off", false,
		func(p *PartitionDraft, inTemplate bool) bool { return !inTemplate && p.PriorityDisabled },
		"the partition has priority: disabled", ""},
	{configs.QuotaPreemptionDelayProperty, "quota-delay", false,
		func(p *PartitionDraft, inTemplate bool) bool { return !inTemplate && !p.QuotaPreemptionEnabled },
		"the partition does not enforce a max", "set preemption: {quotapreemptionenabled: true} in the partition"},
	{configs.QuotaPreemptionDelayProperty, "quota-delay", false, isInTemplate,
		"only the max of configured queues is enforced", ""},
	{configs.ExistingLeavesProperty, "property-unused", true, isInTemplate,
		"a leaf has no child template", "set it in the properties of the queue itself"},
}

func isInTemplate(_ *PartitionDraft, inTemplate bool) bool { return inTemplate }

// settingsOf are the settings of a queue that has only the given properties. A malformed value means
// the default.
func settingsOf(written ...Setting) configs.Settings {
	return configs.ReadSettings(resolve(map[string]string{}, written))
}

// checkTemplate warns of a child template without effect, and of a max or a guarantee of zeroes
// only (CFG-75, CFG-43).
func (r *Report) checkTemplate(q *QueueDraft) {
	r.checkZero(q, "max", &q.Max)
	r.checkZero(q, "guaranteed", &q.Guaranteed)
	t := q.ChildTemplate
	if t == nil {
		return
	}
	r.checkZero(q, "childtemplate max", &t.Max)
	r.checkZero(q, "childtemplate guaranteed", &t.Guaranteed)
	for _, s := range t.Settings {
		r.checkProperty(q, "childtemplate ", s)
	}
	if t.TooManyProperties {
		r.Add(q, t.Position, "bound-properties",
			fmt.Sprintf("the childtemplate has more than %d properties", MaxProperties), "")
	}
	if !q.isParent() {
		r.Add(q, t.Position, "template-leaf", "childtemplate has no effect on a leaf",
			"give the queue the flag parent: true")
	}
}

// checkZero warns that a max or a guarantee of zeroes only counts as not set (CFG-43).
func (r *Report) checkZero(q *QueueDraft, what string, amounts *Quantities) {
	if amounts.isZero() {
		r.Add(q, amounts.Position, "zero-resources",
			"all quantities of "+what+" are zero, which is the same as not setting it", "")
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
func (r *Report) checkOffsets(root *QueueDraft) {
	r.highestPriority(root)
}

// highestPriority is the highest current priority that q can have from asks of users: that of
// its children, or of its own asks, plus its offset; with a fence it is the offset alone. A
// queue that was warned of counts as if it had no offset, so a queue above is
// warned of only for its own offset.
func (r *Report) highestPriority(q *QueueDraft) int64 {
	highest := int64(highestUserPriority)
	if t := q.ChildTemplate; t != nil && q.isParent() {
		highest = max(highest, r.checkPriorityOffset(q, "childtemplate ", t.Settings, highestUserPriority))
	}
	for _, c := range q.Children {
		highest = max(highest, r.highestPriority(c))
	}
	if q.ParentQueue == nil {
		return highest
	}
	return r.checkPriorityOffset(q, "", q.Settings, highest)
}

func (r *Report) checkPriorityOffset(q *QueueDraft, prefix string, settings []Setting, highest int64) int64 {
	offset, _ := find(settings, configs.PriorityOffsetProperty)
	policy, _ := find(settings, configs.PriorityPolicyProperty)
	if offset == (Setting{}) && policy == (Setting{}) {
		return highest
	}
	s := settingsOf(offset, policy)
	highest += int64(s.PriorityOffset)
	system := int64(lowestSystemPriority)
	if s.PriorityPolicy == policies.PriorityFence { // the current priority is the offset alone
		highest, system = int64(s.PriorityOffset), highestUserPriority+1
	}
	if highest < system {
		return highest
	}
	r.Add(q, offset.Value.Position, "offset-system",
		fmt.Sprintf("with the %soffset %d, asks of users can have priority %d; system priorities begin at %d",
			prefix, s.PriorityOffset, min(highest, math.MaxInt32), system),
		"the offsets of a path should stay below 1000000000 together")
	return highestUserPriority
}
