package objects

// What could not be placed stays impossible until there is news: placing something
// else only takes room away. So a decision that found nothing in a queue, or no node
// for a shape, leaves a note, and the next one passes by. Room that appears, in a node
// or below a max, is news to everybody; a new ask only to the queues above it.

// Quiet reports whether nothing below q could be placed the last time, and there has
// been no news since.
func (p *Partition) Quiet(q *Queue) bool { return q.quiet == p.news }

// Hush notes that nothing below q can be placed.
func (p *Partition) Hush(q *Queue) { q.quiet = p.news }

// NoRoom reports whether no node had room for s the last time, without news since.
func (p *Partition) NoRoom(s *Shape) bool { return s.noRoom == p.news }

// SetNoRoom notes that no node has room for s.
func (p *Partition) SetNoRoom(s *Shape) { s.noRoom = p.news }

// Refused reports whether the RM refused every node for x, without news since.
func (p *Partition) Refused(x *Allocation) bool { return x.refused == p.news }

// SetRefused notes that the RM refused every node that has room for x.
func (p *Partition) SetRefused(x *Allocation) { x.refused = p.news }

// Reconsider makes everything worth another try.
func (p *Partition) Reconsider() { p.news++ }
