package objects

// Masks say who can be placed where, but not what the RM refuses. An ask that it refused on
// every node with room is set aside. Placing something else only takes room away, so it
// stays impossible until there is news: room that appeared in a node or below a max.

// SetAside keeps x, which the RM refused on every node with room, from being tried again
// until there is news.
func (p *Partition) SetAside(x *Allocation) {
	c := x.class
	c.remove(x)
	c.aside.add(x, placeAside)
	p.rest(c)
}

// Refused reports whether x was set aside, and there has been no news since.
func (p *Partition) Refused(x *Allocation) bool {
	return !p.stirred && x.class.aside.has(x, placeAside)
}

// Reconsider makes everything that was set aside worth another try.
func (p *Partition) Reconsider() { p.stirred = true }

func (p *Partition) rest(c *Class) {
	p.resting = append(p.resting, c)
	c.app.classes.stand(c)
	c.app.stand()
}

// rouse takes back what was set aside, if there has been news.
func (p *Partition) rouse() {
	if !p.stirred {
		return
	}
	p.stirred = false
	resting := p.resting
	p.resting = nil
	for _, c := range resting {
		if c.wake(); !c.empty() {
			c.app.stand()
		}
	}
}

// wake makes all of c worth another try.
func (c *Class) wake() {
	aside := c.aside
	c.aside = nil
	for _, x := range aside {
		c.insert(x)
	}
	c.app.classes.stand(c)
}
