//go:build !linux

package bench

func lessUrgent() error { return nil }

func moreUrgent() {}

func mostUrgently() {}
