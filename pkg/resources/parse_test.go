package resources

import (
	"errors"
	"fmt"
	"math"
	"math/big"
	"math/bits"
	"regexp"
	"strings"
	"testing"

	"gotest.tools/v3/assert"
	"pgregory.net/rapid"
)

func TestParse_Quantities(t *testing.T) {
	for _, c := range []struct {
		name, resource, text string
		want                 Quantity
	}{
		{"a plain number", "memory", "10", 10},
		{"zero", "memory", "0", 0},
		{"leading zeroes", "memory", "007", 7},
		{"white space around it", "memory", " \t10\n", 10},
		{"white space before the suffix", "memory", "10 Mi", 10 << 20},
		{"k", "memory", "1k", 1e3}, {"M", "memory", "1M", 1e6}, {"G", "memory", "1G", 1e9},
		{"T", "memory", "1T", 1e12}, {"P", "memory", "1P", 1e15}, {"E", "memory", "1E", 1e18},
		{"Ki", "memory", "1Ki", 1 << 10}, {"Mi", "memory", "1Mi", 1 << 20}, {"Gi", "memory", "1Gi", 1 << 30},
		{"Ti", "memory", "1Ti", 1 << 40}, {"Pi", "memory", "1Pi", 1 << 50}, {"Ei", "memory", "1Ei", 1 << 60},
		{"cores are counted in millicores", VCore, "10", 10_000},
		{"millicores", VCore, "500m", 500},
		{"thousands of cores", VCore, "2k", 2_000_000},
		{"other resources count units", "nvidia.com/gpu", "8", 8},
		{"the largest", "memory", "9223372036854775807", math.MaxInt64},
		{"the largest in millicores", VCore, "9223372036854775807m", math.MaxInt64},
		{"zero of the largest unit", VCore, "0Ei", 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, err := Parse(c.resource, c.text)
			assert.NilError(t, err)
			assert.Equal(t, got, c.want)
		})
	}
}

func TestParse_Errors(t *testing.T) {
	for _, c := range []struct {
		name, resource, text string
		want                 error
	}{
		{"an empty text", "memory", "", ErrNotAQuantity},
		{"white space", "memory", "  ", ErrNotAQuantity},
		{"a suffix alone", "memory", "Mi", ErrNotAQuantity},
		{"a minus sign", "memory", "-1", ErrNotAQuantity},
		{"a plus sign", "memory", "+1", ErrNotAQuantity},
		{"a fraction", "memory", "1.5", ErrNotAQuantity},
		{"an exponent", "memory", "1e3", ErrNotAQuantity},
		{"hex", "memory", "0x10", ErrNotAQuantity},
		{"an underscore", "memory", "1_000", ErrNotAQuantity},
		{"digits of another script", "memory", "١", ErrNotAQuantity},
		{"a word", "memory", "lots", ErrNotAQuantity},
		{"K, which is k", "memory", "1K", ErrSuffix},
		{"ki, which is Ki", "memory", "1ki", ErrSuffix},
		{"mi, which is Mi", "memory", "1mi", ErrSuffix},
		{"two suffixes", "memory", "1kM", ErrSuffix},
		{"the suffix m for another resource than vcore", "memory", "500m", ErrSuffix},
		{"one more than the largest", "memory", "9223372036854775808", ErrOverflow},
		{"more than 64 bits", "memory", "99999999999999999999999", ErrOverflow},
		{"a product above the largest", "memory", "8Ei", ErrOverflow},
		{"cores above the largest", VCore, "9223372036854776", ErrOverflow},
		{"cores in a unit above the largest", VCore, "1Ei", ErrOverflow},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, err := Parse(c.resource, c.text)
			assert.ErrorIs(t, err, c.want)
			assert.Equal(t, got, Quantity(0))
			assert.Assert(t, strings.Contains(err.Error(), c.text))
		})
	}
}

// grammar is the grammar of quantities as one expression.
var grammar = regexp.MustCompile(`^([0-9]+)[ \t]*(|k|M|G|T|P|E|Ki|Mi|Gi|Ti|Pi|Ei|m)$`)

// parseReference is Parse with arithmetic that cannot overflow.
func parseReference(resource, text string) (Quantity, bool) {
	m := grammar.FindStringSubmatch(strings.TrimSpace(text))
	if m == nil || m[2] == "m" && resource != VCore {
		return 0, false
	}
	n, _ := new(big.Int).SetString(m[1], 10)
	if m[2] != "m" {
		n.Mul(n, new(big.Int).SetUint64(multipliers[m[2]]))
		if resource == VCore {
			n.Mul(n, big.NewInt(1000))
		}
	}
	return Quantity(n.Int64()), n.IsInt64()
}

