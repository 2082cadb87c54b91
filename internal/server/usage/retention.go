package usage

import (
	"database/sql"
	"time"
)

// Trim deletes what is older than the store keeps, and then the oldest tenth of what is left until the database is
// within its size (USG-7). It returns the pages to the file system.
func (s *Store) Trim(now time.Time) error {
	cutoff := now.Add(-s.opt.MaxAge).UnixMilli()
	if err := s.deleteBefore(cutoff); err != nil {
		return err
	}
	for range 20 {
		size, err := s.Bytes()
		if err != nil || size <= s.opt.MaxBytes {
			return err
		}
		var oldest sql.NullInt64
		if err := s.write.QueryRow("SELECT min(t) FROM (SELECT min(since) AS t FROM covered UNION ALL SELECT min(at) FROM " +
			"step UNION ALL SELECT min(finished) FROM application)").Scan(&oldest); err != nil {
			return err
		}
		cutoff = max(cutoff, oldest.Int64) + max(1, (now.UnixMilli()-max(cutoff, oldest.Int64))/10)
		if !oldest.Valid || cutoff >= now.UnixMilli() {
			return nil // what is left is of now
		}
		if err := s.deleteBefore(cutoff); err != nil {
			return err
		}
	}
	return nil
}

// Bytes returns the size of the database without free pages.
func (s *Store) Bytes() (int64, error) {
	var n int64
	err := s.write.QueryRow(`SELECT (c.page_count - f.freelist_count) * p.page_size
		FROM pragma_page_count() c, pragma_freelist_count() f, pragma_page_size() p`).Scan(&n)
	return n, err
}

// deleteBefore deletes everything before a time. The last row of a series before it stays, because it holds until the
// next one; a series that has had nothing since then goes.
func (s *Store) deleteBefore(cutoff int64) error {
	var gone []seriesKey
	err := s.transaction(func(tx *sql.Tx) error {
		for _, statement := range []string{
			`DELETE FROM step WHERE at < ?1 AND at < (SELECT max(at) FROM step o WHERE o.series = step.series AND o.at <= ?1)`,
			`DELETE FROM covered WHERE until <= ?1`,
			`DELETE FROM application WHERE finished < ?1`,
		} {
			if _, err := tx.Exec(statement, cutoff); err != nil {
				return err
			}
		}
		if _, err := tx.Exec("UPDATE covered SET since = ?1 WHERE since < ?1", cutoff); err != nil {
			return err
		}
		var err error
		if gone, err = endedSeries(tx, cutoff); err != nil {
			return err
		}
		for _, x := range gone {
			if _, err := tx.Exec("DELETE FROM step WHERE series = ?", x.id); err != nil {
				return err
			}
			if _, err := tx.Exec("DELETE FROM series WHERE id = ?", x.id); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	for _, x := range gone {
		delete(s.partition(x.partition).series, x.Key)
	}
	for _, p := range s.partitions {
		if p.since != 0 {
			p.since = max(p.since, min(cutoff, p.last))
		}
	}
	_, err = s.write.Exec("PRAGMA incremental_vacuum")
	return err
}

type seriesKey struct {
	Key
	partition string
	id        int64
}

// endedSeries returns the series whose last row is before a time and has nothing.
func endedSeries(tx *sql.Tx, cutoff int64) (out []seriesKey, err error) {
	rows, err := tx.Query(`SELECT id, partition, kind, name FROM series s
		WHERE coalesce((SELECT at < ? AND v = '{}' FROM step WHERE series = s.id ORDER BY at DESC LIMIT 1), 1)`, cutoff)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	for rows.Next() {
		var x seriesKey
		if err := rows.Scan(&x.id, &x.partition, &x.Kind, &x.Name); err != nil {
			return nil, err
		}
		out = append(out, x)
	}
	return out, rows.Err()
}
