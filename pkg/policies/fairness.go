package policies

import (
	"math"
	"strconv"
	"strings"
	"time"
)

// Fairness says how what is directly below a queue is ordered by usage over time, and what the queue counts for among
// its siblings (properties fairness.*, FAI-1). The zero value: by what is used now.
type Fairness struct {
	HalfLife time.Duration // from MinHalfLife to MaxHalfLife, in whole milliseconds; 0: usage over time does not count
	By       FairnessBy    // of a leaf
	Weight   FairnessWeight
}

// The bounds of Fairness.HalfLife. A tick is a 256th of it, and at least a second.
const (
	MinHalfLife = 5 * time.Minute
	MaxHalfLife = 365 * 24 * time.Hour
)

// ParseHalfLife reads a duration such as 24h, or "off".
func ParseHalfLife(text string) (time.Duration, bool) {
	if strings.EqualFold(text, "off") {
		return 0, true
	}
	d, err := time.ParseDuration(text)
	return d.Truncate(time.Millisecond), err == nil && d >= MinHalfLife && d <= MaxHalfLife
}

// FairnessBy says whose usage over time orders the applications of a leaf (property fairness.by).
type FairnessBy uint8

// The values.
const (
	FairByApplication FairnessBy = iota // each its own
	FairByUser                          // that of their users in the leaf
)

func (b FairnessBy) String() string { return [...]string{"application", "user"}[b] }

// FairnessWeight is by what the usage over time of a queue is divided (property fairness.weight): thousandths, from 1
// to 10^9. 0 is the default, 1; ByGuarantee is the part of the cluster that the queue is guaranteed.
type FairnessWeight int32

// ByGuarantee as a FairnessWeight.
const ByGuarantee FairnessWeight = -1

// ParseFairnessWeight reads a number from 0.001 to 1000000, or "guarantee".
func ParseFairnessWeight(text string) (FairnessWeight, bool) {
	if strings.EqualFold(text, "guarantee") {
		return ByGuarantee, true
	}
	x, err := strconv.ParseFloat(text, 64)
	if err != nil || !(x >= 0.001 && x <= 1e6) {
		return 0, false
	}
	if n := FairnessWeight(math.Round(x * 1000)); n != 1000 {
		return n, true
	}
	return 0, true
}

// Thousandths returns the weight; ok is false for ByGuarantee.
func (w FairnessWeight) Thousandths() (n uint64, ok bool) {
	switch w {
	case 0:
		return 1000, true
	case ByGuarantee:
		return 0, false
	}
	return uint64(w), true
}
