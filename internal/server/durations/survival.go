package durations

import (
	"math"
	"slices"
	"time"
)

// Life holds what is known of one allocation: it was watched from age Entry to age Exit.
type Life struct {
	Entry, Exit time.Duration
	Ended       bool // at Exit; false: it still ran then
}

// Distribution says how long allocations of a group run, as the risk to end at each age. It is immutable.
//
// It is the estimator of Fleming and Harrington: for each allocation that has ended, the risk at its age is one divided
// by the number of allocations that were watched at this age and have not ended before it. So an allocation that still
// runs counts for the ages that it has reached, and one that was not watched from its start does not count for the ages
// before.
type Distribution struct {
	ages    []time.Duration // at which allocations have ended, ascending
	risk    []float64       // the sum of the risks up to and with the age
	longest time.Duration   // the greatest age that any allocation was watched at
}

// NewDistribution estimates from lives, in any order. Without an end in them, nothing is known: each allocation is
// expected to run as long again as it has run.
func NewDistribution(lives []Life) *Distribution {
	entries, exits, d := make([]time.Duration, 0, len(lives)), make([]time.Duration, 0, len(lives)), &Distribution{}
	var ends []time.Duration
	for _, x := range lives {
		if x.Exit < x.Entry {
			continue
		}
		entries, exits = append(entries, x.Entry), append(exits, x.Exit)
		d.longest = max(d.longest, x.Exit)
		if x.Ended {
			ends = append(ends, x.Exit)
		}
	}
	slices.Sort(entries)
	slices.Sort(exits)
	slices.Sort(ends)
	entered, left, sum := 0, 0, 0.0
	for i := 0; i < len(ends); {
		age, n := ends[i], 0
		for ; i < len(ends) && ends[i] == age; i++ {
			n++
		}
		for entered < len(entries) && entries[entered] <= age {
			entered++
		}
		for left < len(exits) && exits[left] < age {
			left++
		}
		for watched := max(entered-left, n); n > 0; watched, n = watched-1, n-1 {
			sum += 1 / float64(watched)
		}
		d.ages, d.risk = append(d.ages, age), append(d.risk, sum)
	}
	return d
}

// maxRemaining bounds a remaining time.
const maxRemaining = 10 * 365 * 24 * time.Hour

// Remaining returns how much longer an allocation of an age runs, at least 0: with probability u, which is from 0 to
// below 1, it ends earlier. Of those that reach the greatest age that is known, half are expected to run twice as long.
func (d *Distribution) Remaining(age time.Duration, u float64) time.Duration {
	target := -math.Log1p(-u)
	i, found := slices.BinarySearch(d.ages, age)
	if found {
		i++ // it has survived this age
	}
	before := 0.0
	if i > 0 {
		before = d.risk[i-1]
	}
	target += before
	at, _ := slices.BinarySearch(d.risk[i:], target)
	at += i
	if at < len(d.ages) {
		return d.ages[at] - age
	}
	if n := len(d.ages); n > 0 {
		before = max(before, d.risk[n-1])
	}
	remaining := float64(max(age, d.longest, time.Second))*math.Exp(min(target-before, 50)) - float64(age)
	return time.Duration(min(max(remaining, 0), float64(maxRemaining)))
}

// Quantile returns the duration within which a part of the allocations end; part is from 0 to below 1.
func (d *Distribution) Quantile(part float64) time.Duration { return max(0, d.Remaining(-1, part)-1) }
