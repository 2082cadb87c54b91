package constraints

// Cache parses the constraints of asks, and remembers the results: thousands of asks have the same tags. The zero
// value is empty.
type Cache struct {
	results map[tagTexts]result
}

type result struct {
	ask *Ask
	err error
}

// maxResults bounds the results that a Cache remembers. A Cache that would exceed it forgets all, so what is remembered
// depends on the asks alone.
const maxResults = 1024

// Parse does what the function Parse does. For equal tags it returns the same pointer while the result is remembered.
func (c *Cache) Parse(tags map[string]string) (*Ask, error) {
	texts := textsOf(tags)
	if texts == (tagTexts{}) {
		return nil, nil
	}
	if r, ok := c.results[texts]; ok {
		return r.ask, r.err
	}
	if len(c.results) >= maxResults || c.results == nil {
		c.results = map[tagTexts]result{}
	}
	ask, err := texts.parse()
	c.results[texts] = result{ask, err}
	return ask, err
}