func FuzzParse(f *testing.F) {
	for _, text := range []string{"10", "500m", " 7 Gi ", "9223372036854775807", "8Ei", "1.5", "-1", "0Ei", ""} {
		f.Add("memory", text)
		f.Add(VCore, text)
	}
	f.Fuzz(func(t *testing.T, resource, text string) {
		got, err := Parse(resource, text)
		want, ok := parseReference(resource, text)
		assert.Equal(t, err == nil, ok, "%q of %q: %v", text, resource, err)
		if err != nil {
			known := errors.Is(err, ErrNotAQuantity) || errors.Is(err, ErrSuffix) || errors.Is(err, ErrOverflow)
			assert.Assert(t, known && got == 0, "%v", err)
			return
		}
		assert.Equal(t, got, want)
		assert.Assert(t, got >= 0)
	})
}

func TestFormatQuantity_ParsesBack(t *testing.T) {
	for _, c := range []struct {
		name string
		n    Quantity
		want string
	}{
		{VCore, 10_000, "10"}, {VCore, 500, "500m"}, {VCore, 0, "0"}, {VCore, -1500, "-1500m"},
		{"memory", 16 << 30, "16Gi"}, {"memory", 1000, "1k"}, {"memory", 1536, "1536"},
		{"memory", 5 << 60, "5Ei"}, {"memory", 500e9, "500G"}, {"memory", 1 << 30, "1Gi"}, {"memory", 1000 << 20, "1000Mi"},
		{"memory", -2048, "-2Ki"}, {"memory", 0, "0"}, {"ephemeral-storage", 2e12, "2T"}, {"hugepages-2Mi", 4 << 20, "4Mi"},
		{"gpu", 0, "0"}, {"gpu", -2048, "-2048"}, {"pods", 1000, "1000"}, {"pods", 5e6, "5M"}, {"gpu", 1 << 20, "1Mi"},
		{VCore, 10_000_000, "10000"},
	} {
		assert.Equal(t, FormatQuantity(c.name, c.n), c.want)
	}
	rapid.Check(t, func(t *rapid.T) {
		name := rapid.SampledFrom([]string{VCore, "memory", "gpu"}).Draw(t, "name")
		n := Quantity(rapid.Int64Range(0, math.MaxInt64).Draw(t, "n") >> rapid.IntRange(0, 62).Draw(t, "bits"))
		n <<= min(rapid.IntRange(0, 40).Draw(t, "zeroes"), bits.LeadingZeros64(uint64(n))-1)
		back, err := Parse(name, FormatQuantity(name, n))
		if err != nil || back != n {
			t.Fatalf("%s %d is formatted as %q, which is parsed as %d, %v", name, n, FormatQuantity(name, n), back, err)
		}
	})
}

// No text with another suffix that is exact is shorter.
func TestFormatQuantity_IsTheShortestExactForm(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		units := append(Suffixes(Memory), "")
		unit := multipliers[rapid.SampledFrom(units).Draw(t, "unit")]
		n := Quantity(unit * rapid.Uint64Range(1, math.MaxInt64/unit).Draw(t, "n"))
		text := FormatQuantity(Memory, n)
		for _, suffix := range units {
			if m := Quantity(multipliers[suffix]); n%m == 0 {
				if other := fmt.Sprint(n/m) + suffix; len(other) < len(text) {
					t.Fatalf("%d is %q, and %q is shorter", n, text, other)
				}
			}
		}
	})
}

func TestFormatNamedQuantity_CountsPieces(t *testing.T) {
	for _, c := range []struct {
		name string
		n    Quantity
		want string
	}{
		{"pods", 1, "1 pod"}, {"pods", 2, "2 pods"}, {"pods", 0, "0 pods"}, {"applications", 1, "1 application"},
		{"memory", 500e9, "memory 500G"}, {VCore, 1500, "vcore 1500m"},
	} {
		assert.Equal(t, FormatNamedQuantity(c.name, c.n), c.want)
	}
}

func TestFormatAmounts_IsBounded(t *testing.T) {
	assert.Equal(t, FormatAmounts(Amounts{}), "")
	assert.Equal(t, FormatAmounts(FromMap(map[string]Quantity{"vcore": 1500, "memory": 16 << 30})),
		"memory=16Gi vcore=1500m")
	many := map[string]Quantity{}
	for i := range maxListed + 3 {
		many[fmt.Sprintf("gpu%02d", i)] = 1
	}
	text := FormatAmounts(FromMap(many))
	assert.Assert(t, strings.HasSuffix(text, " gpu19=1 and 3 more"), text)
}
