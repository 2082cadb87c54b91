package usage

import (
	"context"
	"encoding/json"
	"fmt"
	"time"
)

// Query selects usage.
type Query struct {
	Partition    string
	Kind         Kind
	Name         string // empty: all of the kind
	Since, Until time.Time
	// the length of the intervals of which points are; 0: no points. The last one may be shorter.
	Step time.Duration
}

// Points returns how many points a series has.
func (q Query) Points() int {
	if q.Step <= 0 {
		return 0
	}
	return int((q.Until.Sub(q.Since) + q.Step - 1) / q.Step)
}

// Sum holds what was added up over a time.
type Sum struct {
	Values          // quantities times seconds
	Covered float64 // seconds of the time for which samples are known
}

// Series is the usage of one queue, user or group.
type Series struct {
	Name   string
	Total  Sum
	Points []Sum
}

// Window is the answer to a Query.
type Window struct {
	Covered float64  // seconds
	Series  []Series // in name order; those that had nothing in the covered time are left out
}

// Read adds the usage up (USG-3). Any number of goroutines may call it.
func (s *Store) Read(ctx context.Context, q Query) (*Window, error) {
	from, to := q.Since.UnixMilli(), q.Until.UnixMilli()
	known, err := coveredTimes(ctx, s.read, q.Partition, from, to)
	if err != nil {
		return nil, err
	}
	w := &Window{Covered: overlap(known, from, to)}
	statement := `SELECT s.name, t.at, t.v FROM series s JOIN step t ON t.series = s.id
		WHERE s.partition = ?1 AND s.kind = ?2 AND (?3 = '' OR s.name = ?3) AND t.at < ?5
		AND t.at >= coalesce((SELECT max(at) FROM step WHERE series = s.id AND at <= ?4), ?4) ORDER BY s.name, t.at`
	rows, err := s.read.QueryContext(ctx, statement, q.Partition, q.Kind, q.Name, from, to)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	a := adder{known: known, from: from, to: to, width: q.Step.Milliseconds(), points: q.Points()}
	for rows.Next() {
		var name, text string
		var x step
		if err := rows.Scan(&name, &x.at, &text); err != nil {
			return nil, err
		}
		if err := json.Unmarshal([]byte(text), &x.v); err != nil {
			return nil, fmt.Errorf("the usage of %s %s: %w", q.Kind, name, err)
		}
		if a.series == nil || a.series.Name != name {
			a.end(w)
			a.begin(name)
		}
		a.next(x)
	}
	a.end(w)
	return w, rows.Err()
}

// Names returns the names of all series of a kind that the store has, in order.
func (s *Store) Names(ctx context.Context, partition string, k Kind) (out []string, err error) {
	rows, err := s.read.QueryContext(ctx, "SELECT name FROM series WHERE partition = ? AND kind = ? ORDER BY name",
		partition, k)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	for rows.Next() {
		var name string
		if err := rows.Scan(&name); err != nil {
			return nil, err
		}
		out = append(out, name)
	}
	return out, rows.Err()
}

// adder adds the steps of one series after the other up.
type adder struct {
	known           []span
	from, to, width int64
	points          int

	series  *Series // nil: none has begun
	current Values
	at      int64 // since when current holds, or from
}

func (a *adder) begin(name string) {
	a.series, a.current, a.at = &Series{Name: name, Points: make([]Sum, a.points)}, Values{}, a.from
	a.series.Total.Covered = overlap(a.known, a.from, a.to)
	for i := range a.series.Points {
		begin := a.from + int64(i)*a.width
		a.series.Points[i].Covered = overlap(a.known, begin, min(begin+a.width, a.to))
	}
}

// next ends what holds at the time of x.
func (a *adder) next(x step) {
	a.hold(x.at)
	a.current, a.at = x.v, max(x.at, a.from)
}

// hold adds what holds up to a time.
func (a *adder) hold(until int64) {
	if until <= a.at || a.current.IsZero() {
		return
	}
	t := overlap(a.known, a.at, until)
	a.series.Total.AddTimes(&a.current, t)
	for begin := a.at; a.width > 0 && begin < until; {
		i := (begin - a.from) / a.width
		end := min(a.from+(i+1)*a.width, until)
		a.series.Points[i].AddTimes(&a.current, overlap(a.known, begin, end))
		begin = end
	}
}

// end ends a series.
func (a *adder) end(w *Window) {
	if a.series == nil {
		return
	}
	a.hold(a.to)
	if !a.series.Total.IsZero() {
		w.Series = append(w.Series, *a.series)
	}
	a.series = nil
}
