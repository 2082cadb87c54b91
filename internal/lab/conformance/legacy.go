package conformance

import (
	"encoding/json"
	"fmt"

	"github.com/apache/yunikorn-scheduler-interface/lib/go/si"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
)

// The fields of the scheduler interface 1.5 that 1.9 has reserved: the asks of an AllocationRequest, and the fields of
// an ask.
const (
	fieldAsks           = 1
	fieldAllocationKey  = 1
	fieldApplicationID  = 2
	fieldResourceAsk    = 4
	fieldMaxAllocations = 5
)

// legacyAsk is an ask of the interface 1.5.
type legacyAsk struct {
	AllocationKey, ApplicationID string
	Vcore                        int64
}

// sendLegacyAsks sends asks, given as a JSON list, in the form of the interface 1.5.
func (c *client) sendLegacyAsks(text string) error {
	var asks []legacyAsk
	if err := json.Unmarshal([]byte(text), &asks); err != nil {
		return err
	}
	var raw []byte
	for _, x := range asks {
		resource, err := proto.Marshal(&si.Resource{Resources: map[string]*si.Quantity{"vcore": {Value: x.Vcore}}})
		if err != nil {
			return err
		}
		var ask []byte
		ask = protowire.AppendString(protowire.AppendTag(ask, fieldAllocationKey, protowire.BytesType), x.AllocationKey)
		ask = protowire.AppendString(protowire.AppendTag(ask, fieldApplicationID, protowire.BytesType), x.ApplicationID)
		ask = protowire.AppendBytes(protowire.AppendTag(ask, fieldResourceAsk, protowire.BytesType), resource)
		ask = protowire.AppendVarint(protowire.AppendTag(ask, fieldMaxAllocations, protowire.VarintType), 1)
		raw = protowire.AppendBytes(protowire.AppendTag(raw, fieldAsks, protowire.BytesType), ask)
	}
	m := &si.AllocationRequest{}
	m.ProtoReflect().SetUnknown(raw)
	if err := c.streams[updateAllocation].raw.SendMsg(m); err != nil {
		return fmt.Errorf("asks of the interface 1.5: %w", err)
	}
	return nil
}
