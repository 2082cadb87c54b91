package configs

import (
	"strings"

	"github.com/canopy-scheduler/canopy/pkg/resources"
)

// spelling is a quantity of a resource, the key of the texts by which a document writes it.
type spelling struct {
	resource string
	n        resources.Quantity
}

// maxSpellings bounds how many spellings a Config keeps (CFG-44). Documents have few different
// quantities, however many queues they have.
const maxSpellings = 10_000

// recordSpelling records how a quantity is written. A quantity that is written in two ways has no spelling.
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
			text = "" // leading zeroes are not repeated in output
		}
		r.spellings[key] = text
	}
}

// FormatQuantity formats a quantity as the document writes the same amount: 1024Mi stays 1024Mi (CFG-44).
// An amount that the document does not have, or writes in several ways, is formatted by
// resources.FormatQuantity; so is any amount if c is nil.
func (c *Config) FormatQuantity(resource string, n resources.Quantity) string {
	if c != nil {
		if text := c.spellings[spelling{resource, n}]; text != "" {
			return text
		}
	}
	return resources.FormatQuantity(resource, n)
}

// EmptyCopy is a configuration without partitions, classes and budgets that formats quantities
// as c does.
func (c *Config) EmptyCopy() *Config { return &Config{Checksum: c.Checksum, spellings: c.spellings} }

// restoreSpelling formats the quantities of changes as their documents write them.
func restoreSpelling(changes []ValueChange, old, new *Config) {
	for i := range changes {
		v := &changes[i]
		if resource, ok := quantityOf(v.Name); ok {
			v.Before, v.After = old.rewriteQuantity(resource, v.Before), new.rewriteQuantity(resource, v.After)
		}
	}
}

// rewriteQuantity reformats an output of resources.FormatQuantity as the document writes the quantity.
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

// quantityOf is the resource of a ValueChange by its name; ok is false if the value is no quantity.
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
