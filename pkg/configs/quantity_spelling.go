package configs

import (
	"strings"

	"github.com/canopy-scheduler/canopy/pkg/resources"
)

// Spellings keep how a document writes quantities (CFG-44). The zero value has none.
type Spellings struct{ texts map[spelling]string }

// spelling is a quantity of a resource, the key of the texts by which a document writes it.
type spelling struct {
	resource string
	n        resources.Quantity
}

// maxSpellings bounds how many spellings are kept (CFG-44). Documents have few different
// quantities, however many queues they have.
const maxSpellings = 10_000

// Record records how a quantity is written. A quantity that is written in two ways has no spelling.
func (s *Spellings) Record(resource string, n resources.Quantity, text string) {
	text = strings.Join(strings.Fields(text), "")
	key := spelling{resource, n}
	if before, there := s.texts[key]; there {
		if before != text {
			s.texts[key] = ""
		}
		return
	}
	if len(s.texts) < maxSpellings {
		if s.texts == nil {
			s.texts = map[spelling]string{}
		}
		if strings.HasPrefix(text, "0") && n != 0 {
			text = "" // leading zeroes are not repeated in output
		}
		s.texts[key] = text
	}
}

// FormatQuantity formats a quantity as the document writes the same amount: 1024Mi stays 1024Mi (CFG-44).
// An amount that the document does not have, or writes in several ways, is formatted by
// resources.FormatQuantity; so is any amount if c is nil.
func (c *Config) FormatQuantity(resource string, n resources.Quantity) string {
	if c != nil {
		if text := c.Spellings.texts[spelling{resource, n}]; text != "" {
			return text
		}
	}
	return resources.FormatQuantity(resource, n)
}

// EmptyCopy is a configuration without partitions, classes and budgets that formats quantities
// as c does.
func (c *Config) EmptyCopy() *Config { return &Config{Checksum: c.Checksum, Spellings: c.Spellings} }
