package usage

import (
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"time"
)

// written holds what the database has of a partition.
type written struct {
	series map[Key]*seriesState
	last   int64 // the time up to which it is covered; 0: nothing is
	since  int64 // when the covered time that last extends began; 0: the next sample begins one
}

// seriesState is a series and its last row.
type seriesState struct {
	id   int64
	last Values
}

func (s *Store) partition(name string) *written {
	p := s.partitions[name]
	if p == nil {
		p = &written{series: map[Key]*seriesState{}}
		s.partitions[name] = p
	}
	return p
}

// load reads the last rows of all series, and where the covered times end. Requires: the format is known.
func (s *Store) load() error {
	rows, err := s.write.Query(`SELECT s.partition, s.kind, s.name, s.id,
		coalesce((SELECT v FROM step WHERE series = s.id ORDER BY at DESC LIMIT 1), '{}') FROM series s`)
	if err != nil {
		return damaged(err)
	}
	defer rows.Close()
	for rows.Next() {
		var partition, text string
		var k Key
		x := &seriesState{}
		if err := rows.Scan(&partition, &k.Kind, &k.Name, &x.id, &text); err != nil {
			return damaged(err)
		}
		if err := json.Unmarshal([]byte(text), &x.last); err != nil {
			return fmt.Errorf("it is damaged: the last row of %s %s: %w", k.Kind, k.Name, err)
		}
		s.partition(partition).series[k] = x
	}
	if err := errors.Join(rows.Err(), rows.Close()); err != nil {
		return damaged(err)
	}
	ends, err := s.write.Query("SELECT partition, max(until) FROM covered GROUP BY partition")
	if err != nil {
		return damaged(err)
	}
	defer ends.Close()
	for ends.Next() {
		var partition string
		var last int64
		if err := ends.Scan(&partition, &last); err != nil {
			return damaged(err)
		}
		s.partition(partition).last = last
	}
	if err := errors.Join(ends.Err(), ends.Close()); err != nil {
		return damaged(err)
	}
	return s.loadLevels()
}

// Add writes what is different in a sample from the one before, and extends the covered time (USG-2). Nothing is
// written of a sample that is not after what is covered. After an error nothing of it is written, and the next sample
// has it all.
func (s *Store) Add(x *Sample) error {
	p, at := s.partition(x.Partition), x.At.UnixMilli()
	if at < p.last || at == p.last && p.since != 0 {
		return nil
	}
	changed := map[Key]*Values{}
	for k, v := range x.Values {
		if old := p.series[k]; old == nil && !v.IsZero() || old != nil && !old.last.Equal(v) {
			changed[k] = v
		}
	}
	for k, old := range p.series {
		if x.Values[k] == nil && !old.last.IsZero() {
			changed[k] = &Values{}
		}
	}
	ids := map[Key]int64{}
	since := p.since
	if since == 0 {
		since = at
	}
	err := s.transaction(func(tx *sql.Tx) error {
		if err := writeSteps(tx, x.Partition, at, p, changed, ids); err != nil {
			return err
		}
		return cover(tx, x.Partition, since, at)
	})
	if err != nil {
		return err
	}
	for k, v := range changed {
		if p.series[k] == nil {
			p.series[k] = &seriesState{id: ids[k]}
		}
		p.series[k].last = *v
	}
	p.last, p.since = at, since
	return nil
}

// writeSteps writes a row for each value. It puts the numbers of new series into ids.
func writeSteps(tx *sql.Tx, partition string, at int64, p *written, changed map[Key]*Values, ids map[Key]int64) error {
	if len(changed) == 0 {
		return nil
	}
	insert, err := tx.Prepare("INSERT OR REPLACE INTO step VALUES (?, ?, ?)")
	if err != nil {
		return err
	}
	defer insert.Close()
	for k, v := range changed {
		var id int64
		if old := p.series[k]; old != nil {
			id = old.id
		} else {
			r, err := tx.Exec("INSERT INTO series (partition, kind, name) VALUES (?, ?, ?)", partition, k.Kind, k.Name)
			if err == nil {
				id, err = r.LastInsertId()
			}
			if err != nil {
				return err
			}
			ids[k] = id
		}
		text, err := json.Marshal(v)
		if err == nil {
			_, err = insert.Exec(id, at, string(text))
		}
		if err != nil {
			return err
		}
	}
	return insert.Close()
}

// cover states that samples are known from since until a time.
func cover(tx *sql.Tx, partition string, since, until int64) error {
	_, err := tx.Exec("INSERT INTO covered VALUES (?, ?, ?) ON CONFLICT (partition, since) DO UPDATE SET until = "+
		"excluded.until", partition, since, until)
	return err
}

// Extend states that the last sample of each partition held until now: the server ends.
func (s *Store) Extend(now time.Time) error {
	at := now.UnixMilli()
	return s.transaction(func(tx *sql.Tx) error {
		for name, p := range s.partitions {
			if p.since == 0 || at <= p.last {
				continue
			}
			if err := cover(tx, name, p.since, at); err != nil {
				return err
			}
		}
		return nil
	})
}

// Interrupt states that nothing is known of a partition from its last sample until the next one.
func (s *Store) Interrupt(partition string) { s.partition(partition).since = 0 }

// Sampled returns the partitions whose last sample holds until the next one.
func (s *Store) Sampled() []string {
	var names []string
	for name := range maps.Keys(s.partitions) {
		if s.partitions[name].since != 0 {
			names = append(names, name)
		}
	}
	return names
}
