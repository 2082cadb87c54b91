package rmproxy

import (
	"testing"

	"github.com/apache/yunikorn-scheduler-interface/lib/go/common"
	"gotest.tools/v3/assert"

	"github.com/canopy-scheduler/canopy/pkg/budgets"
	"github.com/canopy-scheduler/canopy/pkg/priorities"
)

// The core has its own constants for the tags of the interface.
func TestTags_MatchTheInterface(t *testing.T) {
	assert.Equal(t, budgets.LabelTag, common.DomainK8s+common.GroupLabel)
	assert.Equal(t, budgets.NamespaceTag, common.DomainK8s+common.GroupMeta+common.KeyNamespace)
	assert.Equal(t, priorities.QoSTag, common.DomainK8s+common.GroupMeta+"qosClass")
}
