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

// Bounds of names, in bytes (RMI-7, PLC-21). Names are repeated in answers, REST and logs.
const (
	maxID        = 1 << 10
	maxQueueName = 8 << 10 // a whole path
)

// checkID checks a name that must not be empty (APP-17, ASK-18, NOD-5).
func checkID(what, id string) error {
	if id == "" {
		return fmt.Errorf("%s is empty", what)
	}
	return checkName(what, id, maxID)
}

// checkName checks a name that may be empty (ASK-18, PLC-21).
func checkName(what, name string, longest int) error {
	switch {
	case len(name) > longest:
		return tooLong(what, name, len(name), longest)
	case !utf8.ValidString(name):
		return fmt.Errorf("%s is not valid UTF-8: %q", what, name)
	}
	return nil
}

// tooLong is the error for a name of length bytes, of which start is enough to quote.
func tooLong(what, start string, length, longest int) error {
	return fmt.Errorf("%s has %d bytes, at most %d are allowed: %q", what, length, longest, truncate(start))
}

// truncate shortens a name that is quoted in a text.
func truncate(name string) string {
	const longest = 64
	if len(name) <= longest {
		return name
	}
	return name[:longest] + ellipsis
}

// amountsFromProto reads a resource (ASK-14, RMI-50). A missing quantity is zero.
func amountsFromProto(r *si.Resource) (resources.Amounts, error) {
	m := make(map[string]resources.Quantity, len(r.GetResources()))
	for name, q := range r.GetResources() {
		m[name] = resources.Quantity(q.GetValue())
	}
	return amountsOf(m)
}

// amountsOf checks the number and the names of resources (ASK-16, NOD-5). Negative quantities are
// checked by the core.
func amountsOf(m map[string]resources.Quantity) (resources.Amounts, error) {
	if len(m) > resources.MaxNames {
		return resources.Amounts{}, fmt.Errorf("more than %d different resource names", resources.MaxNames)
	}
	for _, name := range slices.Sorted(maps.Keys(m)) { // sorted, so that the error is deterministic
		if err := checkID("resource name", name); err != nil {
			return resources.Amounts{}, err
		}
	}
	return resources.FromMap(m), nil
}

// cloneIfShared returns a map that the RM does not change any more (RMI-64).
func (s *session) cloneIfShared(m map[string]string) map[string]string {
	if s.sharesMessages {
		return maps.Clone(m)
	}
	return m
}

// sanitizedID makes a refused ID fit for an answer: the RM can match the answer only by its own ID
// (APP-17, RMI-35).
func sanitizedID(id string) string {
	if len(id) > maxID {
		id = id[:maxID]
	}
	return strings.ToValidUTF8(id, "?")
}
