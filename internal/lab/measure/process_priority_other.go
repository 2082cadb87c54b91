//go:build !linux

package measure

// SetIdlePriority does nothing: it is for Linux.
func SetIdlePriority() error { return nil }

// SetHighPriority does nothing: it is for Linux.
func SetHighPriority() {}

// SetRealtimePriority does nothing: it is for Linux.
func SetRealtimePriority() {}
