package diff

import (
	"strings"

	"github.com/canopy-scheduler/canopy/pkg/configs"
	"github.com/canopy-scheduler/canopy/pkg/resources"
)

// restoreSpelling formats the quantities of changes as their documents write them.
func restoreSpelling(changes []ValueChange, old, new *configs.Config) {
	for i := range changes {
		v := &changes[i]
		if resource, ok := quantityOf(v.Name); ok {
			v.Before, v.After = rewriteQuantity(old, resource, v.Before), rewriteQuantity(new, resource, v.After)
		}
	}
}

// rewriteQuantity reformats an output of resources.FormatQuantity as the document writes the quantity.
func rewriteQuantity(c *configs.Config, resource, text string) string {
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
		resource, ok = strings.CutPrefix(name, key)
		if ok {
			return strings.TrimSuffix(resource, " of its own"), true
		}
	}
	return "", false
}
