package events

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"gotest.tools/v3/assert"
)

// A ring is compared with a list of all records.
func TestRing_KeepsTheLatestRecords(t *testing.T) {
	for seed := range uint64(200) {
		r := rand.New(rand.NewPCG(seed, 1))
		most := 8 // fewer records than a block has, or some blocks
		if seed%20 == 0 {
			most = 4 * blockLength
		}
		capacity := 1 + r.IntN(most)
		g, all, kept := NewRing(capacity), []string{}, 0
		for range 4 * most {
			switch {
			case r.IntN(most+2) == 0:
				capacity = 1 + r.IntN(most)
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
			from, count := uint64(len(all)-r.IntN(min(len(all), 2*most)+1)), r.IntN(most)
			var want []string
			if from >= g.Lowest() && from < g.Next() {
				want = all[from:min(len(all), int(from)+count)]
			}
			records := g.From(from, count)
			assert.Equal(t, records == nil, len(want) == 0)
			var got, reverse []string
			for r := range records.All() {
				got = append(got, r.Object)
			}
			for r := range records.Backward() {
				reverse = append(reverse, r.Object)
			}
			assert.Assert(t, slices.Equal(got, want), "seed %d: %d from %d: %v, want %v", seed, count, from, got, want)
			assert.Equal(t, records.Len(), len(want), "seed %d", seed)
			slices.Reverse(reverse)
			assert.Assert(t, slices.Equal(reverse, want), "seed %d", seed)
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

// Records that a reader has are not changed by later ones, and keep no more than their blocks.
func TestRing_ReadersShareBlocks(t *testing.T) {
	g := NewRing(3 * blockLength)
	for i := range 10 * blockLength {
		g.Add(Record{Object: fmt.Sprint(i)})
		assert.Assert(t, len(g.blocks) <= 4, "%d blocks", len(g.blocks))
	}
	first := g.Lowest()
	read := g.From(first, g.Len())
	for range 10 * blockLength {
		g.Add(Record{})
	}
	for r := range read.All() {
		assert.Equal(t, r.Object, fmt.Sprint(first))
		first++
	}
	assert.Equal(t, read.Len(), 3*blockLength)
	g.Resize(1)
	assert.Equal(t, len(g.blocks), 1)
}
