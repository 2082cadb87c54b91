package recording_test

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"gotest.tools/v3/assert"

	"github.com/canopy-scheduler/canopy/internal/server/objectgraph"
	"github.com/canopy-scheduler/canopy/internal/server/recording"
	"github.com/canopy-scheduler/canopy/internal/testing/randomrun"
	"github.com/canopy-scheduler/canopy/internal/testing/testscale"
	"github.com/canopy-scheduler/canopy/pkg/scheduler"
)

// TestRandomRuns_StateIsEqual writes and reads a Core again and again in the course of a run: it makes the same effects
// as one that is left alone.
func TestRandomRuns_StateIsEqual(t *testing.T) {
	first, copies := rand.Uint64N(1<<40), 0
	for i := range testscale.Runs(300) {
		seed := first + uint64(i)
		ok := t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) {
			run, g := randomrun.RandomRun(seed, 300), rand.New(rand.NewPCG(seed, 3))
			oracle := run.Oracle.Oracle()
			copied, other := scheduler.NewWith(run.Partition, oracle, coreOptions(run)),
				scheduler.NewWith(run.Partition, oracle, coreOptions(run))
			var ofCopied, ofOther recording.Digester
			at := randomrun.StartTime()
			for i, s := range run.Steps {
				at = at.Add(s.After)
				effects, want := stepOf(copied, at, s), stepOf(other, at, s)
				assert.Equal(t, ofCopied.Digest(effects, nil), ofOther.Digest(want, nil), "step %d: %v, and not %v", i, effects,
					want)
				switch g.IntN(20) {
				case 0:
					data, err := recording.EncodeState(copied, oracle)
					assert.NilError(t, err, "step %d", i)
					copied, err = recording.DecodeState(data, oracle)
					assert.NilError(t, err, "step %d", i)
					assert.NilError(t, copied.Check(), "step %d", i)
					copies++
				case 1:
					copied.Snapshot(at) // changes are recorded for the next one
				}
			}
		})
		if !ok {
			return
		}
	}
	assert.Assert(t, copies > 100, "only %d copies", copies)
}

// TestState_IsReadWithTheSameTypes: what another version of Canopy has written, and what is damaged, is an error.
func TestState_IsReadWithTheSameTypes(t *testing.T) {
	data, err := recording.EncodeState(scheduler.New(randomrun.RandomRun(1, 1).Partition, nil), nil)
	assert.NilError(t, err)
	assert.Assert(t, recording.UsableState(data))
	data[3]++
	assert.Assert(t, !recording.UsableState(data))
	_, err = recording.DecodeState(data, nil)
	assert.ErrorIs(t, err, objectgraph.ErrOtherTypes)
	data[3]--
	_, err = recording.DecodeState(data[:len(data)-1], nil)
	assert.ErrorIs(t, err, objectgraph.ErrMalformed)
}

// TestState_WithoutAnObjectIsMalformed reads a state in which all types are right, and that no Core has.
func TestState_WithoutAnObjectIsMalformed(t *testing.T) {
	data, err := recording.EncodeState(&scheduler.Core{}, nil)
	assert.NilError(t, err)
	_, err = recording.DecodeState(data, nil)
	assert.ErrorIs(t, err, objectgraph.ErrMalformed)
}

func stepOf(c *scheduler.Core, at time.Time, s randomrun.Step) []scheduler.Effect {
	if s.Command != nil {
		cmd, err := recording.DecodeCommand(recording.EncodeCommand(s.Command)) // a Core may change what it gets
		if err != nil {
			panic(err)
		}
		return c.Step(at, cmd)
	}
	out, _ := c.Schedule(at, s.Budget)
	return out
}
