package locking

import (
	"testing"
	"time"

	"github.com/sasha-s/go-deadlock"
	"gotest.tools/v3/assert"
)

func TestDetection_Settings(t *testing.T) {
	cases := []struct {
		name string
		env  map[string]string
		want detection
	}{
		{"nothing is set: locks are not watched", nil, detection{timeoutSeconds: 60}},
		{"all is set", map[string]string{
			EnvDeadlockDetectionEnabled: "true", EnvDeadlockTimeoutSeconds: "10", EnvExitOnDeadlock: "true",
			EnvDisableLockOrder: "1",
		}, detection{enabled: true, exit: true, noLockOrder: true, timeoutSeconds: 10}},
		{"a malformed value counts as none", map[string]string{
			EnvDeadlockDetectionEnabled: "maybe", EnvDeadlockTimeoutSeconds: "-3",
		}, detection{timeoutSeconds: 60}},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			assert.Equal(t, detectionFrom(func(name string) string { return c.env[name] }), c.want)
		})
	}
}

// Without the detection a lock is only a lock, and nothing is reported.
func TestIsTrackingEnabled_SetsUpTheDetection(t *testing.T) {
	assert.Equal(t, IsTrackingEnabled(), configured().enabled)
	assert.Equal(t, deadlock.Opts.Disable, !IsTrackingEnabled())
	assert.Equal(t, deadlock.Opts.DeadlockTimeout, time.Duration(GetDeadlockTimeoutSeconds())*time.Second)
	var m RWMutex
	m.RLock()
	m.RUnlock()
	m.Lock()
	m.Unlock()
	assert.Assert(t, !IsDeadlockDetected())
}

func TestDetection_CallbackNotesADeadlock(t *testing.T) {
	defer configured().apply()
	defer detected.Store(false)
	detection{enabled: true, timeoutSeconds: 1}.apply()
	deadlock.Opts.OnPotentialDeadlock()
	assert.Assert(t, IsDeadlockDetected())
}
