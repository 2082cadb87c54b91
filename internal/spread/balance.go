package spread

import (
	"cmp"
	"slices"
)

// whole is the weight of all partitions together. Weights are whole numbers, so that sums do not depend on the order of their terms and
// equal weights are equal.
const whole = 1 << 50

// weigh gives each partition its weight, and the members what is on them: half by the number of partitions, half by their share of the load. An
// idle partition costs something too, and a load that is measured wrong, or is not known yet, puts not all on one member.
func (p *plan) weigh() {
	highest, total := 0.0, 0.0
	for _, partition := range p.partitions {
		highest = max(highest, partition.load)
	}
	for _, partition := range p.partitions {
		if highest > 0 {
			total += partition.load / highest // the loads themselves could add up to infinity
		}
	}
	for _, partition := range p.partitions {
		share := 1 / float64(len(p.partitions))
		if highest > 0 {
			share = share/2 + partition.load/highest/total/2
		}
		partition.weight = int64(share * whole)
		if partition.on != nil {
			partition.on.weight += partition.weight
		}
	}
}

// put places a partition, or moves it.
func (x *planPartition) put(on *planMember) {
	if x.on != nil {
		x.on.weight -= x.weight
	}
	x.on = on
	on.weight += x.weight
}

// lightest is the member with the least weight, of equal ones the first.
func lightest(members []*planMember) *planMember {
	return slices.MinFunc(members, func(a, b *planMember) int { return cmp.Compare(a.weight, b.weight) })
}

// balance moves partitions from the heaviest members to the lightest (HAP-3).
func (p *plan) balance(opt Options) {
	gain, moves := opt.Gain, opt.MaxMoves
	if !(gain > 0) {
		gain = DefaultGain
	}
	if moves <= 0 {
		moves = DefaultMaxMoves
	}
	least := max(1, int64(min(gain, float64(len(p.members)))*whole/float64(len(p.members))))
	for range moves {
		to := lightest(p.members)
		moving := p.toMove(to, least)
		if moving == nil {
			return
		}
		moving.put(to)
		moving.moved = true
	}
}

// toMove is the partition whose move to a member equalises best; nil: no move gains at least the weight least. It is one of the heaviest
// member, or, if nothing there is worth a move (a single partition with much load is not), of the next one.
func (p *plan) toMove(to *planMember, least int64) *planPartition {
	from := slices.Clone(p.members)
	slices.SortStableFunc(from, func(a, b *planMember) int { return cmp.Compare(b.weight, a.weight) })
	for _, member := range from {
		var best *planPartition
		small := p.small(member, least)
		for _, x := range p.partitions {
			if x.on != member || x.draining || x.moved || x.isRefused(to) {
				continue
			}
			difference := member.weight - to.weight
			gains := difference-x.weight >= least && (x.weight >= least || small >= least)
			if gains && (best == nil || min(x.weight, difference-x.weight) > min(best.weight, difference-best.weight)) {
				best = x
			}
		}
		if best != nil {
			return best
		}
	}
	return nil
}

// small is the weight of the partitions on a member that may move and weigh less than the least gain. One of them never gains enough alone, so
// they count together: otherwise a member that comes to a group with many small partitions would get none.
func (p *plan) small(member *planMember, least int64) (sum int64) {
	for _, x := range p.partitions {
		if x.on == member && !x.draining && !x.moved && x.weight < least {
			sum += x.weight
		}
	}
	return sum
}
