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

// Whatever happens to an outbox, it tells what a plain list would tell.
func TestAnOutboxIsAList(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		b := newOutbox()
		var list []saying // all that was not told for good
		var batch, was []saying
		came, keys := uint64(0), 0
		t.Repeat(map[string]func(*rapid.T){
			"put": func(t *rapid.T) {
				partition := rapid.SampledFrom([]string{"p", "q"}).Draw(t, "partition")
				var effects []scheduler.Effect
				for range rapid.SampledFrom([]int{0, 1, 3, 700}).Draw(t, "n") {
					keys++
					e := rejected(objects.AllocationKey(fmt.Sprint(keys)))
					effects, list = append(effects, e), append(list, saying{partition, e})
				}
				for _, e := range effects {
					came += footprint(e)
				}
				assert.Equal(t, b.put(partition, effects...), came)
			},
			"take": func(t *rapid.T) {
				if batch != nil {
					t.Skip("one at a time")
				}
				batch = b.take()
				was = slices.Clone(batch)
				assert.Assert(t, slices.Equal(batch, list[:min(len(list), maxEntries)]))
			},
			"done": func(t *rapid.T) {
				told := func(s saying) bool { return slices.Contains(was, s) }
				list = slices.DeleteFunc(list, told)
				batch, was = nil, nil
				b.done()
			},
			"failed": func(*rapid.T) {
				batch, was = nil, nil
				b.failed()
			},
			"drop": func(t *rapid.T) {
				void := func(s saying) bool { return s.partition == "q" }
				list = slices.DeleteFunc(list, void)
				b.drop("q")
			},
			"": func(t *rapid.T) {
				assert.Assert(t, slices.Equal(batch, was), "what is being told has changed")
				assert.Equal(t, b.waiting(), footprints(list))
			},
		})
	})
}

func TestAnEffectGoesThroughAnOutboxForNothing(t *testing.T) {
	b := newOutbox()
	effects := slices.Repeat([]scheduler.Effect{scheduler.Allocated{Ask: &objects.Ask{}}}, 100)
	b.put("p", effects...)
	assert.Equal(t, testing.AllocsPerRun(100, func() {
		b.put("p", effects...)
		b.take()
		b.done()
	}), 0.0)
}

func TestAnEmptyOutboxDoesNotKeepTheRoomOfALot(t *testing.T) {
	b := newOutbox()
	b.put("p", slices.Repeat([]scheduler.Effect{rejected("k")}, 2*maxRoom)...)
	for b.take() != nil {
		b.done()
	}
	assert.Equal(t, cap(b.said), 0)
}
