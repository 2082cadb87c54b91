package webservice

import (
	"cmp"
	"container/heap"
	"context"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/canopy-scheduler/canopy/internal/server/cpushare"
	"github.com/canopy-scheduler/canopy/pkg/events"
	"github.com/canopy-scheduler/canopy/pkg/objects"
	"github.com/canopy-scheduler/canopy/pkg/scheduler"
	"github.com/canopy-scheduler/canopy/pkg/webservice/dao"
)

// The pending asks of a partition, the longest waiting first (RST-12). The place of an ask is the time of its request
// and its key, so a page begins where the last one ended, whatever was placed or submitted meanwhile.

// defaultAskLimit and maxAskLimit are how many asks an answer has without a limit, and at most.
const (
	defaultAskLimit = 100
	maxAskLimit     = 10_000
)

// waitingStates are the values of the parameter waitingState.
var waitingStates = []string{"failed", "reserved", "skipped", "unreported"}

// pendingAsk is a pending ask, its application and its queue.
type pendingAsk struct {
	view  *scheduler.AllocationView
	app   *scheduler.ApplicationView
	queue objects.QueuePath
}

// compareAsks orders asks by the time of their request and their key.
func compareAsks(a, b pendingAsk) int {
	return cmp.Or(a.view.Created.Compare(b.view.Created), cmp.Compare(a.view.Ask.Key, b.view.Ask.Key))
}

// askFilter selects pending asks.
type askFilter struct {
	page
	queue        string // asks in this queue and those below; empty: any, likewise the next three
	app          string
	user         string
	waitingState string
	olderThan    time.Duration // 0: any
	created      time.Time     // with page.after: the time and the key of the last ask of the page before
	key          string
}

// asks lists the pending asks of a partition.
func (s *service) asks(r *http.Request, snap *scheduler.Snapshot) (any, error) {
	f, err := readAskFilter(r)
	if err != nil {
		return nil, err
	}
	top := snap.Root
	if f.queue != "" {
		top = snap.Queue(objects.QueuePath(f.queue))
		if top == nil {
			return nil, notFound("queue " + f.queue)
		}
	}
	found, total := f.search(r.Context(), top, snap.At)
	body := dao.PendingAsks{Partition: snap.Partition, Total: total}
	list := pageOf(f.page, found[:min(len(found), f.limit)], len(found) > f.limit, placeOf,
		func(a pendingAsk) dao.PendingAsk { return a.body(snap.At) })
	body.Asks, _ = list.body.(dao.List[dao.PendingAsk])
	if list.next != "" {
		body.Next = placeOf(found[f.limit-1])
	}
	list.body = body
	return list, nil
}

// body returns the ask as REST shows it. now is the time of the snapshot.
func (a pendingAsk) body(now time.Time) dao.PendingAsk {
	return dao.PendingAsk{
		Ask: dao.NewAsk(a.view, nil), QueueName: string(a.queue), User: a.app.User.Name,
		WaitingState: a.view.Waiting.State.String(), WaitSeconds: int64(max(0, now.Sub(a.view.Created)) / time.Second),
	}
}

func readAskFilter(r *http.Request) (f askFilter, err error) {
	if f.page, err = readPage(r, dao.PendingAsk{}); err != nil {
		return f, err
	}
	for _, x := range []struct {
		name string
		to   *string
	}{{"queue", &f.queue}, {"application", &f.app}, {"user", &f.user}, {"waitingState", &f.waitingState}} {
		*x.to = f.query.Get(x.name)
	}
	switch f.waitingState = strings.ToLower(f.waitingState); {
	case f.limit > maxAskLimit:
		return f, badRequest("limit %d: it is %d at most", f.limit, maxAskLimit)
	case f.waitingState != "" && !slices.Contains(waitingStates, f.waitingState):
		return f,
			badRequest("waitingState %q: it is one of %s", truncated(f.waitingState), strings.Join(waitingStates, ", "))
	case f.limit == 0:
		f.limit = defaultAskLimit
	}
	f.queue = strings.ToLower(f.queue)
	if f.queue != "" {
		for _, level := range strings.Split(f.queue, ".") {
			if !queueLevel.MatchString(level) {
				return f, badQueueName(f.queue)
			}
		}
	}
	if text := f.query.Get("olderThan"); text != "" {
		if f.olderThan, err = time.ParseDuration(text); err != nil || f.olderThan < 0 {
			return f, badRequest("olderThan %q: it is a duration such as 5m", truncated(text))
		}
	}
	if f.after != "" {
		nanos, key, found := strings.Cut(f.after, " ")
		n, err := strconv.ParseInt(nanos, 10, 64)
		if err != nil || !found {
			return f,
				badPlace(f.after, "the time of the request in nanoseconds and the key of an ask, with a space between them")
		}
		f.created, f.key = time.Unix(0, n), key
	}
	return f, nil
}

