package resources

import (
	"errors"
	"fmt"
	"math"
	"math/bits"
	"slices"
	"strings"
)

// Errors of Parse.
var (
	ErrNotAQuantity = errors.New("invalid quantity")           // no digits, a sign, a fraction, ...
	ErrSuffix       = errors.New("invalid suffix")             // an unknown unit, or not a unit of this resource
	ErrOverflow     = errors.New("invalid quantity: overflow") // above the largest int64
)

// VCore is the CPU resource: written in cores, counted in millicores.
const VCore = "vcore"

var multipliers = map[string]uint64{
	"": 1, "k": 1e3, "M": 1e6, "G": 1e9, "T": 1e12, "P": 1e15, "E": 1e18,
	"Ki": 1 << 10, "Mi": 1 << 20, "Gi": 1 << 30, "Ti": 1 << 40, "Pi": 1 << 50, "Ei": 1 << 60,
}

// Suffixes returns the units that Parse accepts for a resource, sorted.
func Suffixes(name string) []string {
	var out []string
	for s := range multipliers {
		if s != "" {
			out = append(out, s)
		}
	}
	if name == VCore {
		out = append(out, "m")
	}
	slices.Sort(out)
	return out
}

// Parse reads a quantity of a resource as queues.yaml has it: digits, optional space, optional suffix, and
// nothing else. Cores are counted in millicores: for vcore "10" is 10000 and "500m" is 500. The error wraps
// ErrNotAQuantity, ErrSuffix or ErrOverflow and quotes the text.
func Parse(name, text string) (Quantity, error) {
	t := strings.TrimSpace(text)
	digits := len(t) - len(strings.TrimLeft(t, "0123456789"))
	if digits == 0 {
		return 0, fmt.Errorf("%w: %q", ErrNotAQuantity, text)
	}
	suffix := strings.TrimLeft(t[digits:], " \t")
	if strings.Trim(suffix, "kKMGTPEim") != "" {
		return 0, fmt.Errorf("%w: %q", ErrNotAQuantity, text)
	}
	mult, ok := multipliers[suffix]
	if name == VCore {
		mult, ok = coreMultiplier(suffix, mult, ok)
	}
	if !ok {
		return 0, fmt.Errorf("%w %q for %s: %q", ErrSuffix, suffix, name, text)
	}
	var n uint64
	for _, c := range []byte(t[:digits]) {
		if n > (math.MaxInt64-uint64(c-'0'))/10 {
			return 0, fmt.Errorf("%w: %q", ErrOverflow, text)
		}
		n = n*10 + uint64(c-'0')
	}
	hi, lo := bits.Mul64(n, mult)
	if hi != 0 || lo > math.MaxInt64 {
		return 0, fmt.Errorf("%w: %q", ErrOverflow, text)
	}
	return Quantity(lo), nil
}

// coreMultiplier turns a multiplier of cores into one of millicores. A product above 64 bits becomes the largest
// value, which overflows for any number but zero.
func coreMultiplier(suffix string, mult uint64, ok bool) (uint64, bool) {
	if suffix == "m" {
		return 1, true
	}
	if hi, lo := bits.Mul64(mult, 1000); hi == 0 {
		return lo, ok
	}
	return math.MaxUint64, ok
}
