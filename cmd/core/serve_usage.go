package main

import (
	"errors"
	"fmt"
	"time"

	"github.com/spf13/pflag"

	"github.com/canopy-scheduler/canopy/internal/server/usage"
	"github.com/canopy-scheduler/canopy/pkg/canopy"
)

// usageStoreFlags say how usage over time is kept.
type usageStoreFlags struct{ canopy.Usage }

func (f *usageStoreFlags) add(flags *pflag.FlagSet) {
	flags.DurationVar(&f.Interval, "usage-interval", usage.DefaultInterval,
		"how often the usage of queues, users and groups is sampled; 0: no usage over time is kept")
	flags.DurationVar(&f.MaxAge, "usage-retention", 0,
		"older usage and ended applications are deleted; 0: a year with --data-dir, a day in memory without")
	flags.Int64Var(&f.MaxBytes, "usage-max-bytes", 0,
		"size of the database of usage, beyond which the oldest usage is deleted; 0: 1 GiB with --data-dir, 64 MiB in "+
			"memory without")
}

// check reports invalid flags (USG-7).
func (f *usageStoreFlags) check() error {
	var wrong []error
	if f.Interval != 0 && f.Interval < time.Second {
		wrong = append(wrong, fmt.Errorf("--usage-interval is %v, and must be 0, or 1s or more", f.Interval))
	}
	if f.MaxAge < 0 {
		wrong = append(wrong, fmt.Errorf("--usage-retention is %v, and must not be below 0", f.MaxAge))
	}
	if f.MaxBytes < 0 {
		wrong = append(wrong, fmt.Errorf("--usage-max-bytes is %d, and must not be below 0", f.MaxBytes))
	}
	return errors.Join(wrong...)
}
