package configs

import (
	"strings"

	"github.com/canopy-scheduler/canopy/pkg/resources"
)

// spelling is a quantity of a resource, for how a document writes it.
type spelling struct {
	resource string
	n        resources.Quantity
}

// mostSpellings bounds how many quantities a Config remembers the spelling of. Documents have
// few different ones, however many queues there are.
const mostSpellings = 10_000

// spell remembers how a quantity is written. One that is written in two ways has none.
func (r *reader) spell(resource string, n resources.Quantity, text string) {
	text = strings.Join(strings.Fields(text), "")
	key := spelling{resource, n}
	if before, there := r.spellings[key]; there {
		if before != text {
			r.spellings[key] = ""
		}
		return
	}
	if len(r.spellings) < mostSpellings {
		if r.spellings == nil {
			r.spellings = map[spelling]string{}
		}
		if strings.HasPrefix(text, "0") && n != 0 {
			text = "" // not as people write it
		}
		r.spellings[key] = text
	}
}

// Text writes a quantity as the document does, wherever it has the same amount: 1024Mi stays
// 1024Mi. What it does not have, or writes in several ways, is as resources.Text has it. nil: no
// document.
func (c *Config) Text(resource string, n resources.Quantity) string {
	if c != nil {
		if text := c.spellings[spelling{resource, n}]; text != "" {
			return text
		}
	}
	return resources.Text(resource, n)
}

// WithoutLists is a configuration that has nothing yet, neither partitions nor classes nor
// budgets, and writes quantities as c does.
func (c *Config) WithoutLists() *Config { return &Config{Checksum: c.Checksum, spellings: c.spellings} }

// spelled writes the quantities of changes as each side does.
func spelled(changes []ValueChange, old, new *Config) {
	for i := range changes {
		v := &changes[i]
		if resource, ok := quantityOf(v.Name); ok {
			v.Before, v.After = old.respell(resource, v.Before), new.respell(resource, v.After)
		}
	}
}

// respell is a text of resources.Text as the document writes it.
func (c *Config) respell(resource, text string) string {
	if text == "" {
		return ""
	}
	n, err := resources.Parse(resource, text)
	if err != nil {
		return text
	}
	return c.Text(resource, n)
}

// quantityOf is the resource of a value that is a quantity, by the name of the value in a Change.
func quantityOf(name string) (resource string, ok bool) {
	if strings.HasPrefix(name, "classquota ") {
		_, resource, ok = strings.Cut(name, " hard ")
		return resource, ok
	}
	name = strings.TrimPrefix(name, "childtemplate ")
	for _, key := range []string{"max ", "guaranteed ", "maxresources "} {
		if resource, ok = strings.CutPrefix(name, key); ok {
			return strings.TrimSuffix(resource, " of its own"), true
		}
	}
	return "", false
}
