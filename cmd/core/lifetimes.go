package main

import (
	"errors"
	"fmt"
	"time"

	"github.com/spf13/pflag"

	"github.com/canopy-scheduler/canopy/pkg/lifecycle"
)

// addLifetimes adds the flags of the lifetimes of applications without asks and allocations, and of
// ended applications (APP-9, APP-40).
func addLifetimes(flags *pflag.FlagSet, lifetimes *lifecycle.Lifetimes) {
	defaults := lifecycle.DefaultLifetimes()
	flags.DurationVar(&lifetimes.Completing, "completing-timeout", defaults.Completing,
		"time without asks and allocations after which an application has completed")
	flags.DurationVar(&lifetimes.New, "new-timeout", defaults.New,
		"time after which an application that never had an ask has completed; 0: it stays")
	flags.DurationVar(&lifetimes.Completed, "completed-retention", defaults.Completed,
		"how long a completed application is shown")
	flags.DurationVar(&lifetimes.Rejected, "rejected-retention", defaults.Rejected,
		"how long a rejected application is shown")
	flags.IntVar(&lifetimes.MaxEnded, "ended-limit", defaults.MaxEnded,
		"how many completed, and how many rejected, applications of a partition are shown at most; the oldest is forgotten "+
			"first")
}

// checkLifetimes reports negative lifetimes.
func checkLifetimes(lifetimes lifecycle.Lifetimes) error {
	var wrong []error
	for _, x := range []struct {
		flag string
		of   time.Duration
	}{
		{"completing-timeout", lifetimes.Completing}, {"new-timeout", lifetimes.New},
		{"completed-retention", lifetimes.Completed}, {"rejected-retention", lifetimes.Rejected},
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
