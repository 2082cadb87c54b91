package configs

import (
	"fmt"
	"math"
	"strings"

	"github.com/canopy-scheduler/canopy/pkg/policies"
)

// maxProperties bounds the properties of a queue, inherited ones included. Without it,
// a document could make every one of many queues inherit very many.
const maxProperties = 256

// checkQueueProperties warns of properties that do nothing, or not what they say. A
// property that does nothing is legal because upstream ignores it (behaviour.md 2.1).
func (r *report) checkQueueProperties(q *queueDraft) {
	r.countProperties(q)
	for _, s := range q.settings {
		// Root has no parent to show a priority to, so whatever these say there has no
		// effect, and the design asks for silence (seed 004).
		if q.up != nil || s.name.text != priorityPolicyProperty && s.name.text != priorityOffsetProperty {
			r.checkProperty(q, "", s)
		}
		if q.partition.ignorePriority {
			r.checkPriority(q, s)
		}
		if !q.partition.quotaPreemption {
			r.checkQuotaDelay(q, "", s, "the partition does not enforce a max", "set preemption: {quotapreemptionenabled: true} in the partition")
		}
	}
	sort, ok := q.own(sortPolicyProperty)
	switch {
	case !ok:
	case q.isParent() && sort.value.text == policies.StateAware.String():
		r.add(q, sort.value.at, "stateaware-parent",
			"stateaware has no effect on a parent: child queues always take fair turns",
			"only leaves below inherit it; set it on them")
	case !q.isParent() && sort.value.text == policies.Fair.String() && q.guaranteed.isNothing():
		r.add(q, sort.value.at, "fair-raw", "fair without guaranteed resources compares plain numbers, "+
			"so bytes of memory outweigh everything", "set resources.guaranteed, or use fifo")
	}
}

// countProperties keeps what a queue inherits within bounds.
func (r *report) countProperties(q *queueDraft) {
	if q.up != nil {
		q.properties = q.up.properties
	}
	if q.properties > maxProperties {
		return // reported above
	}
	for _, s := range q.settings {
		if !q.up.has(s.name.text) {
			q.properties++
		}
	}
	if q.properties > maxProperties {
		r.add(q, q.at, "bound-properties",
			fmt.Sprintf("the queue has more than %d properties, inherited ones included", maxProperties), "")
	}
}

// has reports whether a queue has a property, of its own or inherited.
func (q *queueDraft) has(name string) bool {
	for ; q != nil; q = q.up {
		if _, ok := q.own(name); ok {
			return true
		}
	}
	return false
}

// checkProperty warns of one unknown or malformed property. An empty value is the
// default, and nobody is surprised.
func (r *report) checkProperty(q *queueDraft, of string, s setting) {
	p, ok := findProperty(s.name.text)
	if !ok && r.full("property-unknown") {
		return
	}
	if !ok {
		r.add(q, s.name.at, "property-unknown",
			fmt.Sprintf("unknown %sproperty %s has no effect", of, quote(s.name.text)),
			didYouMean(s.name.text, propertyNames()))
		return
	}
	text := s.value.text
	if text == "" || p.read(&Settings{}, text) {
		return
	}
	hint := p.want
	if near := strings.ToLower(strings.TrimSpace(text)); p.read(&Settings{}, near) {
		hint = fmt.Sprintf("write %q; %s", near, p.want)
	}
	r.add(q, s.value.at, "property-value",
		fmt.Sprintf("%s is no value of %s%s, so the default is used", quote(text), of, p.name), hint)
}

// checkQuotaDelay warns of a delay after which nothing happens (behaviour.md 6.4).
// checkPriority warns of a right that nobody has, as priorities are switched off.
func (r *report) checkPriority(q *queueDraft, s setting) {
	var read Settings
	if s.name.text == prioritySwapProperty && readPrioritySwap(&read, s.value.text) && read.PrioritySwap != policies.PrioritySwapNone {
		r.add(q, s.name.at, "priority-off", prioritySwapProperty+" has no effect: the partition has priority: disabled", "")
	}
}

