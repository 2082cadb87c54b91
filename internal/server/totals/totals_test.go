package totals

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"gotest.tools/v3/assert"
)

func TestHistory_KeepsTheLastDayInOrder(t *testing.T) {
	var h History
	assert.Equal(t, len(h.Samples()), 0)
	for i := range Kept + 7 {
		h.Add(Sample{At: time.Unix(int64(i), 0), Allocations: i})
	}
	all := h.Samples()
	assert.Equal(t, len(all), Kept)
	for i, x := range all {
		assert.Equal(t, x.Allocations, i+7)
	}
}

func TestHistory_RunAddsASampleEachMinute(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var h History
		ctx, cancel := context.WithCancel(t.Context())
		n := 0
		go h.Run(ctx, func(context.Context) (Sample, bool) {
			n++
			return Sample{At: time.Now(), Applications: n}, n != 2 // the second is not known
		})
		<-time.After(3*Interval + time.Second)
		cancel()
		synctest.Wait()
		all := h.Samples()
		assert.Equal(t, len(all), 3)
		assert.Equal(t, all[1].Applications, 3)
		assert.Equal(t, all[2].At.Sub(all[0].At), 3*Interval)
	})
}
