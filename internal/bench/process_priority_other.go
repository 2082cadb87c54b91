//go:build !linux

package bench

func setIdlePriority() error { return nil }

func setHighPriority() {}

func setRealtimePriority() {}
