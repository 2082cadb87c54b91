package rmproxy

import (
	"fmt"
	"slices"
	"testing"

	"gotest.tools/v3/assert"
	"pgregory.net/rapid"

	"github.com/canopy-scheduler/canopy/pkg/objects"
	"github.com/canopy-scheduler/canopy/pkg/scheduler"
)

// Whatever happens to an outbox, it delivers what a plain list would deliver.
func TestOutbox_MatchesAPlainList(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		b := newOutbox()
		var list []outboundEffect // effects that are not delivered
		var batch, taken []outboundEffect
		bytes, keys := uint64(0), 0
		t.Repeat(map[string]func(*rapid.T){
			"put": func(t *rapid.T) {
				partition := rapid.SampledFrom([]string{"p", "q"}).Draw(t, "partition")
				var effects []scheduler.Effect
				for range rapid.SampledFrom([]int{0, 1, 3, 700}).Draw(t, "n") {
					keys++
					e := rejected(objects.AllocationKey(fmt.Sprint(keys)))
					effects, list = append(effects, e), append(list, outboundEffect{partition, e})
				}
				for _, e := range effects {
					bytes += memorySize(e)
				}
				assert.Equal(t, b.put(partition, effects...), bytes)
			},
			"take": func(t *rapid.T) {
				if batch != nil {
					t.Skip("a batch is in flight")
				}
				batch = b.takeBatch()
				taken = slices.Clone(batch)
				assert.Assert(t, slices.Equal(batch, list[:min(len(list), maxEntries)]))
			},
			"done": func(t *rapid.T) {
				delivered := func(s outboundEffect) bool { return slices.Contains(taken, s) }
				list = slices.DeleteFunc(list, delivered)
				batch, taken = nil, nil
				b.delivered()
			},
			"failed": func(*rapid.T) {
				batch, taken = nil, nil
				b.failed()
			},
			"drop": func(t *rapid.T) {
				dropped := func(s outboundEffect) bool { return s.partition == "q" }
				list = slices.DeleteFunc(list, dropped)
				b.drop("q")
			},
			"": func(t *rapid.T) {
				assert.Assert(t, slices.Equal(batch, taken), "the batch in flight has changed")
				assert.Equal(t, b.undeliveredBytes(), totalMemorySize(list))
			},
		})
	})
}

func TestOutbox_AllocatesNothing(t *testing.T) {
	b := newOutbox()
	effects := slices.Repeat([]scheduler.Effect{scheduler.Allocated{Binding: &scheduler.Binding{Ask: &objects.Ask{}}}},
		100)
	b.put("p", effects...)
	assert.Equal(t, testing.AllocsPerRun(100, func() {
		b.put("p", effects...)
		b.takeBatch()
		b.delivered()
	}), 0.0)
}

func TestOutbox_EmptyReleasesALargeBuffer(t *testing.T) {
	b := newOutbox()
	b.put("p", slices.Repeat([]scheduler.Effect{rejected("k")}, 2*maxIdleCapacity)...)
	for b.takeBatch() != nil {
		b.delivered()
	}
	assert.Equal(t, cap(b.effects), 0)
}
