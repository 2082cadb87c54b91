package resources

import (
	"math"
	"math/big"
	"testing"

	"gotest.tools/v3/assert"
	"pgregory.net/rapid"
)

func TestParsePercent(t *testing.T) {
	for text, want := range map[string]Percent{
		"40%": 4000, "100%": AllPercent, "0.01%": 1, "12.5 %": 1250, " 007%": 700, "33.33%": 3333, "1.05%": 105,
	} {
		got, err := ParsePercent(text)
		assert.NilError(t, err, text)
		assert.Equal(t, got, want, text)
	}
	for _, text := range []string{
		"", "%", "40", "0%", "0.00%", "100.01%", "101%", "-1%", "+1%", "1e1%", "1.%", ".5%", "1.234%", "4 0%", "1..2%",
		"99999999999999999999%", "4294967296%", "40%%", "1,5%",
	} {
		_, err := ParsePercent(text)
		assert.ErrorIs(t, err, ErrPercent, text)
	}
}

// QUO-63: a percent is exact, rounded down, grows with what it is of, and its text is read as the same percent.
func TestPercent_Laws(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := Percent(rapid.IntRange(1, int(AllPercent)).Draw(t, "percent"))
		n := Quantity(rapid.Int64Range(0, math.MaxInt64).Draw(t, "quantity"))
		want := new(big.Int).Mul(big.NewInt(int64(n)), big.NewInt(int64(p)))
		want.Div(want, big.NewInt(int64(AllPercent)))
		assert.Equal(t, int64(p.Of(n)), want.Int64())
		again, err := ParsePercent(p.String())
		assert.NilError(t, err)
		assert.Equal(t, again, p)
	})
	assert.Equal(t, Percent(4000).Of(0), Quantity(0))
	assert.Equal(t, AllPercent.Of(math.MaxInt64), Quantity(math.MaxInt64))
}

func TestLimit_PercentsHaveNoQuantity(t *testing.T) {
	l := LimitFromMap(map[string]Quantity{"gpu": 2}).WithPercents(map[string]Percent{VCore: 4000, Memory: 1250})
	_, ok := l.Get(VCore)
	assert.Assert(t, !ok && l.HasPercents() && !l.IsUnlimited())
	assert.Equal(t, l.String(), "≤{gpu=2 memory=12.5% vcore=40%}")
	assert.Assert(t, !l.Equal(LimitFromMap(map[string]Quantity{"gpu": 2})))
	got := l.Effective(func(name string) Quantity { return Quantity(len(name)) })
	assert.DeepEqual(t, got.Map(), map[string]Quantity{"gpu": 3, Memory: 6, VCore: 5})
	assert.Assert(t, !got.HasPercents())

	g := Guarantee{}.WithPercents(map[string]Percent{VCore: 4000})
	assert.Assert(t, !g.IsEmpty() && g.HasPercents() && !g.Equal(Guarantee{}))
	assert.Equal(t, g.String(), "≥{vcore=40%}")
	assert.Assert(t, !Guarantee{}.WithPercents(nil).HasPercents())
}
