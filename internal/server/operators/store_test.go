package operators_test

import (
	"errors"
	"testing"
	"time"

	"gotest.tools/v3/assert"

	"github.com/canopy-scheduler/canopy/internal/server/kept"
	"github.com/canopy-scheduler/canopy/internal/server/operators"
	"github.com/canopy-scheduler/canopy/pkg/objects"
	"github.com/canopy-scheduler/canopy/pkg/scheduler"
)

// The names in the text do not change: a file of an earlier version is read, and written as it is.
func TestKept_TextOfAnEarlierVersion(t *testing.T) {
	const text = `{
  "format": "canopy operators 1",
  "partitions": {
    "default": {
      "onHold": [
        "app"
      ],
      "stopped": [
        "root.a"
      ],
      "cordoned": [
        "n1",
        "n2"
      ],
      "drainingNodes": [
        "n2"
      ],
      "draining": [
        "root.b"
      ],
      "moved": [
        {
          "application": "m",
          "queue": "root.c",
          "from": "root.d",
          "at": "2026-01-02T15:04:05.000000006Z",
          "by": "ann"
        }
      ],
      "admitted": [
        "b"
      ]
    }
  }
}
`
	var written []byte
	k, err := operators.NewStore(kept.Text{Content: []byte(text), Write: func(text []byte) error {
		written = text
		return nil
	}})
	assert.NilError(t, err)
	want := scheduler.OperatorState{
		Held: []objects.AppID{"app"}, Stopped: []objects.QueuePath{"root.a"}, Cordoned: []objects.NodeID{"n1", "n2"},
		Draining: []objects.NodeID{"n2"}, Drained: []objects.QueuePath{"root.b"}, Admitted: []objects.AppID{"b"},
		Moved: []scheduler.MovedApplication{{App: "m", Queue: "root.c", Moved: objects.Moved{
			From: "root.d", At: time.Date(2026, 1, 2, 15, 4, 5, 6, time.UTC), By: "ann"}}},
	}
	assert.DeepEqual(t, k.First("default"), []scheduler.Command{scheduler.RestoreOperators{State: want}})
	assert.DeepEqual(t, k.Applications(), map[string][]objects.AppID{"default": {"app", "b", "m"}})
	assert.NilError(t, k.Store("default", want))
	assert.Equal(t, string(written), "", "nothing differs")
	assert.NilError(t, k.Store("other", scheduler.OperatorState{}))
	assert.Equal(t, string(written), "", "nothing is switched")
	assert.NilError(t, k.Store("other", scheduler.OperatorState{Held: []objects.AppID{"x"}}))
	assert.NilError(t, k.Store("other", scheduler.OperatorState{}))
	assert.Equal(t, string(written), text)
}

// A write that failed may have taken effect: the next one is made also if it would change nothing otherwise.
func TestKept_WritesAgainAfterAnError(t *testing.T) {
	var writes []string
	var fail error
	k, err := operators.NewStore(kept.Text{Write: func(text []byte) error {
		writes = append(writes, string(text))
		return fail
	}})
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

	again, err := operators.NewStore(kept.Text{Content: []byte(writes[3])})
	assert.NilError(t, err)
	assert.DeepEqual(t, again.First("default"), []scheduler.Command{scheduler.RestoreOperators{State: held}})
	assert.Equal(t, len(again.First("other")), 0)
}
