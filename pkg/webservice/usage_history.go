package webservice

import (
	"cmp"
	"context"
	"fmt"
	"net/http"
	"slices"
	"time"

	"github.com/canopy-scheduler/canopy/internal/server/usage"
	"github.com/canopy-scheduler/canopy/pkg/configs/validation"
	"github.com/canopy-scheduler/canopy/pkg/lifecycle"
	"github.com/canopy-scheduler/canopy/pkg/persistent"
	"github.com/canopy-scheduler/canopy/pkg/scheduler"
	"github.com/canopy-scheduler/canopy/pkg/webservice/dao"
)

// Bounds of an answer about usage (USG-11).
const (
	maxUsageSeries = 1000
	maxUsagePoints = 10_000 // of all series together
	minUsageStep   = time.Second
	defaultWindow  = 24 * time.Hour
)

var usageParameters = []queryParameter{
	{name: "by", help: "queue, user or group; required"},
	{name: "name", help: "only the queue with this path, or the user or group of this name"},
	{name: "since", help: "the begin of the window: RFC 3339, or a duration before now; default 24h"},
	{name: "until", help: "the end of the window: RFC 3339, or a duration before now; default now"},
	{name: "step", help: "also the means of intervals of this length, such as 1h"},
	{name: "partition", help: "the partition; default: default"},
}

// usageQuery reads the query.
func (s *service) usageQuery(r *http.Request) (q usage.Query, err error) {
	query, now := r.URL.Query(), s.opt.Now()
	q = usage.Query{Partition: cmp.Or(query.Get("partition"), "default"), Name: query.Get("name"),
		Since: now.Add(-defaultWindow), Until: now}
	if _, ok := s.cluster.Partition(q.Partition); !ok {
		return q, s.unknownPartition(q.Partition)
	}
	kind, known := usage.ParseKind(query.Get("by"))
	if !known {
		return q, badRequest("by %q: it is one of queue, user, group", truncated(query.Get("by")))
	}
	q.Kind = kind
	since, err := timeParameter(r, "since", now)
	if err != nil {
		return q, err
	}
	until, err := timeParameter(r, "until", now)
	if err != nil {
		return q, err
	}
	if !since.IsZero() {
		q.Since = since
	}
	if !until.IsZero() && until.Before(now) {
		q.Until = until
	}
	if !q.Since.Before(q.Until) {
		return q,
			badRequest("since %s is not before until %s, or is in the future", dao.TimeText(q.Since), dao.TimeText(q.Until))
	}
	if text := query.Get("step"); text != "" {
		q.Step, err = time.ParseDuration(text)
		if err != nil || q.Step < minUsageStep {
			return q, badRequest("step %q: it is a duration of 1s or more, such as 15m", truncated(text))
		}
		if q.Until.Sub(q.Since)/q.Step >= maxUsagePoints {
			return q, badRequest("step %s makes more than %d points of this window", q.Step, maxUsagePoints)
		}
	}
	return q, nil
}

// usageWindow answers with the sums of a window, those that had most first (USG-11).
func (s *service) usageWindow(r *http.Request) (any, error) {
	q, err := s.usageQuery(r)
	if err != nil {
		return nil, err
	}
	totals := q
	totals.Step = 0
	w, err := s.opt.Usage.Read(r.Context(), totals)
	if err != nil {
		return nil, err
	}
	if q.Name != "" && len(w.Series) == 0 {
		if err := s.knownSeries(r.Context(), q); err != nil {
			return nil, err
		}
		w.Series = []usage.Series{{Name: q.Name, Total: usage.Sum{Covered: w.Covered}}}
	}
	v := dao.UsageWindow{
		Partition: q.Partition, By: q.Kind.String(), Since: dao.TimeText(q.Since), Until: dao.TimeText(q.Until),
		WindowSeconds: q.Until.Sub(q.Since).Seconds(), CoveredSeconds: w.Covered, Series: []dao.UsageSeries{},
	}
	keep := maxUsageSeries
	if q.Step > 0 {
		v.Step = q.Step.String()
		keep = min(keep, maxUsagePoints/q.Points())
	}
	busiestFirst(w.Series)
	v.Omitted = max(0, len(w.Series)-keep)
	for i := range w.Series[:len(w.Series)-v.Omitted] {
		x := &w.Series[i]
		if q.Step > 0 {
			one := q
			one.Name = x.Name
			points, err := s.opt.Usage.Read(r.Context(), one)
			if err != nil {
				return nil, err
			}
			if len(points.Series) == 1 {
				x.Points = points.Series[0].Points
			}
		}
		v.Series = append(v.Series, dao.NewUsageSeries(x, q.Since, q.Step))
	}
	return v, nil
}

// knownSeries refuses a name that has never had anything.
func (s *service) knownSeries(ctx context.Context, q usage.Query) error {
	names, err := s.opt.Usage.Names(ctx, q.Partition, q.Kind)
	if err != nil || slices.Contains(names, q.Name) {
		return err
	}
	text := fmt.Sprintf("no usage of the %s %q is known", q.Kind, truncated(q.Name))
	if hint := validation.DidYouMean(q.Name, names); hint != "" {
		text += ": " + hint
	}
	return refusal(http.StatusNotFound, "%s", text)
}

// busiestFirst sorts by the largest share of a resource, compared with the series that had most of it; then by name.
func busiestFirst(all []usage.Series) {
	most := usage.Amounts{}
	for i := range all {
		for name, n := range all[i].Total.Allocated {
			most[name] = max(most[name], n)
		}
	}
	share := func(x *usage.Series) (f float64) {
		for name, n := range x.Total.Allocated {
			if n > 0 {
				f = max(f, n/most[name])
			}
		}
		return f
	}
	slices.SortFunc(all, func(a, b usage.Series) int {
		return cmp.Or(cmp.Compare(share(&b), share(&a)), cmp.Compare(a.Name, b.Name))
	})
}

// formerlyEnded are the applications that ended before the server started, and would still be shown (USG-8). current
// are those that have ended since.
func (s *service) formerlyEnded(ctx context.Context, snap *scheduler.Snapshot, rejected bool,
	current persistent.List[lifecycle.Ended]) ([]*lifecycle.Ended, error) {
	if s.opt.Usage == nil {
		return nil, nil
	}
	retention, limit := s.opt.Lifetimes.Completed, s.opt.Lifetimes.MaxEnded-current.Len()
	if rejected {
		retention = s.opt.Lifetimes.Rejected
	}
	if limit <= 0 || retention <= 0 {
		return nil, nil
	}
	return s.opt.Usage.FormerlyEnded(ctx, snap.Partition, rejected, s.opt.Now().Add(-retention), limit)
}
