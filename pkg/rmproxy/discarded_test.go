package rmproxy

import (
	"runtime"
	"testing"

	"gotest.tools/v3/assert"
)

var discardedBlocks [][]byte // on the heap

// What was discarded is freed if it is much, and a small heap is left to the garbage collector.
func TestCollectDiscarded(t *testing.T) {
	collections := func() uint32 {
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return m.NumForcedGC
	}
	runtime.GC()
	before := collections()
	collectDiscarded()
	assert.Equal(t, collections(), before)
	for range 2 * minCollected >> 20 {
		discardedBlocks = append(discardedBlocks, make([]byte, 1<<20))
	}
	defer func() { discardedBlocks = nil }()
	collectDiscarded()
	assert.Equal(t, collections(), before+1)
}
