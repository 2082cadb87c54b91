package objects

import (
	"encoding/json"
	"fmt"
	"maps"

	"github.com/canopy-scheduler/canopy/pkg/resources"
)

// UsageTag is the tag with what an allocation uses now: a JSON object of quantities as in
// queues.yaml, such as {"memory":"120Mi","vcore":"500m"}. It is read whenever the allocation is
// reported (ASK-28).
const UsageTag = "canopy.scheduler/usage"

// ReadUsage is the usage in tags, of the resources that it names; nil: there is none.
func ReadUsage(tags map[string]string) (map[string]resources.Quantity, error) {
	text := tags[UsageTag]
	if text == "" {
		return nil, nil
	}
	var written map[string]string
	if err := json.Unmarshal([]byte(text), &written); err != nil {
		return nil, fmt.Errorf("tag %s: %w", UsageTag, err)
	}
	used := map[string]resources.Quantity{}
	for name, text := range written {
		n, err := resources.Parse(name, text)
		if err != nil {
			return nil, fmt.Errorf("tag %s: %s: %w", UsageTag, name, err)
		}
		used[name] = n
	}
	return used, nil
}

// NoteUsage stores the usage in tags in the ask of x. Tags without usage change nothing.
func (p *Partition) NoteUsage(x *Allocation, tags map[string]string) error {
	text := tags[UsageTag]
	if text == "" || text == x.ask.Tags()[UsageTag] {
		return nil
	}
	if _, err := ReadUsage(tags); err != nil {
		return err
	}
	all := maps.Clone(x.ask.Tags())
	if all == nil {
		all = map[string]string{}
	}
	all[UsageTag] = text
	x.ask = x.ask.WithTags(all)
	p.journal.post(Change{Kind: AllocationTagged, Ask: x})
	return nil
}
