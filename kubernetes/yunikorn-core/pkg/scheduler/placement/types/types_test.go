package types_test

import (
	"fmt"
	"testing"

	"github.com/canopy-scheduler/canopy/pkg/canopy"
	"gotest.tools/v3/assert"

	"github.com/apache/yunikorn-core/pkg/scheduler/placement/types"
)

func TestNames_AreAcceptedInAConfiguration(t *testing.T) {
	for _, name := range []string{types.Fixed, types.Provided, types.User, types.Tag} {
		text := fmt.Sprintf("partitions: [{placementrules: [{name: %s, value: a}], queues: [{name: root, queues: [{name: "+
			"a}]}]}]", name)
		_, err := canopy.CheckConfig("", text, canopy.ConfigLimits{})
		assert.NilError(t, err)
	}
	_, err := canopy.CheckConfig("", "partitions: [{placementrules: [{name: other}], queues: [{name: root}]}]",
		canopy.ConfigLimits{})
	assert.ErrorContains(t, err, "other")
}
