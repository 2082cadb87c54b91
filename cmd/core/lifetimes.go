package main

import (
	"errors"
	"fmt"
	"time"

	"github.com/spf13/pflag"

	"github.com/canopy-scheduler/canopy/pkg/objects"
)

// addLifetimes adds the flags that say how long applications last that do nothing.
func addLifetimes(flags *pflag.FlagSet, keep *objects.Lifetimes) {
	usual := objects.DefaultLifetimes()
	flags.DurationVar(&keep.Completing, "completing-timeout", usual.Completing,
		"how long an application may have nothing pending and nothing running before it has completed")
	flags.DurationVar(&keep.Completed, "completed-retention", usual.Completed,
		"how long an application that has completed is shown")
	flags.DurationVar(&keep.Rejected, "rejected-retention", usual.Rejected,
		"how long an application that was rejected is shown")
	flags.IntVar(&keep.Ended, "ended-limit", usual.Ended,
		"how many completed, and how many rejected, applications of a partition are shown at most; the oldest goes first")
}

// checkLifetimes says which lifetimes make no sense.
func checkLifetimes(keep objects.Lifetimes) error {
	var wrong []error
	for _, x := range []struct {
		flag string
		of   time.Duration
	}{
		{"completing-timeout", keep.Completing}, {"completed-retention", keep.Completed}, {"rejected-retention", keep.Rejected},
	} {
		if x.of < 0 {
			wrong = append(wrong, fmt.Errorf("--%s is %s, and must not be negative", x.flag, x.of))
		}
	}
	if keep.Ended < 0 {
		wrong = append(wrong, fmt.Errorf("--ended-limit is %d, and must not be negative", keep.Ended))
	}
	return errors.Join(wrong...)
}
