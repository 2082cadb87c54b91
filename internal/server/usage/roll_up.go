package usage

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"time"
)

// level says how coarse usage of an age is.
type level struct {
	name  string // part of the format of the file
	after time.Duration
	width time.Duration // of the intervals of which only the mean is kept
}

// levelTable is from fine to coarse (USG-6).
var levelTable = [...]level{
	{"quarters", 24 * time.Hour, 15 * time.Minute},
	{"days", 30 * 24 * time.Hour, 24 * time.Hour},
}

// rollUpState says how far a level is rolled up.
type rollUpState struct {
	level
	done int64 // everything before this time, a multiple of the width
}

func newLevels() []rollUpState {
	out := make([]rollUpState, len(levelTable))
	for i, l := range levelTable {
		out[i].level = l
	}
	return out
}

func (s *Store) loadLevels() error {
	s.levels = newLevels()
	for i := range s.levels {
		var text string
		err := s.write.QueryRow("SELECT value FROM meta WHERE name = ?", s.levels[i].name).Scan(&text)
		switch {
		case errors.Is(err, sql.ErrNoRows):
			continue
		case err != nil:
			return damaged(err)
		}
		s.levels[i].done, err = strconv.ParseInt(text, 10, 64)
		if err != nil {
			return fmt.Errorf("it is damaged: the roll-up by %s: %w", s.levels[i].name, err)
		}
	}
	return nil
}

// RollUp replaces old rows by the means of intervals. The sums over an interval stay what they were.
func (s *Store) RollUp(now time.Time) error {
	for i := range s.levels {
		l := &s.levels[i]
		to := now.Add(-l.after).Truncate(l.width).UnixMilli()
		if to <= l.done {
			continue
		}
		if err := s.rollUp(l, to); err != nil {
			return err
		}
		l.done = to
	}
	return nil
}

// rollUp rolls the time from l.done up to a time up.
func (s *Store) rollUp(l *rollUpState, to int64) error {
	ids, err := s.changedBetween(l.done, to)
	if err != nil {
		return err
	}
	return s.transaction(func(tx *sql.Tx) error {
		for _, x := range ids {
			if err := rollUpSeries(tx, x.id, x.partition, l, to); err != nil {
				return err
			}
		}
		_, err := tx.Exec("INSERT OR REPLACE INTO meta VALUES (?, ?)", l.name, strconv.FormatInt(to, 10))
		return err
	})
}

type seriesRef struct {
	id        int64
	partition string
}

// changedBetween returns the series that have rows in a time.
func (s *Store) changedBetween(from, to int64) (out []seriesRef, err error) {
	rows, err := s.write.Query("SELECT id, partition FROM series WHERE id IN (SELECT DISTINCT series FROM step WHERE at "+
		">= ? AND at < ?) ORDER BY id", from, to)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	for rows.Next() {
		var x seriesRef
		if err := rows.Scan(&x.id, &x.partition); err != nil {
			return nil, err
		}
		out = append(out, x)
	}
	return out, rows.Err()
}

// step is a row: what a series has from a time on.
type step struct {
	at int64
	v  Values
}

func rollUpSeries(tx *sql.Tx, id int64, partition string, l *rollUpState, to int64) error {
	steps, err := stepsOf(tx, id, l.done, to)
	if err != nil {
		return err
	}
	known, err := coveredTimes(context.Background(), tx, partition, l.done, to)
	if err != nil {
		return err
	}
	means := meansOf(steps, known, l.done, to, l.width.Milliseconds())
	if _, err := tx.Exec("DELETE FROM step WHERE series = ? AND at >= ? AND at < ?", id, l.done, to); err != nil {
		return err
	}
	for _, x := range means {
		text, err := json.Marshal(&x.v)
		if err == nil { // a row at the end of the time is newer than the mean, and stays
			_, err = tx.Exec("INSERT OR IGNORE INTO step VALUES (?, ?, ?)", id, x.at, string(text))
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// meansOf returns steps with the mean of each interval of the given width that has a step. The mean is over the covered
// time of the interval; if none of it is covered it is the last value. An interval without a step has the last value of
// the one before, so an interval with steps has another one at its end, which may be at to.
func meansOf(steps []step, known []span, from, to, width int64) (out []step) {
	current := Values{}
	i := 0
	if len(steps) > 0 && steps[0].at < from {
		current, i = steps[0].v, 1
	}
	written := current
	put := func(at int64, v Values) {
		if !v.Equal(&written) {
			out = append(out, step{at, v})
			written = v
		}
	}
	for i < len(steps) && steps[i].at < to {
		begin := steps[i].at - steps[i].at%width
		end := begin + width
		var sum Values
		covered := 0.0
		add := func(a, b int64) {
			t := overlap(known, a, b)
			covered += t
			sum.AddTimes(&current, t)
		}
		at := begin
		for ; i < len(steps) && steps[i].at < end; i++ {
			add(at, steps[i].at)
			at, current = steps[i].at, steps[i].v
		}
		add(at, end)
		mean := current
		if covered > 0 {
			mean = Values{}
			mean.AddTimes(&sum, 1/covered)
		}
		put(begin, mean)
		if i == len(steps) || steps[i].at >= end+width || steps[i].at >= to {
			put(end, current)
		}
	}
	return out
}
