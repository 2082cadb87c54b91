package objectgraph

import "math/bits"

// placeTable is the index of each place in discovery.places: an open hash table, since a map costs several times as
// much and a graph has as many places as objects.
type placeTable struct {
	slots []int32 // index + 1; 0: none
	n     int
}

// slot is that of p, or the free one where it belongs.
func (h *placeTable) slot(p place, places []found) int {
	mask := len(h.slots) - 1
	x, low := bits.Mul64(uint64(uintptr(p.at))^uint64(p.t.number)<<52, 0x9e3779b97f4a7c15)
	for i := int(x^low) & mask; ; i = (i + 1) & mask {
		if k := h.slots[i]; k == 0 || places[k-1].place == p {
			return i
		}
	}
}

// find is the index of p; ok is false if it is not there.
func (h *placeTable) find(p place, places []found) (index int, ok bool) {
	if h.n == 0 {
		return 0, false
	}
	k := h.slots[h.slot(p, places)]
	return int(k) - 1, k > 0
}

// add notes that p has the index of the last of places.
func (h *placeTable) add(p place, places []found) {
	if 2*(h.n+1) > len(h.slots) {
		h.slots = make([]int32, max(1024, 4*len(h.slots)))
		for i := range places[:len(places)-1] {
			h.slots[h.slot(places[i].place, places)] = int32(i + 1)
		}
	}
	h.slots[h.slot(p, places)] = int32(len(places))
	h.n++
}
