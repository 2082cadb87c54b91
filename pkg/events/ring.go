package events

import "iter"

// Ring keeps the last records, up to a capacity (OBS-31). IDs count from 0 in the order of Add. It is not
// safe for concurrent use, but the Records that it returns are.
//
// Records are in blocks that are only appended to, and dropped as a whole: a reader shares the blocks, and
// copies no record.
type Ring struct {
	capacity int
	blocks   [][]Record // each has blockLength records, the last one up to that
	first    uint64     // the ID of the first record of the first block; it may be dropped already
	kept     int        // number of records that are not dropped; at most capacity
	next     uint64     // the ID of the next record
}

// blockLength is the number of records of a block: about 16 KB.
const blockLength = 128

// NewRing returns an empty ring. Requires: capacity is above 0.
func NewRing(capacity int) *Ring { return &Ring{capacity: capacity} }

// Add adds r and returns its ID. A full ring drops the oldest record.
func (g *Ring) Add(r Record) (id uint64) {
	last := len(g.blocks) - 1
	if last < 0 || len(g.blocks[last]) == blockLength {
		g.blocks = append(g.blocks, make([]Record, 0, blockLength))
		last++
	}
	g.blocks[last] = append(g.blocks[last], r)
	g.next++
	g.kept = min(g.kept+1, g.capacity)
	g.dropBlocks()
	return g.next - 1
}

// dropBlocks drops the blocks that have only dropped records.
func (g *Ring) dropBlocks() {
	for len(g.blocks) > 0 && g.first+blockLength <= g.Lowest() {
		g.blocks[0] = nil
		g.blocks = g.blocks[1:]
		g.first += blockLength
	}
}

// Len returns the number of records.
func (g *Ring) Len() int { return g.kept }

// Next returns the ID that the next record will have.
func (g *Ring) Next() uint64 { return g.next }

// Lowest returns the ID of the oldest record; of an empty ring, that of the next.
func (g *Ring) Lowest() uint64 { return g.next - uint64(g.kept) }

// From returns up to count records from an ID on; nil if the record with the ID is not kept.
func (g *Ring) From(id uint64, count int) Records {
	if id < g.Lowest() || id >= g.next || count <= 0 {
		return nil
	}
	end := id + min(uint64(count), g.next-id)
	out := make(Records, 0, (end-id)/blockLength+2)
	for id < end {
		at := int(id - g.first)
		block := g.blocks[at/blockLength]
		from := at % blockLength
		to := min(len(block), from+int(end-id))
		out = append(out, block[from:to:to])
		id += uint64(to - from)
	}
	return out
}

// Resize changes the capacity; the oldest records are dropped if there are more. Requires: capacity is
// above 0.
func (g *Ring) Resize(capacity int) {
	g.capacity = capacity
	g.kept = min(g.kept, capacity)
	g.dropBlocks()
}

// Records are consecutive records, in parts. They must not be changed: the ring and other readers share
// them.
type Records [][]Record

// Len returns the number of records.
func (r Records) Len() (n int) {
	for _, part := range r {
		n += len(part)
	}
	return n
}

// All yields the records in order.
func (r Records) All() iter.Seq[*Record] {
	return func(yield func(*Record) bool) {
		for _, part := range r {
			for i := range part {
				if !yield(&part[i]) {
					return
				}
			}
		}
	}
}

// Backward yields the records in reverse order.
func (r Records) Backward() iter.Seq[*Record] {
	return func(yield func(*Record) bool) {
		for p := len(r) - 1; p >= 0; p-- {
			for i := len(r[p]) - 1; i >= 0; i-- {
				if !yield(&r[p][i]) {
					return
				}
			}
		}
	}
}
