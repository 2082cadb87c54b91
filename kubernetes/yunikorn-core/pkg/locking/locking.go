// Package locking has the locks of the core's interface and sets up their deadlock detection for the whole process, the
// shim included: the detection of github.com/sasha-s/go-deadlock is on by default, and ends the process.
//
// The package owns the environment variables DEADLOCK_*. It leaves the locks of the scheduler itself alone: Canopy has
// one goroutine for each partition, and its locks are those of the standard library.
//
// Invariant: after IsTrackingEnabled has returned once, the settings of the detection do not change any more.
package locking

import (
	"os"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/sasha-s/go-deadlock"
)

// The environment variables of the detection.
const (
	// true: locks are watched; otherwise they cost what those of sync do
	EnvDeadlockDetectionEnabled = "DEADLOCK_DETECTION_ENABLED"
	EnvDeadlockTimeoutSeconds   = "DEADLOCK_TIMEOUT_SECONDS"    // how long a lock may be waited for; default 60
	EnvExitOnDeadlock           = "DEADLOCK_EXIT"               // true: a deadlock ends the process
	EnvDisableLockOrder         = "DEADLOCK_DISABLE_LOCK_ORDER" // true: only the time of waiting is watched
)

const defaultTimeoutSeconds = 60

// exitStatus is the status of a process that ends at a deadlock.
const exitStatus = 1

// Mutex is a mutual exclusion lock that can be watched for deadlocks.
type Mutex struct{ deadlock.Mutex }

// RWMutex is a lock for readers and writers that can be watched for deadlocks.
type RWMutex struct{ deadlock.RWMutex }

// detection has the environment's settings of the detection.
type detection struct {
	enabled, exit, noLockOrder bool
	timeoutSeconds             int
}

var detected atomic.Bool

// configured sets up the detection at its first call.
var configured = sync.OnceValue(func() detection {
	d := detectionFrom(os.Getenv)
	d.apply()
	return d
})

// detectionFrom reads the settings. A malformed value counts as none.
func detectionFrom(getenv func(string) string) detection {
	on := func(name string) bool {
		value, err := strconv.ParseBool(getenv(name))
		return err == nil && value
	}
	d := detection{
		enabled: on(EnvDeadlockDetectionEnabled), exit: on(EnvExitOnDeadlock), noLockOrder: on(EnvDisableLockOrder),
		timeoutSeconds: defaultTimeoutSeconds,
	}
	if seconds, err := strconv.Atoi(getenv(EnvDeadlockTimeoutSeconds)); err == nil && seconds > 0 {
		d.timeoutSeconds = seconds
	}
	return d
}

// apply puts the settings in force for all locks of the process.
func (d detection) apply() {
	deadlock.Opts.Disable = !d.enabled
	deadlock.Opts.DisableLockOrderDetection = d.noLockOrder
	deadlock.Opts.DeadlockTimeout = time.Duration(d.timeoutSeconds) * time.Second
	deadlock.Opts.OnPotentialDeadlock = func() {
		detected.Store(true)
		if d.exit {
			os.Exit(exitStatus)
		}
	}
}

// IsTrackingEnabled reports whether locks are watched. The first call sets up the detection: the shim makes it before
// it uses a lock.
func IsTrackingEnabled() bool { return configured().enabled }

// GetDeadlockTimeoutSeconds returns the time for which a lock may be awaited.
func GetDeadlockTimeoutSeconds() int { return configured().timeoutSeconds }

// IsDeadlockDetected reports whether a deadlock was found since the process started.
func IsDeadlockDetected() bool { return detected.Load() }
