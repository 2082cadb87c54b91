package operators_test

import (
	"errors"
	"testing"

	"gotest.tools/v3/assert"

	"github.com/canopy-scheduler/canopy/internal/server/operators"
	"github.com/canopy-scheduler/canopy/pkg/objects"
	"github.com/canopy-scheduler/canopy/pkg/scheduler"
)

// A write that failed may have taken effect: the next one is made also if it would change nothing otherwise.
func TestKept_WritesAgainAfterAnError(t *testing.T) {
	var writes []string
	var fail error
	k, err := operators.NewKept("memory", nil, func(text []byte) error {
		writes = append(writes, string(text))
		return fail
	})
	assert.NilError(t, err)
	stopped := scheduler.OperatorState{Stopped: []objects.QueuePath{"root.a"}}
	held := scheduler.OperatorState{Held: []objects.AppID{"app"}}

	assert.NilError(t, k.Store("default", held))
	assert.NilError(t, k.Store("default", held))
	assert.Equal(t, len(writes), 1, "nothing differs")
	fail = errors.New("no space")
	assert.ErrorIs(t, k.Store("default", stopped), fail)
	assert.DeepEqual(t, k.Applications(), map[string][]objects.AppID{"default": {"app"}})
	assert.ErrorIs(t, k.Store("default", held), fail)
	fail = nil
	assert.NilError(t, k.Store("default", held))
	assert.Equal(t, len(writes), 4)
	assert.Equal(t, writes[3], writes[0])
	assert.NilError(t, k.Store("default", held))
	assert.Equal(t, len(writes), 4)

	again, err := operators.NewKept("memory", []byte(writes[3]), nil)
	assert.NilError(t, err)
	assert.DeepEqual(t, again.First("default"), []scheduler.Command{scheduler.RestoreOperators{State: held}})
	assert.Equal(t, len(again.First("other")), 0)
}