// placeOf is the place of an ask in the list.
func placeOf(a pendingAsk) string {
	return strconv.FormatInt(a.view.Created.UnixNano(), 10) + " " + string(a.view.Ask.Key)
}

// matches reports whether the filter selects an ask, whatever page it is on.
func (f *askFilter) matches(a pendingAsk, now time.Time) bool {
	return (f.user == "" || a.app.User.Name == f.user) && (f.app == "" || string(a.app.ID) == f.app) &&
		(f.waitingState == "" || strings.EqualFold(a.view.Waiting.State.String(), f.waitingState) ||
			f.waitingState == "reserved" && a.view.Reserved != "") &&
		(f.olderThan == 0 || now.Sub(a.view.Created) >= f.olderThan)
}

// isAfter reports whether an ask comes after the page before.
func (f *askFilter) isAfter(a pendingAsk) bool {
	return f.after == "" || cmp.Or(a.view.Created.Compare(f.created), cmp.Compare(string(a.view.Ask.Key), f.key)) > 0
}

// search returns the asks of the page in order, and one more if there is one behind it. total is how many match, on all
// pages. The cost grows with the number of asks below the queue, and the memory with the limit only.
func (f *askFilter) search(ctx context.Context, top *scheduler.QueueView, now time.Time) (found []pendingAsk,
	total int) {
	slot := cpushare.Readers.Acquire(ctx)
	defer slot.Release()
	var first askHeap
	eachApplication(top, true, func(app *scheduler.ApplicationView, path objects.QueuePath) bool {
		if app.Pending.IsZero() {
			slot.Yield()
			return true // it has no pending ask
		}
		for view := range app.Allocations.All() {
			slot.Yield()
			a := pendingAsk{view, app, path}
			if view.Node != "" || !f.matches(a, now) {
				continue
			}
			total++
			if f.isAfter(a) {
				first.add(a, f.limit+1)
			}
		}
		return true
	})
	slices.SortFunc(first, compareAsks)
	return first, total
}

// askHeap keeps the asks that come first. The last of them is on top.
type askHeap []pendingAsk

// add adds an ask, and removes the last one if there are more than most.
func (h *askHeap) add(a pendingAsk, most int) {
	if len(*h) == most {
		if compareAsks(a, (*h)[0]) >= 0 {
			return
		}
		(*h)[0] = a
		heap.Fix(h, 0)
		return
	}
	heap.Push(h, a)
}

func (h askHeap) Len() int           { return len(h) }
func (h askHeap) Less(i, j int) bool { return compareAsks(h[i], h[j]) > 0 }
func (h askHeap) Swap(i, j int)      { h[i], h[j] = h[j], h[i] }

// Push implements heap.Interface.
func (h *askHeap) Push(x any) {
	a, _ := x.(pendingAsk)
	*h = append(*h, a)
}

// Pop implements heap.Interface.
func (h *askHeap) Pop() any {
	last := (*h)[len(*h)-1]
	*h = (*h)[:len(*h)-1]
	return last
}

// maxRejectedAsks bounds the list of rejected asks.
const maxRejectedAsks = 1000

// rejectedAsks lists the asks of a partition that were rejected, the newest first, from the event history (APP-48).
func (s *service) rejectedAsks(r *http.Request) (any, error) {
	if _, err := s.partition(r); err != nil {
		return nil, err
	}
	partition, _ := parameter(r, "partition")
	list := []dao.RejectedAsk{}
	if s.opt.History == nil {
		return list, nil
	}
	slot := cpushare.Readers.Acquire(r.Context())
	defer slot.Release()
	for _, x := range s.opt.History.Newest(maxRejectedAsks, func(x *events.Record) bool {
		slot.Yield()
		return x.Rejected && x.Type == events.Request && x.Partition == partition
	}) {
		list = append(list, dao.RejectedAsk{
			AllocationKey: x.Object, ApplicationID: x.Reference, RejectedMessage: x.Message, Time: dao.Nanos(x.At),
		})
	}
	return list, nil
}
