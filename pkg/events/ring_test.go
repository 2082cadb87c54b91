package events

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"unicode/utf8"

	"gotest.tools/v3/assert"
)

// A ring is compared with a list of all records.
func TestRing_KeepsTheLatestRecords(t *testing.T) {
	for seed := range uint64(200) {
		r := rand.New(rand.NewPCG(seed, 1))
		capacity := 1 + r.IntN(8)
		g, all, kept := NewRing(capacity), []string{}, 0
		for range 100 {
			switch {
			case r.IntN(10) == 0:
				capacity = 1 + r.IntN(8)
				g.Resize(capacity)
				kept = min(kept, capacity)
			default:
				object := fmt.Sprint(len(all))
				assert.Equal(t, g.Add(Record{Object: object}), uint64(len(all)))
				all, kept = append(all, object), min(kept+1, capacity)
			}
			assert.Equal(t, g.Len(), kept, "seed %d", seed)
			assert.Equal(t, g.Next(), uint64(len(all)))
			assert.Equal(t, g.Lowest(), uint64(len(all)-kept))
			from, count := uint64(r.IntN(len(all)+2)), r.IntN(5)
			var want []string
			if from >= g.Lowest() && from < g.Next() {
				want = all[from:min(len(all), int(from)+count)]
			}
			got := g.From(from, count)
			assert.Equal(t, len(got), len(want), "seed %d: %d from %d", seed, count, from)
			for i := range got {
				assert.Equal(t, got[i].Object, want[i], "seed %d", seed)
			}
		}
	}
}

func TestMessage_LongTextIsTruncated(t *testing.T) {
	fits := strings.Repeat("x", MaxMessage)
	assert.Equal(t, Message(fits), fits)
	for _, long := range []string{fits + "y", strings.Repeat("ü", MaxMessage), strings.Repeat("世", MaxMessage)} {
		short := Message(long)
		assert.Assert(t, len(short) <= MaxMessage && len(short) > MaxMessage-6, "%d", len(short))
		assert.Assert(t, strings.HasSuffix(short, "...") && utf8.ValidString(short))
	}
}
