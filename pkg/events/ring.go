package events

// Ring keeps the last records, up to a capacity (OBS-31). IDs count from 0 in the order of Add. It is not
// safe for concurrent use.
type Ring struct {
	capacity int
	records  []Record // at most capacity
	head     int      // position of the oldest; 0 until the ring is full
	next     uint64   // the ID of the next record
}

// NewRing returns an empty ring. Requires: capacity is above 0.
func NewRing(capacity int) *Ring { return &Ring{capacity: capacity} }

// Add adds r and returns its ID. A full ring drops the oldest record.
func (g *Ring) Add(r Record) (id uint64) {
	if len(g.records) < g.capacity {
		g.records = append(g.records, r)
	} else {
		g.records[g.head] = r
		g.head = (g.head + 1) % g.capacity
	}
	g.next++
	return g.next - 1
}

// Len is the number of records.
func (g *Ring) Len() int { return len(g.records) }

// Next is the ID that the next record will have.
func (g *Ring) Next() uint64 { return g.next }

// Lowest is the ID of the oldest record; of an empty ring, that of the next.
func (g *Ring) Lowest() uint64 { return g.next - uint64(len(g.records)) }

// From returns up to count records from an ID on; nil if the record with the ID is not kept.
func (g *Ring) From(id uint64, count int) []Record {
	if id < g.Lowest() || id >= g.next || count <= 0 {
		return nil
	}
	out := make([]Record, min(uint64(count), g.next-id))
	first := g.head + int(id-g.Lowest())
	for i := range out {
		out[i] = g.records[(first+i)%len(g.records)]
	}
	return out
}

// Resize changes the capacity; the oldest records are dropped if there are more. Requires: capacity is
// above 0.
func (g *Ring) Resize(capacity int) {
	if capacity == g.capacity {
		return
	}
	kept := g.From(max(g.Lowest(), g.next-min(g.next, uint64(capacity))), capacity)
	g.capacity, g.records, g.head = capacity, kept, 0
}
