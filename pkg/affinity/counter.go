package affinity

import "slices"

// counter counts the allocations that a constraint selects, by domain.
type counter struct {
	id       string
	terms    []Term // an allocation is selected if all of them select it
	topology *topology
	users    int  // kinds with the constraint
	opens    bool // a higher count may let an ask be placed

	version uint64 // grows when nodes outside of the domains whose counts change may be refused, or no longer

	counts counts
	spread *spreadDomains // nil: not for spread
}

// counts are numbers of allocations by domain, in pages: most constraints select a few allocations in a few of
// thousands of domains.
type counts struct {
	pages []*countsPage // nil: all are 0
	total int64
}

// pageSize is the number of domains on a page.
const pageSize = 64

type countsPage [pageSize]int32

func (c *counts) add(domain, number int32) {
	page := int(domain) / pageSize
	if page >= len(c.pages) {
		c.pages = append(c.pages, make([]*countsPage, page+1-len(c.pages))...)
	}
	if c.pages[page] == nil {
		c.pages[page] = &countsPage{}
	}
	c.pages[page][domain%pageSize] += number
	c.total += int64(number)
}

// in returns the number in a domain; 0 for noDomain.
func (c *counts) in(domain int32) int32 {
	if page := int(domain) / pageSize; domain >= 0 && page < len(c.pages) && c.pages[page] != nil {
		return c.pages[page][domain%pageSize]
	}
	return 0
}

// each yields the domains with allocations.
func (c *counts) each(yield func(domain int) bool) {
	left := c.total
	for i := 0; left > 0; i++ {
		if c.pages[i] == nil {
			continue
		}
		for j, count := range c.pages[i] {
			left -= int64(count)
			if count > 0 && !yield(i*pageSize+j) {
				return
			}
		}
	}
}

// selects reports whether c selects allocations of k.
func (c *counter) selects(k *Kind) bool {
	return !slices.ContainsFunc(c.terms, func(t Term) bool { return !t.selects(k.namespace, k.labels) })
}

// add adds allocations in a domain; noDomain: they do not count.
func (c *counter) add(domain, number int32) {
	if domain == noDomain || number == 0 {
		return
	}
	lowest, none := int32(0), c.counts.total == 0
	if c.spread != nil {
		lowest = c.spread.lowest
		c.spread.recount(c.counts.in(domain), c.counts.in(domain)+number, domain)
	}
	c.counts.add(domain, number)
	if c.spread != nil && lowest != c.spread.lowest || c.spread == nil && none != (c.counts.total == 0) {
		c.version++
	}
}

// domainOf returns the domain that allocations on n count for; noDomain: none.
func (c *counter) domainOf(n *Node) int32 {
	if c.spread != nil {
		return c.spread.at[n.slot]
	}
	return n.domain(c.topology)
}

// holder counts the allocations whose anti-affinity has a term, by the domain of their nodes. The domain is closed to
// what the term selects.
type holder struct {
	id       string
	term     Term
	topology *topology
	users    int // kinds with the term
	counts   counts
}
