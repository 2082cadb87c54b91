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

// maxSpellings bounds how many quantities a Config remembers the spelling of. Documents have
// few different ones, however many queues there are.
const maxSpellings = 10_000

// recordSpelling remembers how a quantity is written. One that is written in two ways has none.
func (r *reader) recordSpelling(resource string, n resources.Quantity, text string) {
	text = strings.Join(strings.Fields(text), "")
	key := spelling{resource, n}
	if before, there := r.spellings[key]; there {
		if before != text {
			r.spellings[key] = ""
		}
		return
	}
	if len(r.spellings) < maxSpellings {
		if r.spellings == nil {
			r.spellings = map[spelling]string{}
		}
		if strings.HasPrefix(text, "0") && n != 0 {
			text = "" // not as people write it
		}
		r.spellings[key] = text
	}
}

// FormatQuantity writes a quantity as the document does, wherever it has the same amount: 1024Mi stays
// 1024Mi. What it does not have, or writes in several ways, is as resources.FormatQuantity has it. nil: no
// document.
func (c *Config) FormatQuantity(resource string, n resources.Quantity) string {
	if c != nil {
		if text := c.spellings[spelling{resource, n}]; text != "" {
			return text
		}
	}
	return resources.FormatQuantity(resource, n)
}

// EmptyCopy is a configuration that has nothing yet, neither partitions nor classes nor
// budgets, and writes quantities as c does.
func (c *Config) EmptyCopy() *Config { return &Config{Checksum: c.Checksum, spellings: c.spellings} }

// restoreSpelling writes the quantities of changes as each side does.
func restoreSpelling(changes []ValueChange, old, new *Config) {
	for i := range changes {
		v := &changes[i]
		if resource, ok := quantityOf(v.Name); ok {
			v.Before, v.After = old.rewriteQuantity(resource, v.Before), new.rewriteQuantity(resource, v.After)
		}
	}
}

// rewriteQuantity is a text of resources.FormatQuantity as the document writes it.
func (c *Config) rewriteQuantity(resource, text string) string {
	if text == "" {
		return ""
	}
	n, err := resources.Parse(resource, text)
	if err != nil {
		return text
	}
	return c.FormatQuantity(resource, n)
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
