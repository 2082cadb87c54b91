package randomrun

import (
	"slices"
	"time"

	"github.com/canopy-scheduler/canopy/pkg/configs"
	"github.com/canopy-scheduler/canopy/pkg/lifecycle"
	"github.com/canopy-scheduler/canopy/pkg/scheduler"
)

// Run is the configuration and the steps of a random run.
type Run struct {
	Seed      uint64
	Partition configs.Partition
	Oracle    OracleKind
	Lifetimes lifecycle.Lifetimes
	Shapes    int // shapes that the second core distinguishes

	MaxNames, MaxAskNames int // bounds of resource names, and of those only asks have; 0: the default
	MaxRefusals           int // bound of rejected asks per group; 0: the default
	MaxCandidates         int // bound of compared nodes per preemption; above 0
	Steps                 []Step
}

// Step is a step of a run: a command, or a call of Schedule.
type Step struct {
	After   time.Duration     // time since the step before
	Command scheduler.Command // nil: Schedule
	Budget  int
}

// StartTime returns the start of all runs.
func StartTime() time.Time { return time.Unix(1_700_000_000, 0).UTC() }

// Without returns the run without some steps, but with their time.
func (s Run) Without(from, n int) Run {
	to := min(from+n, len(s.Steps))
	kept := slices.Concat(s.Steps[:from], s.Steps[to:])
	for _, b := range s.Steps[from:to] {
		if from < len(kept) {
			kept[from].After += b.After
		}
	}
	s.Steps = kept
	return s
}
