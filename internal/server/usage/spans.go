package usage

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
)

// span is a time: from since, inclusive, until until, in milliseconds since 1970.
type span struct{ since, until int64 }

// overlap returns how many seconds of the time from a to b are in spans, which do not overlap each other.
func overlap(spans []span, a, b int64) float64 {
	var ms int64
	for _, x := range spans {
		ms += max(0, min(b, x.until)-max(a, x.since))
	}
	return seconds(ms)
}

// querier is a database or a transaction.
type querier interface {
	QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error)
}

// coveredTimes returns the covered times of a partition between two times, the oldest first.
func coveredTimes(ctx context.Context, db querier, partition string, from, to int64) (out []span, err error) {
	rows, err := db.QueryContext(ctx,
		"SELECT since, until FROM covered WHERE partition = ? AND until > ? AND since < ? ORDER BY since", partition, from,
		to)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	for rows.Next() {
		var x span
		if err := rows.Scan(&x.since, &x.until); err != nil {
			return nil, err
		}
		out = append(out, span{max(x.since, from), min(x.until, to)})
	}
	return out, rows.Err()
}

// stepsOf returns the rows of a series from the last one before from, if there is one, and before to.
func stepsOf(db querier, id, from, to int64) (out []step, err error) {
	rows, err := db.QueryContext(context.Background(), `SELECT at, v FROM step WHERE series = ?1 AND at < ?3
		AND at >= coalesce((SELECT max(at) FROM step WHERE series = ?1 AND at < ?2), ?2) ORDER BY at`, id, from, to)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	for rows.Next() {
		var x step
		var text string
		if err := rows.Scan(&x.at, &text); err != nil {
			return nil, err
		}
		if err := json.Unmarshal([]byte(text), &x.v); err != nil {
			return nil, fmt.Errorf("a row of series %d: %w", id, err)
		}
		out = append(out, x)
	}
	return out, rows.Err()
}
