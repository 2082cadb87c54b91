package measure

import (
	"runtime"
	"runtime/debug"
	"testing"

	"gotest.tools/v3/assert"

	"github.com/canopy-scheduler/canopy/internal/testing/testscale"
)

var allocated [][]byte

func TestMapHeap_GrowthTouchesNoNewPages(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("page faults are counted on Linux")
	}
	const grows = 64 << 20
	// The next collection is due only after the growth that is measured.
	defer debug.SetGCPercent(debug.SetGCPercent(100))
	held := make([]byte, 2*grows)
	defer runtime.KeepAlive(held)
	// faults of allocating in small objects
	faults := func() int64 {
		allocated = make([][]byte, 0, grows/512)
		before := ReadClocks()
		for range grows / 512 {
			allocated = append(allocated, make([]byte, 512))
		}
		faults := ReadClocks().PageFaults - before.PageFaults
		allocated = nil
		return faults
	}
	debug.FreeOSMemory() // what former tests have touched
	fresh := faults()
	assert.Assert(t, fresh > grows/pageSize/4, "a fresh heap of %d pages had %d page faults: they are not counted",
		grows/pageSize, fresh)

	debug.FreeOSMemory()
	touched := MapHeap()

	assert.Assert(t, touched >= grows, "%d bytes were touched", touched)
	mapped := faults()
	most := int64(grows / pageSize / 8)
	if testscale.RaceDetector { // its memory is not mapped, and has about 3,000 page faults each time
		most = fresh / 3
	}
	assert.Assert(t, mapped < most, "a mapped heap had %d page faults, a fresh one %d", mapped, fresh)
}
