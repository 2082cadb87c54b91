package webservice

import (
	"context"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/go-json-experiment/json"
	"go.uber.org/zap"

	"github.com/canopy-scheduler/canopy/pkg/lifecycle"
	"github.com/canopy-scheduler/canopy/pkg/persistent"
	"github.com/canopy-scheduler/canopy/pkg/scheduler"
	"github.com/canopy-scheduler/canopy/pkg/webservice/dao"
)

// Server-sent events that say what has changed, for pages that show it (WEB-5 to WEB-7). They have no state:
// a page reads again what it shows.

const (
	// DefaultLiveStreams is for Options.MaxLiveStreams.
	DefaultLiveStreams = 256

	liveInterval  = time.Second      // between two messages to a client
	liveKeepAlive = 15 * time.Second // without a message, a client gets a comment
	liveTimeout   = 10 * time.Second // how long a partition may take to answer
)

// live counts changes for all clients, and bounds these.
type live struct {
	streams atomic.Int64 // open ones

	mu         sync.Mutex // guards the following
	partitions map[string]*liveTopics
}

// liveTopics are the numbers of changes of a partition, and the views by which the next change is noticed.
type liveTopics struct {
	dao.LivePartition
	root      *scheduler.QueueView
	nodes     persistent.List[scheduler.NodeView]
	completed persistent.List[lifecycle.Ended]
	rejected  persistent.List[lifecycle.Ended]
}

// observe counts what differs between a snapshot and the last one. Unchanged views are shared (OBS-5), so this
// compares pointers.
func (t *liveTopics) observe(snap *scheduler.Snapshot) {
	if snap.Root != t.root {
		t.Queues++
	}
	if snap.Root != t.root || !snap.Completed.SameAs(t.completed) || !snap.Rejected.SameAs(t.rejected) {
		t.Applications++
	}
	if !snap.Nodes.SameAs(t.nodes) {
		t.Nodes++
	}
	t.root, t.nodes, t.completed, t.rejected = snap.Root, snap.Nodes, snap.Completed, snap.Rejected
}

// liveState returns what has changed so far. A partition that does not answer in time keeps its numbers.
func (s *service) liveState(ctx context.Context) dao.Live {
	ctx, cancel := context.WithTimeout(ctx, liveTimeout)
	defer cancel()
	body := dao.Live{Partitions: map[string]dao.LivePartition{}}
	names := s.cluster.Partitions()
	s.live.keep(names)
	for _, name := range names {
		l, ok := s.cluster.Partition(name)
		if !ok {
			continue // a reload has just removed it
		}
		snap, err := s.snapshots.get(ctx, l)
		body.Partitions[name] = s.live.count(name, snap, err)
	}
	if s.opt.History != nil {
		body.Instance, body.Events = s.opt.History.ID(), s.opt.History.Counts().Added
	}
	if s.opt.Reloads != nil {
		body.Generation = s.opt.Reloads.Current().Number
	}
	return body
}

// count counts the changes of a partition; with an error the numbers stay.
func (v *live) count(name string, snap *scheduler.Snapshot, err error) dao.LivePartition {
	v.mu.Lock()
	defer v.mu.Unlock()
	t := v.partitions[name]
	if t == nil {
		t = new(liveTopics)
		if v.partitions == nil {
			v.partitions = map[string]*liveTopics{}
		}
		v.partitions[name] = t
	}
	if err == nil {
		t.observe(snap)
	}
	return t.LivePartition
}

// keep drops the partitions that are not among names.
func (v *live) keep(names []string) {
	v.mu.Lock()
	defer v.mu.Unlock()
	maps.DeleteFunc(v.partitions, func(name string, _ *liveTopics) bool { return !slices.Contains(names, name) })
}

// admit reports whether one more stream may be open; then leave must be called when it has ended.
func (v *live) admit(most int) bool {
	if v.streams.Add(1) <= int64(most) {
		return true
	}
	v.leave()
	return false
}

func (v *live) leave() { v.streams.Add(-1) }

// liveStream sends the numbers of changes when they have changed, at most once a second, until the client or
// the process ends, or the client is too slow (WEB-5, WEB-6).
func (s *service) liveStream(w http.ResponseWriter, r *http.Request) {
	most := s.opt.MaxLiveStreams
	if most == 0 {
		most = DefaultLiveStreams
	}
	if !s.live.admit(most) {
		w.Header().Set("Retry-After", "30")
		s.fail(w, r, refusal(http.StatusServiceUnavailable, "too many pages are open: %d get changes", most))
		return
	}
	defer s.live.leave()
	w.Header().Set("Content-Type", "text/event-stream")
	w.Header().Set("Cache-Control", "no-store")
	out := flushingWriter{w, http.NewResponseController(w)}
	// the stream outlives the time for reading a request; fails in tests without a connection
	_ = out.SetReadDeadline(time.Time{})
	err := s.sendChanges(r.Context(), out)
	if err != nil && r.Context().Err() == nil {
		s.opt.Log.Debug("live stream ended", zap.String("client", r.RemoteAddr), zap.Error(err))
	}
}

// sendChanges sends the numbers at once, and then whenever they have changed.
func (s *service) sendChanges(ctx context.Context, out flushingWriter) error {
	tick := time.NewTicker(liveInterval)
	defer tick.Stop()
	var last []byte
	var sent time.Time
	for {
		text, err := json.Marshal(s.liveState(ctx), answerOptions)
		if err != nil {
			return err
		}
		now := time.Now()
		switch {
		case string(text) != string(last):
			err = out.send(fmt.Appendf(nil, "event: changed\ndata: %s\n\n", text))
			last, sent = text, now
		case now.Sub(sent) >= liveKeepAlive:
			err = out.send([]byte(": keep-alive\n\n"))
			sent = now
		}
		if err != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return nil
		case <-s.opt.Closing:
			return nil
		case <-tick.C:
		}
	}
}
