package rmproxy

import (
	"runtime"
	"runtime/metrics"
)

// minCollected is the size of the heap, in bytes, from which a registration collects what partitions have discarded.
const minCollected = 64 << 20

// collectDiscarded frees what partitions had before they were emptied, since the resource manager reports as much again
// at once: otherwise the garbage collector would run when the heap has doubled, and a recovery would need half as much
// memory again.
func collectDiscarded() {
	heap := []metrics.Sample{{Name: "/memory/classes/heap/objects:bytes"}}
	metrics.Read(heap)
	if heap[0].Value.Kind() == metrics.KindUint64 && heap[0].Value.Uint64() >= minCollected {
		runtime.GC()
	}
}
