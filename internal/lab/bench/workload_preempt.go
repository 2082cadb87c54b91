package bench

import (
	"fmt"
	"strings"

	"github.com/canopy-scheduler/canopy/internal/lab/bench/workload"
	"github.com/canopy-scheduler/canopy/pkg/objects"
	"github.com/canopy-scheduler/canopy/pkg/resources"
	"github.com/canopy-scheduler/canopy/pkg/scheduler"
	"github.com/canopy-scheduler/canopy/pkg/security"
)

// guaranteedLeaf is the leaf with a guarantee.
const guaranteedLeaf = "owed"

// preemptsByGuarantee reports whether preemptors are in a leaf whose guarantee covers all of them.
func (s *stream) preemptsByGuarantee() bool {
	return s.spec.Preemptors > 0 && s.spec.PreemptBy == workload.ByGuarantee
}

// drawPreemptors draws the sizes of preemptors: each is as large as Victims of the most frequent
// allocations, less a few bytes of memory that make it unique. Nodes must have their size.
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
				return fmt.Errorf("with --victims %d a preemptor takes %d of %s, and a node has %d: use fewer --nodes, more "+
					"--asks or fewer --victims",
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

// preemptProperty returns the property preemption.priority of root, which all queues inherit.
func (s *stream) preemptProperty() string {
	if s.spec.Preemptors == 0 || s.preemptsByGuarantee() {
		return ""
	}
	return ", preemption.priority: " + s.spec.PreemptBy
}

// guaranteedQueue returns the leaf with the guarantee. The shortest preemption delay has passed at once:
// time advances between ask and decision.
func (s *stream) guaranteedQueue() string {
	var parts []string
	for name, n := range s.preemptorSizes[0].All() {
		parts = append(parts, fmt.Sprintf("%s: %s", name, quantityText(name, n*resources.Quantity(s.spec.Preemptors))))
	}
	return fmt.Sprintf(",\n          {name: %s, properties: {preemption.delay: %v}, resources: {guaranteed: {%s}}}",
		guaranteedLeaf, commandInterval, strings.Join(parts, ", "))
}

// preemptorLeaves returns the leaves with preemptors.
func (s *stream) preemptorLeaves() []objects.QueuePath {
	if s.preemptsByGuarantee() {
		return []objects.QueuePath{objects.RootPath.Child(guaranteedLeaf)}
	}
	return s.leaves
}

// preemptorApp returns the ID of the application of preemptors in a leaf, by its number.
func preemptorApp(leaf int) objects.AppID {
	return objects.AppID("preemptor-" + padded(leaf, 8) + "-application")
}

// addPreemptorApp adds the application of preemptors in a leaf.
func (s *stream) addPreemptorApp(leaf int) scheduler.Command {
	return scheduler.AddApplication{
		App: preemptorApp(leaf), User: security.User{Name: "preemptor"}, Queue: string(s.preemptorLeaves()[leaf]),
	}
}

// submitPreemptor submits the i-th preemptor. By priority it is above all others; for a guarantee it
// has the same priority.
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

// firstPreemptor returns the number in the key of the first preemptor; all other asks have lower numbers.
func (s *stream) firstPreemptor() int { return len(s.draws) }
