package wire

import "hash/maphash"

// memo caches what was made of bytes that repeat. It is a hash table with two slots for each key;
// a new key may replace an old one, so the table never grows, and a key that does not repeat
// costs two comparisons.
type memo[V any] struct {
	seed  maphash.Seed
	slots []memoSlot[V]
}

type memoSlot[V any] struct {
	key   string
	used  bool
	value V
}

// newMemo returns a memo with size slots; size must be a power of two.
func newMemo[V any](size int) memo[V] {
	return memo[V]{maphash.MakeSeed(), make([]memoSlot[V], size)}
}

// maxMemoKey is the maximum length of bytes that are cached.
const maxMemoKey = 256

// lookup returns the slot of b, and whether b is in it. If not, the caller may store b there. b
// must not be longer than maxMemoKey.
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
