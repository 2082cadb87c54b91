package resources_test

import (
	"testing"

	"gotest.tools/v3/assert"

	"github.com/apache/yunikorn-core/pkg/common/resources"
)

func TestToProto_HasAllAmounts(t *testing.T) {
	m := resources.NewResourceFromMap(map[string]int64{"vcore": 1500, "pods": 0}).ToProto()
	assert.Equal(t, len(m.Resources), 2)
	assert.Equal(t, m.Resources["vcore"].Value, int64(1500))
	assert.Equal(t, m.Resources["pods"].Value, int64(0))
	var none *resources.Resource
	assert.Equal(t, len(none.ToProto().Resources), 0)
}
