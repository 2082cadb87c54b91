package placement

import (
	"fmt"
	"strings"
)

// tagName returns the value of a tag of the application (PLC-19).
func (r *Rule) tagName(s Submission) (name string, qualified bool, reason string) {
	name = findTag(s.Tags, r.Value)
	if name == "" {
		return "", false, fmt.Sprintf("the application has no tag %s", r.Value)
	}
	return name, isQualified(name), ""
}

// findTag returns the value of a tag, whose name matches in any case. If several match, the first by name counts.
func findTag(tags map[string]string, name string) string {
	found := ""
	for key := range tags {
		if strings.EqualFold(key, name) && (found == "" || key < found) {
			found = key
		}
	}
	return tags[found]
}
