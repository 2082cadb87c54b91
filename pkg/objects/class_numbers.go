package objects

// classNumbers assigns numbers to the priority classes of the asks and allocations of a partition,
// so that an ask takes no more memory for its class (QUO-45). The number of a class with no ask and
// no allocation is free again.
type classNumbers struct {
	numbers map[string]uint32
	named   []namedClass // named[n-1] has the number n
	free    []uint32     // unused numbers
}

type namedClass struct {
	name string
	refs int // asks and allocations
}

// acquire is the number of a class for one more ask; without a class it is 0.
func (c *classNumbers) acquire(name string) uint32 {
	if name == "" {
		return 0
	}
	n, ok := c.numbers[name]
	if !ok {
		n = c.nextFree()
		if c.numbers == nil {
			c.numbers = map[string]uint32{}
		}
		c.numbers[name], c.named[n-1].name = n, name
	}
	c.named[n-1].refs++
	return n
}

func (c *classNumbers) nextFree() uint32 {
	if end := len(c.free) - 1; end >= 0 {
		n := c.free[end]
		c.free = c.free[:end]
		return n
	}
	c.named = append(c.named, namedClass{})
	return uint32(len(c.named))
}

// release reverts acquire for one ask.
func (c *classNumbers) release(n uint32) {
	if n == 0 {
		return
	}
	x := &c.named[n-1]
	x.refs--
	if x.refs > 0 {
		return
	}
	delete(c.numbers, x.name)
	if len(c.numbers) == 0 {
		*c = classNumbers{}
		return
	}
	*x = namedClass{}
	c.free = append(c.free, n)
}

// name is the class of a number.
func (c *classNumbers) name(n uint32) string {
	if n == 0 {
		return ""
	}
	return c.named[n-1].name
}

// PriorityClass is the name of the priority class of x; empty: none. It is set when x is admitted
// and does not change.
func (p *Partition) PriorityClass(x *Allocation) string { return p.classNumbers.name(x.key.ClassID) }
