package bench

import (
	"os"
	"strconv"

	"golang.org/x/sys/unix"
)

// setIdlePriority lets this process run only when no other wants a processor: attackers and readers
// are on other machines, so what they do themselves must not take time from the server that is
// measured.
func setIdlePriority() error {
	return setPolicy(unix.SchedAttr{Policy: unix.SCHED_IDLE})
}

// setHighPriority lets this process, and those that it starts, run before all others as far as it is
// allowed to. Otherwise the system gives even the least urgent threads a share, in slices of some
// milliseconds: those of a reader that is here only because there is no other machine.
func setHighPriority() { _ = setPolicy(unix.SchedAttr{Policy: unix.SCHED_NORMAL, Nice: minNice}) }

const minNice = -20

// setRealtimePriority lets this process run before what it has started, too, as far as it is allowed to:
// a client that uses next to no time must not wait for the server to leave it a processor.
func setRealtimePriority() { _ = setPolicy(unix.SchedAttr{Policy: unix.SCHED_RR, Priority: 1}) }

// setPolicy gives all threads a policy. It is one of each thread, and a thread that is created has
// that of its creator: it is given until no other thread has appeared meanwhile.
func setPolicy(a unix.SchedAttr) error {
	a.Size = unix.SizeofSchedAttr
	done := map[int]bool{}
	for found := true; found; {
		found = false
		threads, err := os.ReadDir("/proc/self/task")
		if err != nil {
			return err
		}
		for _, t := range threads {
			id, err := strconv.Atoi(t.Name())
			if err != nil || done[id] {
				continue
			}
			if err := unix.SchedSetAttr(id, &a, 0); err != nil && err != unix.ESRCH {
				return err
			}
			done[id], found = true, true
		}
	}
	return nil
}
