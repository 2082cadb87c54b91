package priorities

import (
	"testing"

	"gotest.tools/v3/assert"
)

func TestQoSOf_ReadsTag(t *testing.T) {
	assert.Assert(t, BestEffort < Burstable && Burstable < Guaranteed, "S2-21")
	for text, want := range map[string]QoS{
		"BestEffort": BestEffort, "Burstable": Burstable, "Guaranteed": Guaranteed,
		"": Burstable, "guaranteed": Burstable, "Best Effort": Burstable,
	} {
		assert.Equal(t, QoSOf(map[string]string{"kubernetes.io/meta/qosClass": text}), want, text)
	}
	assert.Equal(t, QoSOf(nil), Burstable)
}
