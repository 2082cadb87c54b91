package metrics

import (
	"fmt"
	"testing"

	"gotest.tools/v3/assert"
)

func TestNodeUsage_RangeOf(t *testing.T) {
	for _, c := range []struct {
		used, total int64
		want        string
	}{
		{0, 10, "[0,10%]"}, {1, 10, "[0,10%]"}, {2, 10, "(10%,20%]"}, {101, 1000, "(10%,20%]"}, {3, 10, "(20%,30%]"},
		{7, 10, "(60%,70%]"}, {9, 10, "(80%,90%]"}, {91, 100, "(90%,100%]"}, {10, 10, "(90%,100%]"}, {11, 10, "(90%,100%]"},
		{1 << 62, 1<<62 + 1, "(90%,100%]"},
	} {
		assert.Equal(t, rangeLabels[rangeOf(c.used, c.total)], c.want, fmt.Sprint(c))
	}
	for total := int64(1); total < 500; total++ { // against whole numbers
		for used := range total + 1 {
			want := max(0, (used*rangeCount+total-1)/total-1)
			assert.Equal(t, int64(rangeOf(used, total)), want, "%d of %d", used, total)
		}
	}
}
