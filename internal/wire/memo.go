package wire

import "hash/maphash"

// memo remembers what was made of bytes that keep coming back. It is a table in which
// bytes have two places: what comes later may take one, so it never grows, and a peer
// that repeats nothing costs two looks.
type memo[V any] struct {
	seed   maphash.Seed
	places []place[V]
}

type place[V any] struct {
	key   string
	taken bool
	value V
}

// newMemo returns a memo of a size that is a power of two.
func newMemo[V any](size int) memo[V] {
	return memo[V]{maphash.MakeSeed(), make([]place[V], size)}
}

// longestMemo is how long bytes may be that are worth remembering.
const longestMemo = 256

// find returns the place of b, and whether b is what is there. If not, whoever makes
// something of b may put it there.
// Requires: b is not longer than longestMemo.
func (m *memo[V]) find(b []byte) (p *place[V], known bool) {
	hash, last := maphash.Bytes(m.seed, b), uint64(len(m.places)-1)
	first := &m.places[hash&last]
	if first.taken && first.key == string(b) {
		return first, true
	}
	second := &m.places[hash>>32&last]
	if second.taken && second.key == string(b) {
		return second, true
	}
	if first.taken {
		return second, false
	}
	return first, false
}
