package recording

import (
	"github.com/canopy-scheduler/canopy/pkg/configs"
	"github.com/canopy-scheduler/canopy/pkg/fairness"
	"github.com/canopy-scheduler/canopy/pkg/objects"
	"github.com/canopy-scheduler/canopy/pkg/runtimes"
	"github.com/canopy-scheduler/canopy/pkg/scheduler"
)

// Begin holds the inputs from which the Core of a session was made: a replay begins here.
type Begin struct {
	Canopy    string // version of Canopy that recorded the session; empty: not known
	Options   objects.Options
	Partition configs.Partition
	Oracle    Abilities

	// Restart says that the Core is an older one, of a partition that the first command resets, and has the state below
	// from before. The effects of that command are also about what the partition had before, and are not reproduced.
	Restart      bool
	Operators    scheduler.OperatorState
	Starts       []runtimes.Start // of what ran
	Usage        []fairness.Kept  // over time
	NotListening bool
	Draining     bool // the partition is being removed
}

// Abilities are the questions that the Oracle of a Core answers; 0: there is no Oracle.
type Abilities uint8

// The abilities.
const (
	AnswersFits         Abilities = 1 << iota // Oracle.Fits, which every Oracle has
	AnswersFitsEach                           // Oracle.FitsEach
	AnswersFitsWithout                        // Oracle.FitsWithout
	AnswersFitsWhenFree                       // Oracle.FitsWhenFree
)
