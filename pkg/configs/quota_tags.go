package configs

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/canopy-scheduler/canopy/pkg/resources"
)

// The application tags that set max, guarantee and max applications of a dynamic leaf (QUO-21). Their
// names are matched in any case.
const (
	TagMax             = "namespace.resourcequota"
	TagGuaranteed      = "namespace.resourceguaranteed"
	TagMaxApplications = "namespace.resourcemaxapps"
)

// QuotaTags are the quotas that the tags of an application set on its dynamic leaf. A quota
// without a tag is nil, or 0.
type QuotaTags struct {
	Max             *resources.Limit
	Guaranteed      *resources.Guarantee
	MaxApplications uint64
}

// Names returns the names of the tags that are set.
func (q QuotaTags) Names() (names []string) {
	if q.Max != nil {
		names = append(names, TagMax)
	}
	if q.Guaranteed != nil {
		names = append(names, TagGuaranteed)
	}
	if q.MaxApplications != 0 {
		names = append(names, TagMaxApplications)
	}
	return names
}

// The value of a tag is a resource of the scheduler interface in JSON, {"resources":{"memory":
// {"value":1}}}. These bounds are far above real tags.
const (
	maxQuotaTagBytes      = 64 << 10
	maxResourceNameLength = 1 << 10
)

// ReadQuotaTags reads the tags of an application. A malformed tag is ignored and reported in
// problems; the other tags count.
func ReadQuotaTags(tags map[string]string) (q QuotaTags, problems []error) {
	if len(tags) == 0 {
		return q, nil
	}
	read := func(name string, parse func(text string) error) {
		text, ok := findTag(tags, name)
		if !ok {
			return
		}
		if err := parse(text); err != nil {
			problems = append(problems, fmt.Errorf("tag %s: %w", name, err))
		}
	}
	read(TagMax, func(text string) error {
		m, err := readResource(text)
		if err == nil {
			max := resources.LimitFromMap(m)
			q.Max = &max
		}
		return err
	})
	read(TagGuaranteed, func(text string) error {
		m, err := readResource(text)
		if err == nil {
			guaranteed := resources.GuaranteeFromMap(m)
			q.Guaranteed = &guaranteed
		}
		return err
	})
	read(TagMaxApplications, func(text string) (err error) {
		if q.MaxApplications, err = strconv.ParseUint(strings.TrimSpace(text), 10, 64); err != nil {
			return fmt.Errorf("%q is not a number of applications", clipped(text))
		}
		return nil
	})
	return q, problems
}

// findTag finds a tag by its name in any case. Of several, the first in string order counts.
func findTag(tags map[string]string, name string) (text string, ok bool) {
	found := ""
	for key := range tags {
		if strings.EqualFold(key, name) && (!ok || key < found) {
			found, ok = key, true
		}
	}
	return tags[found], ok
}

// readResource reads quantities of which none is negative and at least one is not zero.
func readResource(text string) (map[string]resources.Quantity, error) {
	if len(text) > maxQuotaTagBytes {
		return nil, fmt.Errorf("it has %d bytes, at most %d are allowed", len(text), maxQuotaTagBytes)
	}
	var sent struct {
		Resources map[string]struct{ Value json.Number }
	}
	if err := json.Unmarshal([]byte(text), &sent); err != nil {
		return nil, fmt.Errorf("%q is not a resource in JSON: %w", clipped(text), err)
	}
	m, some := map[string]resources.Quantity{}, false
	for _, name := range slices.Sorted(maps.Keys(sent.Resources)) { // sorted: the same problem every time
		value := sent.Resources[name].Value
		if value == "" {
			value = "0" // the interface leaves out a zero
		}
		n, err := value.Int64()
		switch {
		case name == "" || len(name) > maxResourceNameLength:
			return nil, fmt.Errorf("a resource name has %d bytes, 1 to %d are allowed", len(name), maxResourceNameLength)
		case err != nil:
			return nil, fmt.Errorf("%s of resource %s is not a whole number of 64 bits", clipped(value.String()), name)
		case n < 0:
			return nil, fmt.Errorf("%d of resource %s is negative", n, name)
		}
		m[name] = resources.Quantity(n)
		some = some || n > 0
	}
	switch {
	case len(m) > resources.MaxNames:
		return nil, fmt.Errorf("it names %d resources, at most %d are allowed", len(m), resources.MaxNames)
	case !some:
		return nil, errors.New("nothing in it is above zero")
	}
	return m, nil
}

// clipped shortens a text to 64 bytes, for messages.
func clipped(text string) string {
	const longest = 64
	if len(text) <= longest {
		return text
	}
	return strings.ToValidUTF8(text[:longest], "") + "..."
}
