package objects

import (
	"hash/maphash"
	"math/bits"
)

// allocationTable finds asks and allocations by their keys. A map of a million has 25 bytes for a
// key and a pointer, and is up to half empty; here a slot is a pointer and a byte of the hash, as
// the key is in the ask.
//
// It is an open-addressing hash table in shards that grow one at a time: growing visits a small part
// of the entries. The seed is random, so that no resource manager can choose keys that collide; the
// order of iteration is random as that of a map, and no decision may depend on it.
type allocationTable struct {
	seed   maphash.Seed // of this process
	shards [allocationShards]allocationShard
	count  int
}

// allocationShards is the number of shards: with a million entries each has 4,000.
const allocationShards = 256

// allocationShard is the part of the table for one value of the highest byte of the hash.
type allocationShard struct {
	groups []slotGroup // a power of two of them, or none
	used   int         // slots that are not empty: entries and removed ones
	count  int         // entries
}

// slotGroup is eight slots that are searched together.
type slotGroup struct {
	tags  uint64 // a byte for each slot: tagEmpty, tagRemoved, or tagEntry and seven bits of the hash
	slots [slotsPerGroup]*Allocation
}

const (
	slotsPerGroup = 8

	tagEmpty   = 0x00 // a search ends in a group with such a slot
	tagRemoved = 0x01 // a search continues behind it
	tagEntry   = 0x80

	lowBits  = 0x0101010101010101
	highBits = 0x8080808080808080
)

func newAllocationTable() *allocationTable { return &allocationTable{seed: maphash.MakeSeed()} }

// len is the number of entries.
func (t *allocationTable) len() int { return t.count }

// get is the ask or allocation of key; ok is false if there is none.
func (t *allocationTable) get(key AllocationKey) (x *Allocation, ok bool) {
	hash := t.hash(key)
	s := t.shard(hash)
	for at := s.start(hash); at.more(); at.next() {
		g := &s.groups[at.group]
		for m := matching(g.tags, tagOf(hash)); m != 0; m &= m - 1 {
			if x := g.slots[bits.TrailingZeros64(m)/8]; x.ask.Key == key {
				return x, true
			}
		}
		if matching(g.tags, tagEmpty) != 0 {
			break
		}
	}
	return nil, false
}

// has reports whether x is found by its key.
func (t *allocationTable) has(x *Allocation) bool {
	y, _ := t.get(x.ask.Key)
	return y == x
}

// add adds x. Requires: its key is unknown.
func (t *allocationTable) add(x *Allocation) { t.addAt(x, t.hash(x.ask.Key)) }

func (t *allocationTable) addAt(x *Allocation, hash uint64) {
	s := t.shard(hash)
	if s.used+1 > maxUsed(len(s.groups)) {
		t.rebuild(s)
	}
	s.insert(x, hash)
	t.count++
}

// remove removes x. Requires: it was added.
func (t *allocationTable) remove(x *Allocation) {
	hash := t.hash(x.ask.Key)
	s := t.shard(hash)
	for at := s.start(hash); at.more(); at.next() {
		g := &s.groups[at.group]
		for m := matching(g.tags, tagOf(hash)); m != 0; m &= m - 1 {
			slot := bits.TrailingZeros64(m) / 8
			if g.slots[slot] != x {
				continue
			}
			tag := uint64(tagRemoved)
			if matching(g.tags, tagEmpty) != 0 { // no search continues behind this group
				tag = tagEmpty
				s.used--
			}
			g.slots[slot] = nil
			g.setTag(slot, tag)
			s.count--
			t.count--
			return
		}
		if matching(g.tags, tagEmpty) != 0 {
			break
		}
	}
	panic("objects: " + string(x.ask.Key) + " is not in the table of keys")
}

// all yields every entry, in no order.
func (t *allocationTable) all(yield func(*Allocation) bool) {
	for i := range t.shards {
		for g := range t.shards[i].groups {
			for _, x := range t.shards[i].groups[g].slots {
				if x != nil && !yield(x) {
					return
				}
			}
		}
	}
}

// rebuild makes space for one more entry in s: it drops removed slots, and doubles s until a quarter
// of the slots are left.
func (t *allocationTable) rebuild(s *allocationShard) {
	former, size := s.groups, 1
	for s.count+1 > size*slotsPerGroup*3/4 {
		size *= 2
	}
	s.groups, s.used, s.count = make([]slotGroup, size), 0, 0
	for i := range former {
		for _, x := range former[i].slots {
			if x != nil {
				s.insert(x, t.hash(x.ask.Key))
			}
		}
	}
}

func (t *allocationTable) hash(key AllocationKey) uint64 { return maphash.String(t.seed, string(key)) }

func (t *allocationTable) shard(hash uint64) *allocationShard { return &t.shards[hash>>56] }

// insert adds x. Requires: there is a slot for it.
func (s *allocationShard) insert(x *Allocation, hash uint64) {
	at := s.start(hash)
	for s.groups[at.group].tags&highBits == highBits {
		at.next()
	}
	g := &s.groups[at.group]
	slot := bits.TrailingZeros64(^g.tags&highBits) / 8
	if g.tags>>(8*slot)&0xff == tagEmpty {
		s.used++
	}
	g.slots[slot] = x
	g.setTag(slot, tagOf(hash))
	s.count++
}

// probe is the group that is searched, in the order in which groups are: every one once.
type probe struct{ group, steps, groups uint64 }

// start is the first group in which an entry of hash may be.
func (s *allocationShard) start(hash uint64) probe {
	groups := uint64(len(s.groups))
	return probe{group: hash >> 7 & (groups - 1), groups: groups}
}

// more reports whether there is a group that was not searched.
func (p *probe) more() bool { return p.steps < p.groups }

// next continues with the next group: triangular numbers visit every residue of a power of two.
func (p *probe) next() {
	p.steps++
	p.group = (p.group + p.steps) & (p.groups - 1)
}

func (g *slotGroup) setTag(slot int, tag uint64) {
	g.tags = g.tags&^(0xff<<(8*slot)) | tag<<(8*slot)
}

// maxUsed returns how many slots of groups may be used: an eighth is empty, so that searches end.
func maxUsed(groups int) int { return groups * (slotsPerGroup - 1) }

// tagOf is the tag of an entry of hash.
func tagOf(hash uint64) uint64 { return tagEntry | hash&0x7f }

// matching has the high bit of each byte of tags that equals tag. A byte above such a byte may have
// it too if it differs in the lowest bit only: it is of an entry if tag is. The lowest is exact.
func matching(tags, tag uint64) uint64 {
	v := tags ^ tag*lowBits
	return (v - lowBits) &^ v & highBits
}
