package objects

import (
	"encoding/json"
	"fmt"
	"maps"

	"github.com/canopy-scheduler/canopy/pkg/resources"
)

// UsageTag is the tag of an allocation in which the RM may say what it uses now: a JSON object
// of quantities as queues.yaml writes them, such as {"memory":"120Mi","vcore":"500m"}. It is
// heard whenever the allocation is reported again (priority.md S3-63).
const UsageTag = "canopy.scheduler/usage"

// ReadUsage is what tags say is used. ok is false when they say nothing.
func ReadUsage(tags map[string]string) (used resources.Amounts, ok bool, err error) {
	text := tags[UsageTag]
	if text == "" {
		return used, false, nil
	}
	var written map[string]string
	if err := json.Unmarshal([]byte(text), &written); err != nil {
		return used, false, fmt.Errorf("tag %s: %w", UsageTag, err)
	}
	m := map[string]resources.Quantity{}
	for name, text := range written {
		n, err := resources.Parse(name, text)
		if err != nil {
			return used, false, fmt.Errorf("tag %s: %s: %w", UsageTag, name, err)
		}
		m[name] = n
	}
	return resources.FromMap(m), true, nil
}

// NoteUsage keeps what tags say x uses, instead of what was said before. Tags without the
// usage change nothing.
func (p *Partition) NoteUsage(x *Allocation, tags map[string]string) error {
	text := tags[UsageTag]
	if text == "" || text == x.ask.Tags[UsageTag] {
		return nil
	}
	if _, _, err := ReadUsage(tags); err != nil {
		return err
	}
	ask := *x.ask
	ask.Tags = maps.Clone(ask.Tags)
	if ask.Tags == nil {
		ask.Tags = map[string]string{}
	}
	ask.Tags[UsageTag] = text
	x.ask = &ask
	return nil
}
