package measure

import "runtime"

// pageSize is the smallest page of the supported systems, in bytes.
const pageSize = 4096

// MapHeap lets the heap grow to the size at which the next garbage collection ends without touching memory for the
// first time, and returns how many bytes it has touched. It collects garbage, twice.
//
// The first touch of a page costs a program that has just started as much as several placements: the kernel, and
// below it the hypervisor, must find and clear it. A program that has run for a while does not pay it.
func MapHeap() int {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	limit := int(min(m.NextGC, 16*m.HeapAlloc+64<<20)) // without a collector (GOGC=off) NextGC is no limit
	touched := 0
	var blocks [][]byte // of the size of a span, so that their memory is reused for small objects
	for ; touched < limit-int(m.HeapAlloc); touched += 2 * pageSize {
		block := make([]byte, 2*pageSize)
		block[0], block[pageSize] = 1, 1
		blocks = append(blocks, block)
	}
	runtime.KeepAlive(blocks)
	runtime.GC()
	return touched
}
