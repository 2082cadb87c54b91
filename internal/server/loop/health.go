package loop

import "time"

// Audit is the result of an audit of the accounting of a partition.
type Audit struct {
	Finished time.Time     // zero: no audit has finished yet
	Took     time.Duration // from its first step to its last, with the work in between
	Checked  int           // objects: nodes, queues, applications, asks and allocations
	Err      error         // inconsistencies of the accounting; nil: none
}

// Health is the state of a Loop. It is read from memory, whatever the size of the partition and
// whatever the Loop is doing.
type Health struct {
	Audit    Audit     // the last that has finished
	Progress time.Time // begin of the last step that the Loop has finished; zero: none yet
	AtRest   bool      // no step is running: it waits for commands, deadlines or the Sink
	Idle     bool      // AtRest, and nothing is left to do: no command, decision, reader or audit
	Waiting  int       // commands in the mailbox that came after Progress
	Ended    bool      // the Loop has ended, or is about to
}

// Health returns the state of the Loop (OBS-47). It does not block.
func (l *Loop) Health() Health {
	var h Health
	if a := l.lastAudit.Load(); a != nil {
		h.Audit = *a
	}
	if at := l.progress.Load(); at != 0 {
		h.Progress = time.Unix(0, at).UTC()
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	h.Waiting, h.Ended = l.queuedCommands, l.closed
	rest := l.rest.Load() // after mu is locked: it is restNone before the mailbox is emptied
	h.AtRest, h.Idle = rest != restNone, rest == restDone && len(l.mailbox) == 0
	return h
}

// Values of Loop.rest.
const (
	restNone int32 = iota // a step runs
	// it waits before it decides: for the Sink, the end of a recovery, or the rate of placements
	restUndecided
	restDone // it waits for commands or deadlines
)

func restOf(waits, needsScheduling bool) int32 {
	switch {
	case !waits:
		return restNone
	case needsScheduling:
		return restUndecided
	default:
		return restDone
	}
}

// noteProgress records that the Loop has finished a step since it last read the clock.
func (l *Loop) noteProgress() {
	if l.lastTime.IsZero() {
		l.now()
	}
	l.progress.Store(l.lastTime.UnixNano())
	l.dropSnapshots()
}
