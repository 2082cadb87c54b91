package usage

import (
	"maps"
	"math"
	"time"

	"github.com/canopy-scheduler/canopy/pkg/resources"
)

// Kind says what a series is about.
type Kind uint8

// The kinds. Their numbers are part of the format of the file.
const (
	Queue Kind = iota + 1
	User
	Group
)

func (k Kind) String() string { return [...]string{"", "queue", "user", "group"}[k] }

// ParseKind returns the kind with a name. ok is false if there is none.
func ParseKind(name string) (k Kind, ok bool) {
	for k = Queue; k <= Group; k++ {
		if k.String() == name {
			return k, true
		}
	}
	return 0, false
}

// Amounts are quantities by resource name, in the smallest unit; means and sums over time have fractions. A missing
// name is zero.
type Amounts map[string]float64

// AmountsOf copies the quantities that are not zero; nil: there are none.
func AmountsOf(a resources.Amounts) Amounts {
	if a.IsZero() {
		return nil
	}
	out := make(Amounts, a.Len())
	for name, n := range a.All() {
		out[name] = float64(n)
	}
	return out
}

// addTimes adds b, f times, to a, which may be nil, and returns the sum.
func (a Amounts) addTimes(b Amounts, f float64) Amounts {
	if a == nil && len(b) > 0 {
		a = make(Amounts, len(b))
	}
	for name, n := range b {
		a[name] += n * f
	}
	return a
}

// Values holds what a queue, user or group has at a time, or sums of that over time. The JSON names are part of the
// format of the file.
type Values struct {
	Allocated   Amounts `json:"a,omitempty"` // placeholders included
	Owed        Amounts `json:"o,omitempty"` // of queues: see Owed
	Guaranteed  Amounts `json:"g,omitempty"` // of queues
	Pending     Amounts `json:"p,omitempty"`
	PendingAsks float64 `json:"n,omitempty"`
	Running     float64 `json:"r,omitempty"` // applications
}

// Equal reports whether v and o are the same.
func (v *Values) Equal(o *Values) bool {
	return v.PendingAsks == o.PendingAsks && v.Running == o.Running && maps.Equal(v.Allocated, o.Allocated) &&
		maps.Equal(v.Owed, o.Owed) && maps.Equal(v.Guaranteed, o.Guaranteed) && maps.Equal(v.Pending, o.Pending)
}

// IsZero reports whether everything is zero.
func (v *Values) IsZero() bool { return v.Equal(&Values{}) }

// AddTimes adds o, f times: with f in seconds, v is a sum of resource-seconds.
func (v *Values) AddTimes(o *Values, f float64) {
	v.Allocated = v.Allocated.addTimes(o.Allocated, f)
	v.Owed = v.Owed.addTimes(o.Owed, f)
	v.Guaranteed = v.Guaranteed.addTimes(o.Guaranteed, f)
	v.Pending = v.Pending.addTimes(o.Pending, f)
	v.PendingAsks += o.PendingAsks * f
	v.Running += o.Running * f
}

// Fairness returns allocated divided by owed: the least over all resources that are owed. 1: it had what it was owed,
// or more than that. ok is false if nothing was owed. The time over which v and its owed amounts were added up cancels
// out.
func (v *Values) Fairness() (f float64, ok bool) {
	f = 1
	for name, owed := range v.Owed {
		if owed > 0 {
			f, ok = min(f, v.Allocated[name]/owed), true
		}
	}
	return f, ok
}

// A Key names a series.
type Key struct {
	Kind Kind
	Name string // path of a queue; name of a user or group
}

// Sample holds what all queues, users and groups of a partition have at a time. A key that is missing has nothing.
type Sample struct {
	Partition string
	At        time.Time
	Values    map[Key]*Values
}

// seconds returns a time of the file, which has milliseconds, as seconds.
func seconds(ms int64) float64 { return float64(ms) / 1000 }

// Rounded returns n as a whole number; it saturates at 64 bits.
func Rounded(n float64) int64 {
	switch {
	case n >= math.MaxInt64:
		return math.MaxInt64
	case n <= math.MinInt64:
		return math.MinInt64
	}
	return int64(math.Round(n))
}
