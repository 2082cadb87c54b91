package main

import (
	"errors"
	"fmt"
	"time"

	"github.com/spf13/pflag"

	"github.com/canopy-scheduler/canopy/pkg/objects"
)

// addLifetimes adds the flags that say how long applications last that do nothing.
func addLifetimes(flags *pflag.FlagSet, lifetimes *objects.Lifetimes) {
	defaults := objects.DefaultLifetimes()
	flags.DurationVar(&lifetimes.Completing, "completing-timeout", defaults.Completing,
		"how long an application may have nothing pending and nothing running before it has completed")
	flags.DurationVar(&lifetimes.Completed, "completed-retention", defaults.Completed,
		"how long an application that has completed is shown")
	flags.DurationVar(&lifetimes.Rejected, "rejected-retention", defaults.Rejected,
		"how long an application that was rejected is shown")
	flags.IntVar(&lifetimes.MaxEnded, "ended-limit", defaults.MaxEnded,
		"how many completed, and how many rejected, applications of a partition are shown at most; the oldest goes first")
}

// checkLifetimes says which lifetimes make no sense.
func checkLifetimes(lifetimes objects.Lifetimes) error {
	var wrong []error
	for _, x := range []struct {
		flag string
		of   time.Duration
	}{
		{"completing-timeout", lifetimes.Completing}, {"completed-retention", lifetimes.Completed}, {"rejected-retention", lifetimes.Rejected},
	} {
		if x.of < 0 {
			wrong = append(wrong, fmt.Errorf("--%s is %s, and must not be negative", x.flag, x.of))
		}
	}
	if lifetimes.MaxEnded < 0 {
		wrong = append(wrong, fmt.Errorf("--ended-limit is %d, and must not be negative", lifetimes.MaxEnded))
	}
	return errors.Join(wrong...)
}
