// Package runtimes bounds how long allocations run. It owns the bound of an ask, which its tags, its application or its
// queue give, and orders the end of allocations that run longer where their queue enforces it.
//
// What an allocation holds until the RM confirms its end is left to package objects, how the RM is told to package
// scheduler. Run times that are learnt are estimates of package forecast; nothing here knows them.
//
// Invariant: an allocation whose start is not known runs its whole bound from its report on. So a restart never ends
// work early.
package runtimes

import (
	"fmt"
	"strconv"
	"time"

	"github.com/canopy-scheduler/canopy/pkg/configs"
	"github.com/canopy-scheduler/canopy/pkg/objects"
)

// The tags of asks and applications, and of reported allocations.
const (
	// BoundTag has how long the ask, or each ask of the application, runs at most: a duration such as 90m (RUN-1).
	BoundTag = "canopy.scheduler/max-run-time"
	// StartTag has when a reported allocation began to run, in seconds since 1970 (RUN-7).
	StartTag = "canopy.scheduler/start-time"
)

// TagError says why a tag cannot be read.
type TagError struct{ Tag, Value, Want string }

func (e *TagError) Error() string {
	value := e.Value
	if len(value) > maxShown {
		value = value[:maxShown] + "..."
	}
	return fmt.Sprintf("tag %s is %q: it must be %s", e.Tag, value, e.Want)
}

// maxShown bounds what an error shows of a value.
const maxShown = 64

// Wish returns the bound that the tags of an ask name, or else those of its application; 0: none does. The error is a
// *TagError, or one that wraps it if the tag is of the application.
func Wish(ask, app map[string]string) (time.Duration, error) {
	bound, err := readBound(ask)
	if bound != 0 || err != nil {
		return bound, err
	}
	if bound, err = readBound(app); err != nil {
		err = fmt.Errorf("the application: %w", err)
	}
	return bound, err
}

func readBound(tags map[string]string) (time.Duration, error) {
	tag, text, sent := TagOrLabel(tags, BoundTag)
	if !sent {
		return 0, nil
	}
	bound, err := time.ParseDuration(text)
	if err != nil || bound < configs.MinRunTime || bound > configs.MaxRunTime {
		return 0, &TagError{tag, text, "a duration from 1s to 87600h, such as 90m"}
	}
	return bound, nil
}

// TagOrLabel returns a tag or, without one, the tag with which YuniKorn's shim passes on the label of that name.
func TagOrLabel(tags map[string]string, name string) (tag, text string, sent bool) {
	if len(tags) == 0 {
		return name, "", false
	}
	for _, tag = range [...]string{name, "kubernetes.io/label/" + name} {
		text, sent = tags[tag]
		if sent {
			break
		}
	}
	return tag, text, sent
}

// readStart returns when a reported allocation with these tags began to run; zero: they do not say it. A time after now
// is an error, too.
func readStart(tags map[string]string, now time.Time) (objects.Timestamp, error) {
	text, sent := tags[StartTag]
	if !sent {
		return 0, nil
	}
	seconds, err := strconv.ParseInt(text, 10, 64)
	if err != nil || seconds < 0 || seconds > now.Unix() {
		return 0, &TagError{StartTag, text, "a time in seconds since 1970 that is not in the future"}
	}
	return objects.TimestampOf(time.Unix(seconds, 0)), nil
}

// Admit returns why a queue rejects an ask with a wished bound, 0: none; nil: it does not (RUN-3).
func Admit(wish time.Duration, s *configs.RunTime) error {
	if s.Max > 0 && wish > s.Max && !s.Cut {
		return fmt.Errorf("it wishes to run for %v, and %s of the queue is %v", wish, configs.RunTimeMaxProperty, s.Max)
	}
	return nil
}

// Bound returns how long x may run, by its wish and the settings of its queue; 0: there is no bound. A placeholder has
// none: the timeout of its gang ends it (RUN-4).
func Bound(x *objects.Allocation) time.Duration {
	if x.Ask().Placeholder {
		return 0
	}
	return BoundOf(x.Ask().MaxRunTime(), x.Application().Queue().RunTime())
}

// StartOf returns the time from which the bound of the allocation x counts (RUN-7).
func StartOf(x *objects.Allocation) time.Time {
	if at := x.Ask().Started(); !at.IsZero() {
		return at.Time()
	}
	return x.BoundAt()
}

// BoundOf returns the bound of a wish, 0: none, in a queue with settings s (RUN-2).
func BoundOf(wish time.Duration, s *configs.RunTime) time.Duration {
	if wish == 0 {
		wish = s.Default
	}
	if s.Max > 0 && (wish == 0 || wish > s.Max) {
		return s.Max
	}
	return wish
}
