package policies

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
)

// Ageing says how the priority of an application that waits for its first allocation rises in selection order
// (property priority.ageing, PRI-50). The zero value is none.
type Ageing struct {
	Every time.Duration // of a step, from MinAgeingStep to MaxAgeingStep
	By    int32         // per step, at least 1
	UpTo  int32         // the most, at least By
}

// The bounds of Ageing.Every.
const (
	MinAgeingStep = time.Second
	MaxAgeingStep = 10 * 365 * 24 * time.Hour
)

// ParseAgeing reads a text such as "10 per 10m up to 100", or "off".
func ParseAgeing(text string) (Ageing, bool) {
	words := strings.Fields(strings.ToLower(text))
	if len(words) == 1 && words[0] == "off" {
		return Ageing{}, true
	}
	if len(words) != 6 || words[1] != "per" || words[3] != "up" || words[4] != "to" {
		return Ageing{}, false
	}
	by, errBy := strconv.ParseInt(words[0], 10, 32)
	every, errEvery := time.ParseDuration(words[2])
	upTo, errUpTo := strconv.ParseInt(words[5], 10, 32)
	a := Ageing{every, int32(by), int32(upTo)}
	legal := errBy == nil && errEvery == nil && errUpTo == nil && by >= 1 && upTo >= by &&
		every >= MinAgeingStep && every <= MaxAgeingStep
	return a, legal
}

// String returns the text that ParseAgeing reads.
func (a Ageing) String() string {
	if a == (Ageing{}) {
		return "off"
	}
	return fmt.Sprintf("%d per %s up to %d", a.By, a.Every, a.UpTo)
}

// After returns how much the priority has risen after a wait, and after how long a wait it rises next; 0: never.
// Requires: a is not the zero value.
func (a Ageing) After(wait time.Duration) (raised int32, next time.Duration) {
	steps := int64(max(wait, 0) / a.Every)
	most := (int64(a.UpTo) + int64(a.By) - 1) / int64(a.By)
	if steps >= most {
		return a.UpTo, 0
	}
	if steps < int64(math.MaxInt64)/int64(a.Every) {
		next = time.Duration(steps+1) * a.Every
	}
	return int32(steps * int64(a.By)), next
}
