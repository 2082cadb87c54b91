package affinity

import (
	"github.com/canopy-scheduler/canopy/pkg/budgets"
	"github.com/canopy-scheduler/canopy/pkg/constraints"
)

// Cache parses the constraints of asks, and remembers the results: thousands of asks have the same tags and labels. The
// zero value is empty.
type Cache struct {
	results map[cacheKey]result
	byKey   map[string]*Ask // by Ask.Key: equal constraints are one Ask, however they were written
}

// cacheKey holds all that a result depends on.
type cacheKey struct {
	texts           tagTexts
	identity, nodes string
}

type result struct {
	ask *Ask
	err error
}

// maxResults bounds the results that a Cache remembers. A Cache that would exceed it forgets all, so what is remembered
// depends on the asks alone.
const maxResults = 1024

// Parse does what the function Parse does. For equal constraints it returns the same pointer while the result is
// remembered.
func (c *Cache) Parse(tags map[string]string, nodes *constraints.Ask) (*Ask, error) {
	texts := textsOf(tags)
	if texts == (tagTexts{}) {
		return nil, nil
	}
	namespace, labels := budgets.NamespaceOf(tags), labelsOf(tags)
	key := cacheKey{texts, identity(namespace, labels), nodes.Key()}
	if r, ok := c.results[key]; ok {
		return r.ask, r.err
	}
	if len(c.results) >= maxResults || c.results == nil {
		c.results, c.byKey = map[cacheKey]result{}, map[string]*Ask{}
	}
	a, err := texts.parse(namespace, labels, nodes)
	if known := c.byKey[a.Key()]; known != nil {
		a = known
	} else if a != nil {
		c.byKey[a.key] = a
	}
	c.results[key] = result{a, err}
	return a, err
}
