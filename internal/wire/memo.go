package wire

import "hash/maphash"

// memo remembers what was made of bytes that keep coming back. It is a table in which
// bytes have two places: what comes later may take one, so it never grows, and a peer
// that repeats nothing costs two looks.
type memo[V any] struct {
	seed  maphash.Seed
	slots []memoSlot[V]
}

type memoSlot[V any] struct {
	key   string
	used  bool
	value V
}

// newMemo returns a memo of a size that is a power of two.
func newMemo[V any](size int) memo[V] {
	return memo[V]{maphash.MakeSeed(), make([]memoSlot[V], size)}
}

// maxMemoKey is how long bytes may be that are worth remembering.
const maxMemoKey = 256

// lookup returns the place of b, and whether b is what is there. If not, whoever makes
// something of b may put it there.
// Requires: b is not longer than maxMemoKey.
func (m *memo[V]) lookup(b []byte) (slot *memoSlot[V], known bool) {
	hash, last := maphash.Bytes(m.seed, b), uint64(len(m.slots)-1)
	first := &m.slots[hash&last]
	if first.used && first.key == string(b) {
		return first, true
	}
	second := &m.slots[hash>>32&last]
	if second.used && second.key == string(b) {
		return second, true
	}
	if first.used {
		return second, false
	}
	return first, false
}
