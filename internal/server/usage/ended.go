package usage

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"time"

	"github.com/canopy-scheduler/canopy/pkg/lifecycle"
	"github.com/canopy-scheduler/canopy/pkg/persistent"
	"github.com/canopy-scheduler/canopy/pkg/resources"
	"github.com/canopy-scheduler/canopy/pkg/scheduler"
	"github.com/canopy-scheduler/canopy/pkg/security"
)

// endedRecord is the JSON form of an ended application in the file. Its names are part of the format.
type endedRecord struct {
	User      string                        `json:"user,omitempty"`
	Groups    []string                      `json:"groups,omitempty"`
	Queue     string                        `json:"queue"`
	State     lifecycle.State               `json:"state"`
	Message   string                        `json:"message,omitempty"`
	Submitted int64                         `json:"submitted"` // nanoseconds since 1970, like the next
	Finished  int64                         `json:"finished"`
	Peak      map[string]resources.Quantity `json:"peak,omitempty"`
	Log       []stateRecord                 `json:"log,omitempty"`
	Usage     [3][]usageRecord              `json:"usage,omitempty"` // real, preempted, placeholders
}

type stateRecord struct {
	At     int64            `json:"at"`
	State  lifecycle.State  `json:"state"`
	Reason lifecycle.Reason `json:"reason"`
}

type usageRecord struct {
	Type    string                        `json:"type"`
	Seconds map[string]resources.Quantity `json:"seconds"` // quantity times seconds
}

func recordOf(e *lifecycle.Ended) endedRecord {
	r := endedRecord{
		User: e.User.Name, Groups: e.User.Groups, Queue: e.Queue, State: e.State, Message: e.Message(),
		Submitted: e.Submitted.UnixNano(), Finished: e.Finished.UnixNano(), Peak: e.Peak.Map(),
	}
	for _, c := range e.Log {
		r.Log = append(r.Log, stateRecord{c.At().UnixNano(), c.State, c.Reason})
	}
	if u := e.Usage; u != nil {
		for i, list := range [...][]lifecycle.TypeUsage{u.Real, u.Preempted, u.Placeholders} {
			for _, x := range list {
				r.Usage[i] = append(r.Usage[i], usageRecord{x.InstanceType, x.Usage.Map()})
			}
		}
	}
	return r
}

// ended returns the application of a record.
func (r *endedRecord) ended(id string) *lifecycle.Ended {
	e := &lifecycle.Ended{
		ID: id, User: security.User{Name: r.User, Groups: r.Groups}, Queue: r.Queue, State: r.State,
		Submitted: time.Unix(0, r.Submitted).UTC(), Finished: time.Unix(0, r.Finished).UTC(), Peak: resources.FromMap(r.Peak),
	}
	for _, c := range r.Log {
		e.Log = append(e.Log, lifecycle.NewChange(c.State, c.Reason, time.Unix(0, c.At).UTC()))
	}
	if r.Message != "" {
		e.WithMessage(r.Message)
	}
	var lists [3][]lifecycle.TypeUsage
	for i, list := range r.Usage {
		for _, x := range list {
			lists[i] = append(lists[i], lifecycle.TypeUsage{InstanceType: x.Type, Usage: resources.FromMap(x.Seconds)})
		}
	}
	if len(lists[0])+len(lists[1])+len(lists[2]) > 0 {
		e.Usage = &lifecycle.Usage{Real: lists[0], Preempted: lists[1], Placeholders: lists[2]}
	}
	return e
}

// valid reports whether a record has a state that ended applications have, and known reasons.
func (r *endedRecord) valid() bool {
	switch r.State {
	case lifecycle.Completed, lifecycle.Failed, lifecycle.Rejected:
	default:
		return false
	}
	for _, c := range r.Log {
		if c.State > lifecycle.Resuming || c.Reason > lifecycle.ReasonPlaceholdersEnded {
			return false
		}
	}
	return true
}

// newEnded finds the records of a list that were not in it before.
type newEnded struct {
	last time.Time                 // when the newest of the records that were seen had ended
	seen map[*lifecycle.Ended]bool // those of that time
}

// take returns the records that are new.
func (n *newEnded) take(list persistent.List[lifecycle.Ended]) (out []*lifecycle.Ended) {
	for e := range list.All() {
		if e.Finished.Before(n.last) || n.seen[e] {
			continue
		}
		out = append(out, e)
		if e.Finished.After(n.last) || n.seen == nil {
			n.last, n.seen = e.Finished, map[*lifecycle.Ended]bool{}
		}
		n.seen[e] = true
	}
	return out
}

// AddEnded writes the applications of a snapshot that have ended (USG-8).
func (s *Store) AddEnded(partition string, all []*lifecycle.Ended) error {
	if len(all) == 0 {
		return nil
	}
	return s.transaction(func(tx *sql.Tx) error {
		for _, e := range all {
			text, err := json.Marshal(recordOf(e))
			if err == nil {
				_, err = tx.Exec("INSERT OR REPLACE INTO application VALUES (?, ?, ?, ?, ?)", partition, e.Finished.UnixMilli(),
					e.ID, s.session, string(text))
			}
			if err != nil {
				return err
			}
		}
		return nil
	})
}

// FormerlyEnded returns the applications that ended before the store was opened, and not before a time, the oldest
// first: at most limit, the newest. rejected selects those that were rejected, else the completed and failed ones.
func (s *Store) FormerlyEnded(ctx context.Context, partition string, rejected bool, since time.Time,
	limit int) (out []*lifecycle.Ended, err error) {
	rows, err := s.read.QueryContext(ctx, `SELECT id, record FROM (SELECT finished, id, record FROM application
		WHERE partition = ? AND session < ? AND finished >= ? AND (json_extract(record, '$.state') = ?) = ?
		ORDER BY finished DESC, id DESC LIMIT ?)
		ORDER BY finished, id`, partition, s.session, since.UnixMilli(), lifecycle.Rejected, rejected, limit)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	for rows.Next() {
		var id, text string
		if err := rows.Scan(&id, &text); err != nil {
			return nil, err
		}
		var r endedRecord
		if err := json.Unmarshal([]byte(text), &r); err != nil || !r.valid() {
			return nil, fmt.Errorf("the record of application %s in %s is damaged", id, s.file)
		}
		out = append(out, r.ended(id))
	}
	return out, rows.Err()
}

// endedOf returns the lists of ended applications of a snapshot.
func endedOf(snap *scheduler.Snapshot) [2]persistent.List[lifecycle.Ended] {
	return [2]persistent.List[lifecycle.Ended]{snap.Completed, snap.Rejected}
}
