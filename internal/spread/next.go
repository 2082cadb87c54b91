package spread

import (
	"cmp"
	"maps"
	"slices"
)

// Options configure Next.
type Options struct {
	// Gain is the least that a move must lower the heavier of the two members by, as a share of the mean weight of members; 0: DefaultGain.
	Gain float64
	// MaxMoves is how many partitions one call moves for balance; 0: DefaultMaxMoves.
	MaxMoves int
}

// Defaults of Options.
const (
	DefaultGain     = 0.1
	DefaultMaxMoves = 1
)

// Next returns the assignment for partitions (those of the configuration in force), and whether it differs from now. Names of members are
// distinct. The result does not depend on the order of partitions and members, and shares nothing with the arguments.
//
// With at least one member each partition is assigned to a living one. A partition whose member is alive moves only for balance, and one whose
// member is gone, or that is new, is placed: where it is led now, else on the member with the least weight (HAP-1). A partition that has left
// the configuration stays where it is led until it is not (HAP-2). A call that places or drops a partition moves none.
func Next(now Assignment, partitions []string, members []Member, opt Options) (next Assignment, changed bool) {
	next = now.Clone()
	if len(members) == 0 {
		return next, false
	}
	p := newPlan(now, partitions, members)
	p.place()
	assigned := p.assigned()
	if maps.Equal(assigned, now.Members) && p.settled() {
		p.balance(opt)
		assigned = p.assigned()
	}
	if maps.Equal(assigned, now.Members) {
		return next, false
	}
	return Assignment{Members: assigned, Round: now.Round + 1}, true
}

// plan is an assignment while it is made.
type plan struct {
	members    []*planMember    // sorted by name
	partitions []*planPartition // sorted by name
}

type planMember struct {
	name   string
	weight int64 // of the partitions on it
}

type planPartition struct {
	name     string
	load     float64
	weight   int64
	draining bool          // it has left the configuration
	moved    bool          // in this call
	leaders  []*planMember // the members that say they lead it, sorted by name
	refused  []*planMember // the members that could not lead it
	on       *planMember   // nil: not placed yet
}

// newPlan returns a plan with the partitions that stay where they are.
func newPlan(now Assignment, partitions []string, members []Member) *plan {
	p := &plan{}
	byName, all := map[string]*planMember{}, map[string]*planPartition{}
	for _, name := range partitions {
		all[name] = &planPartition{name: name}
	}
	for _, m := range slices.SortedFunc(slices.Values(members), func(a, b Member) int { return cmp.Compare(a.Name, b.Name) }) {
		member := &planMember{name: m.Name}
		p.members, byName[m.Name] = append(p.members, member), member
		for name, load := range m.Leads {
			if all[name] == nil {
				all[name] = &planPartition{name: name, draining: true}
			}
			partition := all[name]
			partition.leaders = append(partition.leaders, member)
			partition.load = max(partition.load, Load(load)) // during a move two members may say so
		}
	}
	for _, m := range members {
		for _, name := range m.Refuses {
			if all[name] != nil && !slices.Contains(all[name].leaders, byName[m.Name]) && !slices.Contains(all[name].refused, byName[m.Name]) {
				all[name].refused = append(all[name].refused, byName[m.Name])
			}
		}
	}
	for _, name := range slices.Sorted(maps.Keys(all)) {
		partition := all[name]
		partition.on = byName[now.Members[name]]
		if partition.isRefused(partition.on) && len(partition.refused) < len(p.members) {
			partition.on = nil
		}
		if partition.draining && !slices.Contains(partition.leaders, partition.on) {
			partition.on = partition.leaders[0]
		}
		p.partitions = append(p.partitions, partition)
	}
	p.weigh()
	return p
}

// place places the partitions that are on no member. Those that are led stay where they are; of the others the heaviest goes first.
func (p *plan) place() {
	var rest []*planPartition
	for _, partition := range p.partitions {
		switch {
		case partition.on != nil:
		case len(partition.leaders) > 0:
			partition.put(lightest(partition.leaders))
		default:
			rest = append(rest, partition)
		}
	}
	slices.SortStableFunc(rest, func(a, b *planPartition) int { return cmp.Compare(b.weight, a.weight) })
	for _, partition := range rest {
		partition.put(lightest(partition.ableAmong(p.members)))
	}
}

// isRefused reports whether a member could not lead the partition.
func (x *planPartition) isRefused(by *planMember) bool { return slices.Contains(x.refused, by) }

// ableAmong are the members that have not refused the partition, or all if each has (HAP-9).
func (x *planPartition) ableAmong(members []*planMember) []*planMember {
	able := slices.DeleteFunc(slices.Clone(members), x.isRefused)
	if len(able) == 0 {
		return members
	}
	return able
}

// settled reports whether each partition is led by the member that it is assigned to, or by none because all have refused it. Otherwise a former
// move is still under way.
func (p *plan) settled() bool {
	return !slices.ContainsFunc(p.partitions, func(x *planPartition) bool {
		return !slices.Contains(x.leaders, x.on) && len(x.refused) < len(p.members)
	})
}

func (p *plan) assigned() map[string]string {
	all := make(map[string]string, len(p.partitions))
	for _, partition := range p.partitions {
		all[partition.name] = partition.on.name
	}
	return all
}
