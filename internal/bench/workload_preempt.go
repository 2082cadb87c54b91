package bench

import (
	"fmt"
	"strings"

	"github.com/canopy-scheduler/canopy/pkg/objects"
	"github.com/canopy-scheduler/canopy/pkg/resources"
	"github.com/canopy-scheduler/canopy/pkg/scheduler"
	"github.com/canopy-scheduler/canopy/pkg/security"
)

// The rights that Spec.PreemptBy names.
const (
	ByLeaf      = "leaf"      // of priority, among the work of its own leaf
	ByFence     = "fence"     // of priority, among all work
	ByGuarantee = "guarantee" // of a queue of its own that has nothing yet
)

// guaranteedLeaf is the leaf that takes back what it is guaranteed.
const guaranteedLeaf = "owed"

// preemptsByGuarantee reports whether preemptors are in a leaf of their own that is guaranteed all they ask for.
func (s *stream) preemptsByGuarantee() bool {
	return s.spec.Preemptors > 0 && s.spec.PreemptBy == ByGuarantee
}

// drawPreemptors sizes the asks that preempt: each is as large as so many of the commonest
// allocations, but for a few bytes of memory that tell them apart. Requires: nodes have
// their size.
func (s *stream) drawPreemptors() error {
	s.preemptorSizes = nil
	if s.spec.Preemptors == 0 {
		return nil
	}
	for k := range s.spec.PreemptorSizes {
		m := map[string]resources.Quantity{}
		for name, n := range s.shapes[0].All() {
			m[name] = n * resources.Quantity(s.spec.Victims)
			if has := s.size.Get(name); m[name] > has {
				return fmt.Errorf("with --victims %d a preemptor takes %d of %s, and a node has %d: use fewer --nodes, more --asks or fewer --victims",
					s.spec.Victims, m[name], name, has)
			}
		}
		if k > 0 {
			m["memory"] -= resources.Quantity(k)
		}
		s.preemptorSizes = append(s.preemptorSizes, resources.FromMap(m))
	}
	return nil
}

// preemptProperty is what root says of preemption by priority, for all queues.
func (s *stream) preemptProperty() string {
	if s.spec.Preemptors == 0 || s.preemptsByGuarantee() {
		return ""
	}
	return ", preemption.priority: " + s.spec.PreemptBy
}

// guaranteedQueue is the leaf of preemptors that is owed room. The least delay there is counts as
// none: time passes between asking and deciding.
func (s *stream) guaranteedQueue() string {
	var parts []string
	for name, n := range s.preemptorSizes[0].All() {
		parts = append(parts, fmt.Sprintf("%s: %s", name, quantityText(name, n*resources.Quantity(s.spec.Preemptors))))
	}
	return fmt.Sprintf(",\n          {name: %s, properties: {preemption.delay: %v}, resources: {guaranteed: {%s}}}",
		guaranteedLeaf, commandInterval, strings.Join(parts, ", "))
}

// preemptorLeaves are the leaves in which asks preempt.
func (s *stream) preemptorLeaves() []objects.QueuePath {
	if s.preemptsByGuarantee() {
		return []objects.QueuePath{objects.RootPath.Child(guaranteedLeaf)}
	}
	return s.leaves
}

// preemptorApp is the application of asks that preempt in a leaf, by its number.
func preemptorApp(leaf int) objects.AppID {
	return objects.AppID("preemptor-" + padded(leaf, 8) + "-application")
}

// addPreemptorApp is the application of asks that preempt in a leaf.
func (s *stream) addPreemptorApp(leaf int) scheduler.Command {
	return scheduler.AddApplication{
		App: preemptorApp(leaf), User: security.User{Name: "preemptor"}, Queue: string(s.preemptorLeaves()[leaf]),
	}
}

// submitPreemptor is the i-th ask that preempts. By priority it is above all others; a
// guarantee is enough for one that is not.
func (s *stream) submitPreemptor(i int) scheduler.Command {
	priority := s.spec.Priorities
	if s.preemptsByGuarantee() {
		priority--
	}
	return scheduler.SubmitAsk{Ask: &objects.Ask{
		Key: s.key(s.firstPreemptor() + i), App: preemptorApp(i % len(s.preemptorLeaves())),
		Amounts: s.preemptorSizes[i%len(s.preemptorSizes)], Priority: int32(priority),
		Policy: objects.PolicySent | objects.PolicyAllowPreemptSelf | objects.PolicyAllowPreemptOther,
	}}
}

// firstPreemptor is the number in the key of the first ask that preempts: those of all
// others are lower.
func (s *stream) firstPreemptor() int { return len(s.draws) }
