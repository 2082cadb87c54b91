package loop

import "time"

// Audit is what an audit of the books of a partition has found.
type Audit struct {
	Finished time.Time     // zero: none has finished yet
	Took     time.Duration // from its first step to its last; others were served in between
	Checked  int           // objects: nodes, queues, applications, asks and allocations
	Err      error         // what is wrong with the books; nil: they balance
}

// Health is how a Loop does. It is answered from memory, however large the partition is and
// whatever the Loop does at the moment.
type Health struct {
	Audit    Audit     // the last that has finished
	Progress time.Time // when what the Loop last finished began; zero: it has not run yet
	Idle     bool      // it waits for something to happen
	Waiting  int       // commands in the mailbox; they came after Progress
	Ended    bool      // the Loop has ended, or is about to
}

// Health says how the Loop does. It returns at once, whatever the Loop is doing.
func (l *Loop) Health() Health {
	h := Health{Idle: l.idle.Load()}
	if a := l.lastAudit.Load(); a != nil {
		h.Audit = *a
	}
	if at := l.progress.Load(); at != 0 {
		h.Progress = time.Unix(0, at).UTC()
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	h.Waiting, h.Ended = l.queuedCommands, l.closed
	return h
}

// noteProgress notes that the Loop has got somewhere since it last read the clock.
func (l *Loop) noteProgress() {
	if l.lastTime.IsZero() {
		l.now()
	}
	l.progress.Store(l.lastTime.UnixNano())
	l.dropSnapshots()
}
