package forecast

import (
	"fmt"
	"math"
	"strings"
	"time"
)

// Assumptions returns in words what every forecast assumes (EXP-12).
func Assumptions() []string {
	return []string{
		"no new asks come, and nodes, quotas and holds stay as they are",
		"allocations run as long as those before them in the same group",
		"victims of preemption end at once and are not submitted again",
		"the resource manager listens and refuses no node",
	}
}

// String returns the answer in one sentence: "expected to start in 3 to 12 min (even odds: 5 min)".
func (a Answer) String() string {
	switch a.Code {
	case Expected:
		return "expected to start " + a.when()
	case NotEnoughHistory:
		return "no expected start: too few allocations have ended to know how long they run"
	case BeyondHorizon:
		return fmt.Sprintf("no expected start: it started within %s in %d of %d runs", Text(Horizon), a.Started, a.Runs)
	case NeverAsThingsAre:
		return "not expected to start as things are: it did not start in any run, not even when everything else had ended"
	case MemberOfGang:
		return "no expected start: gangs are not forecast"
	case TooLarge:
		return "no expected start: the partition is too large for a forecast"
	case NotReplicated:
		return "no expected start: the partition cannot be copied: " + a.Detail
	case NotPending:
		return "no expected start: the ask is not pending any more"
	}
	return "no expected start: other forecasts are being made, ask again"
}

func (a Answer) when() string {
	switch {
	case a.P90 == Missing:
		return fmt.Sprintf("in %s or later (even odds: %s)", Text(a.P10), Text(a.P50))
	case Text(a.P90) == Text(0):
		return "at once"
	case Text(a.P10) == Text(a.P90):
		return "in " + Text(a.P90)
	}
	return fmt.Sprintf("in %s (even odds: %s)", span(a.P10, a.P90), Text(a.P50))
}

// span returns a text for two durations: "3 to 12 min", "40 s to 2 min".
func span(from, to time.Duration) string {
	number, unit, _ := strings.Cut(Text(from), " ")
	if _, other, _ := strings.Cut(Text(to), " "); unit == other {
		return number + " to " + Text(to)
	}
	return Text(from) + " to " + Text(to)
}

// Text returns a duration for people, in one unit: seconds up to two minutes, minutes up to two hours, hours up to two
// days, or days.
func Text(d time.Duration) string {
	seconds := math.Round(d.Seconds())
	for _, u := range []struct {
		name  string
		size  float64
		below float64
	}{{"s", 1, 120}, {"min", 60, 7200}, {"h", 3600, 172800}} {
		if seconds < u.below {
			return fmt.Sprintf("%.0f %s", math.Round(seconds/u.size), u.name)
		}
	}
	return fmt.Sprintf("%.0f d", math.Round(seconds/86400))
}
