package loop

import (
	"time"

	"github.com/canopy-scheduler/canopy/pkg/objects"
	"github.com/canopy-scheduler/canopy/pkg/scheduler"
)

// Recorder records all that a Core is called with, and what it answers, so that its decisions can be made again (REC-2,
// ADR 79). It must not block, must not change what it gets, and must not keep effects. The goroutine of the loop calls
// it.
type Recorder interface {
	// Oracle is an Oracle for the Core that answers what o answers; nil: there is none. The next call is Begin, or Command
	// with ResetPartition.
	Oracle(o *objects.Oracle) *objects.Oracle
	// Begin is called once, before the first step.
	Begin()

	// Command is called before a command is applied, Schedule before decisions are made, and Effects after either.
	Command(now time.Time, cmd scheduler.Command)
	Schedule(now time.Time, budget int)
	Effects(effects []scheduler.Effect, more bool)

	// Close ends the recording, when the loop ends or the Core has panicked. It may wait for a disk, for a bounded time.
	Close()
}

// recordedOracle is an Oracle whose answers are recorded; nil: there is none.
func (l *Loop) recordedOracle(o *objects.Oracle) *objects.Oracle {
	if l.recorder == nil {
		return o
	}
	return l.recorder.Oracle(o)
}
