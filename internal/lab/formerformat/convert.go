package formerformat

import (
	"errors"
	"fmt"
	"math"
	"time"

	"github.com/canopy-scheduler/canopy/internal/server/recording"
)

// Convert converts the recordings in the directory from, into the directory to. What had several begins becomes several
// sessions. Checkpoints are left out. The error names all that could not be converted; the rest is.
func Convert(from, to string) error {
	sessions, err := recording.Sessions(from)
	if err != nil {
		return err
	}
	store, err := recording.Open(recording.Options{Dir: to, MaxBytes: math.MaxInt64, MaxAge: math.MaxInt64})
	if err != nil {
		return err
	}
	for _, s := range sessions {
		if failed := convert(&s, store); failed != nil {
			err = errors.Join(err,
				fmt.Errorf("partition %s, recorded since %s: %w", s.Partition, s.Began.Format(time.RFC3339), failed))
		}
	}
	return errors.Join(err, store.Close())
}

// convert converts a session.
func convert(s *recording.Session, to *recording.Store) error {
	r := newReader(s.Files())
	defer r.close()
	began, skipped := s.Began, 0
	for x := r.next(); ; {
		switch {
		case x.err != nil && !errors.Is(x.err, errMissing): // at the end, or the file cannot be read
			if skipped > 0 {
				return fmt.Errorf("at least %d steps cannot be converted, because what came before them is missing", skipped)
			}
			return r.failed
		case x.begin == nil:
			if x.step != nil {
				skipped++
			}
			x = r.next()
			continue
		}
		begin := x.begin
		x = r.next()
		if x.step == nil {
			continue // nothing came of it
		}
		if began.Before(x.step.At) && r.begins > 1 {
			began = x.step.At
		}
		err := to.WriteSession(s.Partition, began, begin, func(yield func(*recording.Step, error) bool) {
			for x.step != nil && yield(x.step, nil) {
				x = r.next()
			}
			if x.err != nil && !errors.Is(x.err, errEnd) {
				yield(nil, x.err)
			}
		})
		if err != nil {
			return err
		}
		began = began.Add(1) // the name of the next one
	}
}
