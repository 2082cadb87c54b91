package rmproxy

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/apache/yunikorn-scheduler-interface/lib/go/si"

	"github.com/canopy-scheduler/canopy/pkg/resources"
)

// The longest names we take. They come back in answers, in REST and in logs.
const (
	maxID        = 1 << 10
	maxQueueName = 8 << 10 // a whole path
)

// checkID reports what is wrong with a name that must be there.
func checkID(what, id string) error {
	if id == "" {
		return fmt.Errorf("%s is empty", what)
	}
	return checkName(what, id, maxID)
}

// checkQueueName reports what is wrong with a name that may be empty.
func checkName(what, name string, longest int) error {
	switch {
	case len(name) > longest:
		return fmt.Errorf("%s has %d bytes, at most %d are allowed: %q", what, len(name), longest, truncate(name))
	case !utf8.ValidString(name):
		return fmt.Errorf("%s is not valid UTF-8: %q", what, name)
	}
	return nil
}

// truncate shortens a name that is quoted in a text.
func truncate(name string) string {
	const longest = 64
	if len(name) <= longest {
		return name
	}
	return name[:longest] + ellipsis
}

// amountsFromProto reads a resource. A missing quantity is zero.
func amountsFromProto(r *si.Resource) (resources.Amounts, error) {
	m := make(map[string]resources.Quantity, len(r.GetResources()))
	for name, q := range r.GetResources() {
		m[name] = resources.Quantity(q.GetValue())
	}
	return amountsOf(m)
}

// amountsOf checks quantities as they were sent. Whether negative ones make sense is
// for the core to say.
func amountsOf(m map[string]resources.Quantity) (resources.Amounts, error) {
	if len(m) > resources.MaxNames {
		return resources.Amounts{}, fmt.Errorf("more than %d different resource names", resources.MaxNames)
	}
	for _, name := range slices.Sorted(maps.Keys(m)) { // sorted: the same problem every time
		if err := checkID("resource name", name); err != nil {
			return resources.Amounts{}, err
		}
	}
	return resources.FromMap(m), nil
}

// cloneIfShared returns a map that nobody changes any more.
func (s *session) cloneIfShared(m map[string]string) map[string]string {
	if s.sharesMessages {
		return maps.Clone(m)
	}
	return m
}

// sanitizedID is a refused name as far as it can be said back: an answer is only of use
// when the RM finds its own name in it.
func sanitizedID(id string) string {
	if len(id) > maxID {
		id = id[:maxID]
	}
	return strings.ToValidUTF8(id, "?")
}
