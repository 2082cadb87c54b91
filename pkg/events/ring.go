package events

// Ring keeps the last records, up to a bound. IDs count from 0 in the order in which they
// came. It is not safe for concurrent use.
type Ring struct {
	capacity int
	records  []Record // as many as there are
	head     int      // where the oldest is; 0 while there is room
	next     uint64   // the ID of the next one
}

// NewRing returns one that keeps so many. Requires: most is above 0.
func NewRing(capacity int) *Ring { return &Ring{capacity: capacity} }

// Add keeps r, and forgets the oldest if there are too many.
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

// Len is how many there are.
func (g *Ring) Len() int { return len(g.records) }

// Next is the ID that the next record will have.
func (g *Ring) Next() uint64 { return g.next }

// Lowest is the ID of the oldest that is kept; of none, that of the next.
func (g *Ring) Lowest() uint64 { return g.next - uint64(len(g.records)) }

// From returns up to so many records from an ID on; nil when the first is not kept.
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

// Resize changes how many are kept; the oldest are forgotten if there are more. Requires:
// most is above 0.
func (g *Ring) Resize(capacity int) {
	if capacity == g.capacity {
		return
	}
	kept := g.From(max(g.Lowest(), g.next-min(g.next, uint64(capacity))), capacity)
	g.capacity, g.records, g.head = capacity, kept, 0
}
