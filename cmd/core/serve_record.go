package main

import (
	"errors"
	"fmt"
	"time"

	"github.com/spf13/pflag"

	"github.com/canopy-scheduler/canopy/internal/server/recording"
	"github.com/canopy-scheduler/canopy/pkg/canopy"
)

// recordFlags say where all that the scheduler decides upon is recorded.
type recordFlags struct {
	dir          string
	maxBytes     int64
	maxAge       time.Duration
	segmentBytes int64
}

func (f *recordFlags) add(flags *pflag.FlagSet) {
	flags.StringVar(&f.dir, "record", "",
		"`DIRECTORY` in which all that is decided upon is recorded, for 'canopy-lab recording'; default: nothing is recorded")
	flags.Int64Var(&f.maxBytes, "record-max-size", recording.DefaultMaxBytes,
		"`BYTES` of all files of --record, beyond which the oldest sessions are removed; a session that is longer alone is "+
			"not recorded any more")
	flags.DurationVar(&f.maxAge, "record-max-age", recording.DefaultMaxAge,
		"sessions of --record that were last written so long ago are removed")
	flags.Int64Var(&f.segmentBytes, "record-segment-size", recording.DefaultSegmentBytes,
		"`BYTES` of a file of --record, after which the next one begins")
}

// check reports invalid flags (REC-1).
func (f *recordFlags) check() error {
	var wrong []error
	if f.maxBytes < 1 {
		wrong = append(wrong, fmt.Errorf("--record-max-size is %d, and must be above 0", f.maxBytes))
	}
	if f.segmentBytes < 1 || f.segmentBytes > recording.MaxSegmentBytes {
		wrong = append(wrong,
			fmt.Errorf("--record-segment-size is %d, and must be from 1 to %d", f.segmentBytes, recording.MaxSegmentBytes))
	}
	if f.maxAge <= 0 {
		wrong = append(wrong, fmt.Errorf("--record-max-age is %v, and must be above 0", f.maxAge))
	}
	return errors.Join(wrong...)
}

func (f *recordFlags) options() canopy.Recording {
	return canopy.Recording{
		Dir: f.dir, MaxBytes: f.maxBytes, MaxAge: f.maxAge, SegmentBytes: f.segmentBytes, Program: version,
	}
}
