package measure

import (
	"os"
	"strconv"

	"golang.org/x/sys/unix"
)

// SetIdlePriority runs this process only when no other process needs a processor: attackers and readers
// stand for other machines, so their own work must not take time from the measured server.
func SetIdlePriority() error {
	return setPolicy(unix.SchedAttr{Policy: unix.SCHED_IDLE})
}

// SetHighPriority runs this process, and those that it starts, before all others, if that is permitted.
// Otherwise even threads of the lowest priority get slices of some milliseconds.
func SetHighPriority() { _ = setPolicy(unix.SchedAttr{Policy: unix.SCHED_NORMAL, Nice: minNice}) }

const minNice = -20

// SetRealtimePriority runs this process before those that it has started, too, if that is permitted: a
// client with little work must not wait for the server.
func SetRealtimePriority() { _ = setPolicy(unix.SchedAttr{Policy: unix.SCHED_RR, Priority: 1}) }

// setPolicy sets the policy of all threads. New threads inherit it from their creator, so it repeats
// until no new thread has appeared.
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
