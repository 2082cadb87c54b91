package webservice

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"gotest.tools/v3/assert"
)

func TestTotalsHistory_KeepsTheLastDayInOrder(t *testing.T) {
	var h TotalsHistory
	assert.Equal(t, len(h.samples()), 0)
	for i := range keptTotals + 7 {
		h.Add(TotalsSample{At: time.Unix(int64(i), 0), Allocations: i})
	}
	all := h.samples()
	assert.Equal(t, len(all), keptTotals)
	for i, x := range all {
		assert.Equal(t, x.Allocations, i+7)
	}
}

func TestTotalsHistory_RunAddsASampleEachMinute(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var h TotalsHistory
		ctx, cancel := context.WithCancel(t.Context())
		n := 0
		go h.Run(ctx, func(context.Context) (TotalsSample, bool) {
			n++
			return TotalsSample{At: time.Now(), Applications: n}, n != 2 // the second is not known
		})
		<-time.After(3*totalsInterval + time.Second)
		cancel()
		synctest.Wait()
		all := h.samples()
		assert.Equal(t, len(all), 3)
		assert.Equal(t, all[1].Applications, 3)
		assert.Equal(t, all[2].At.Sub(all[0].At), 3*totalsInterval)
	})
}
