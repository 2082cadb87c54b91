package policies

import "math"

// An abbreviated key is a number that orders like the beginning of a key: if the numbers of two keys differ, the keys
// compare likewise; if they are equal, a tie is broken by the keys themselves. An index stores the numbers side by
// side, so that most comparisons read no other object.
//
// Of its 64 bits the first 16 have the priority, where priority is compared first, and the others the share or the
// submission time.
const (
	abbreviatedPriority = 16
	abbreviatedRest     = 64 - abbreviatedPriority
)

// abbreviate returns a number that is smaller for a higher priority. exact is false for priorities that share a number:
// those far from 0, and nothing pending.
func (c CurrentPriority) abbreviate() (number uint64, exact bool) {
	const limit = 1<<(abbreviatedPriority-1) - 1
	switch {
	case !c.Pending || c.Value <= -limit:
		return 2 * limit, false
	case c.Value >= limit:
		return 0, false
	}
	return uint64(limit - c.Value), true
}

// abbreviate puts the priority in front of a number of abbreviatedRest bits.
func abbreviate(c CurrentPriority, rest uint64) uint64 {
	number, exact := c.abbreviate()
	if !exact {
		rest = 0
	}
	return number<<abbreviatedRest | rest
}

// Abbreviate returns the abbreviated key of k for CompareQueues with the same by.
func (k *QueueKey) Abbreviate(by QueueSort) uint64 {
	use := k.Share.Abbreviate
	if by.OverTime {
		use = k.Usage.Abbreviate
	}
	if by.Priority == PriorityIgnored {
		return use()
	}
	return abbreviate(k.Priority, use())
}

// AbbreviateApp returns the abbreviated key of k for CompareApps with the same by.
func (s AppSort) AbbreviateApp(k *AppKey, by PrioritySort) uint64 {
	order := uint64(k.Submitted) + 1<<63 // orders like the signed number
	switch {
	case s == Fair && len(k.Shares) == 0:
		order = 0
	case s == Fair:
		order = k.Shares[0].Abbreviate()
	case s == OverTime:
		order = k.Usage.Abbreviate()
	case by == PriorityFirst:
		order >>= abbreviatedPriority
	}
	if by == PriorityIgnored {
		return order
	}
	return abbreviate(k.Priority, order)
}

// Abbreviate returns the abbreviated key of k for CompareNodes: its score.
func (k *NodeKey) Abbreviate() uint64 {
	switch b := math.Float64bits(k.Score); {
	case math.IsNaN(k.Score): // not a number, which is before all numbers
		return 0
	case k.Score == 0: // of either sign
		return 1 << 63
	case b>>63 != 0:
		return ^b
	default:
		return b | 1<<63
	}
}