func (r *report) checkQuotaDelay(q *queueDraft, of string, s setting, why, hint string) {
	var read Settings
	if s.name.text == quotaDelayProperty && readQuotaDelay(&read, s.value.text) && read.QuotaDelay > 0 {
		r.add(q, s.name.at, "quota-delay", fmt.Sprintf("%s%s has no effect: %s", of, quotaDelayProperty, why), hint)
	}
}

// checkTemplate warns about the child template and about quantities that say nothing.
func (r *report) checkTemplate(q *queueDraft) {
	r.checkZero(q, "max", &q.max)
	r.checkZero(q, "guaranteed", &q.guaranteed)
	t := q.template
	if t == nil {
		return
	}
	r.checkZero(q, "childtemplate max", &t.max)
	r.checkZero(q, "childtemplate guaranteed", &t.guaranteed)
	for _, s := range t.settings {
		r.checkProperty(q, "childtemplate ", s)
		r.checkQuotaDelay(q, "childtemplate ", s, "only the max of configured queues is enforced", "")
	}
	if t.crowded {
		r.add(q, t.at, "bound-properties",
			fmt.Sprintf("the childtemplate has more than %d properties", maxProperties), "")
	}
	if !q.isParent() {
		r.add(q, t.at, "template-leaf", "childtemplate has no effect on a leaf",
			"give the queue the flag parent: true")
	}
}

// checkZero warns that zeroes alone forbid nothing (behaviour.md 3.4).
func (r *report) checkZero(q *queueDraft, what string, amounts *quantities) {
	if amounts.isZero() {
		r.add(q, amounts.at, "zero-resources",
			"all quantities of "+what+" are zero, which is the same as not setting it", "")
	}
}

// The highest priority of a Kubernetes class that users can make, and the lowest of
// those the system keeps for itself.
const (
	highestUserPriority  = 1_000_000_000
	lowestSystemPriority = 2_000_000_000
)

// checkOffsets warns where offsets lift a priority that users can ask for to one of
// the system's. Root's offset has no effect, and a child template counts as a child.
func (r *report) checkOffsets(root *queueDraft) {
	r.lifted(root)
}

// lifted is the highest priority that q can show for a user's work: that of its
// children, or of its own work, plus its offset; a fence starts over at the offset. A
// queue that was warned about counts as if it had no offset, so a queue above is
// warned about only for what it adds itself.
func (r *report) lifted(q *queueDraft) int64 {
	highest := int64(highestUserPriority)
	if t := q.template; t != nil && q.isParent() {
		highest = max(highest, r.shown(q, "childtemplate ", t.settings, highestUserPriority))
	}
	for _, c := range q.children {
		highest = max(highest, r.lifted(c))
	}
	if q.up == nil {
		return highest
	}
	return r.shown(q, "", q.settings, highest)
}

func (r *report) shown(q *queueDraft, of string, settings []setting, highest int64) int64 {
	var s Settings
	offset, _ := find(settings, priorityOffsetProperty)
	readOffset(&s, offset.value.text)
	if policy, ok := find(settings, priorityPolicyProperty); ok {
		readPriority(&s, policy.value.text)
	}
	highest += int64(s.Offset)
	system := int64(lowestSystemPriority)
	if s.Priority == policies.PriorityFence { // no user's class comes near: the offset alone is what is shown
		highest, system = int64(s.Offset), highestUserPriority+1
	}
	if highest < system {
		return highest
	}
	r.add(q, offset.value.at, "offset-system",
		fmt.Sprintf("with the %soffset %d, work of users can show priority %d; those of the system begin at %d",
			of, s.Offset, min(highest, math.MaxInt32), system),
		"the offsets of a path should stay below 1000000000 together")
	return highestUserPriority
}
