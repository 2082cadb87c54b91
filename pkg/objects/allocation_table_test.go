package objects

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"

	"gotest.tools/v3/assert"
	"pgregory.net/rapid"
)

// mustFind is the ask or allocation of key.
func (p *Partition) mustFind(key AllocationKey) *Allocation {
	x, ok := p.allocations.get(key)
	if !ok {
		panic("no allocation " + string(key))
	}
	return x
}

func keyed(key string) *Allocation { return &Allocation{ask: &Ask{Key: AllocationKey(key)}} }

// entriesOf are the keys of t, in order; each must be found.
func entriesOf(t assert.TestingT, table *allocationTable) (keys []AllocationKey) {
	for x := range table.all {
		keys = append(keys, x.Key())
		assert.Assert(t, table.has(x), "%s is not found", x.Key())
	}
	slices.Sort(keys)
	return keys
}

func TestAllocationTable_IsAMap(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		table, want := newAllocationTable(), map[AllocationKey]*Allocation{}
		for range rapid.IntRange(0, 2000).Draw(t, "changes") {
			key := fmt.Sprint(rapid.IntRange(0, 300).Draw(t, "key"))
			x, known := table.get(AllocationKey(key))
			assert.Equal(t, x, want[AllocationKey(key)])
			if known {
				table.remove(x)
				delete(want, x.Key())
				continue
			}
			x = keyed(key)
			table.add(x)
			want[x.Key()] = x
		}
		assert.Equal(t, table.len(), len(want))
		assert.DeepEqual(t, entriesOf(t, table), slices.Sorted(maps.Keys(want)))
	})
}

// Entries of one hash are in the same shard, and begin in the same group.
func TestAllocationTable_CollisionsAreFound(t *testing.T) {
	table := newAllocationTable()
	s := &table.shards[7]
	s.groups = make([]slotGroup, 8)
	const hash = 7<<56 | 0x1234
	var all []*Allocation
	for i := range maxUsed(8) {
		all = append(all, keyed(fmt.Sprint(i)))
		s.insert(all[i], hash)
	}
	assert.Equal(t, s.used, len(all))
	found := 0
	for at := s.start(hash); at.more(); at.next() {
		for _, x := range s.groups[at.group].slots {
			found += boolToInt(x != nil)
		}
	}
	assert.Equal(t, found, len(all))
}

// As many entries come as go: the table keeps its size.
func TestAllocationTable_StaysSmallUnderChurn(t *testing.T) {
	table, rng := newAllocationTable(), rand.New(rand.NewPCG(1, 2))
	var all []*Allocation
	slots := func() (n int) {
		for i := range table.shards {
			n += len(table.shards[i].groups) * slotsPerGroup
		}
		return n
	}
	for i := range 10_000 {
		all = append(all, keyed(fmt.Sprint(i)))
		table.add(all[i])
	}
	for i := range 100_000 {
		at := rng.IntN(len(all))
		table.remove(all[at])
		all[at] = keyed(fmt.Sprint("again", i))
		table.add(all[at])
	}
	assert.Equal(t, len(entriesOf(t, table)), len(all))
	assert.Assert(t, slots() < 3*len(all), "%d slots for %d entries", slots(), len(all))
}

func TestAllocationTable_RemovingAnUnknownOnePanics(t *testing.T) {
	defer func() { assert.Assert(t, recover() != nil) }()
	newAllocationTable().remove(keyed("k"))
}
