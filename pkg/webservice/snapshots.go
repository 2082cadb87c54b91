package webservice

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"hash/fnv"
	"iter"
	"net/http"
	"strings"
	"sync"

	"github.com/canopy-scheduler/canopy/internal/server/coalesce"
	"github.com/canopy-scheduler/canopy/internal/server/loop"
	"github.com/canopy-scheduler/canopy/pkg/scheduler"
)

// snapshots shares snapshots between all readers. One is requested at a time for each partition, after its readers
// came, followed by a pause of three times its duration (OBS-3). It numbers them, for ETags.
type snapshots struct {
	process string // a random text that tells the numbers of this process from those of others

	mu     sync.Mutex
	byLoop map[*loop.Loop]*partitionSnapshots
}

// partitionSnapshots holds the snapshots of one partition.
type partitionSnapshots struct {
	group  coalesce.Group[*scheduler.Snapshot]
	last   *scheduler.Snapshot // that was numbered; guarded by snapshots.mu, like the next one
	number uint64
}

// readPauseFactor is the pause after a snapshot or a health check for readers, as a multiple of its duration: it takes
// a quarter of one processor at most, for any number of readers.
const readPauseFactor = 3

func newSnapshots() snapshots {
	return snapshots{process: rand.Text(), byLoop: map[*loop.Loop]*partitionSnapshots{}}
}

// of returns the snapshots of a partition, and drops those of partitions that have ended: a new one may have the same
// name.
func (s *snapshots) of(l *loop.Loop) *partitionSnapshots {
	s.mu.Lock()
	defer s.mu.Unlock()
	x := s.byLoop[l]
	if x == nil {
		for old := range s.byLoop {
			if old.Health().Ended {
				delete(s.byLoop, old)
			}
		}
		x = &partitionSnapshots{group: coalesce.Group[*scheduler.Snapshot]{Pause: readPauseFactor}}
		s.byLoop[l] = x
	}
	return x
}

// get returns a snapshot of a partition that is not older than the call.
func (s *snapshots) get(ctx context.Context, l *loop.Loop) (*scheduler.Snapshot, error) {
	return s.of(l).group.Do(ctx, l.Snapshot)
}

// etag returns the ETag of the answer to a request from a snapshot of a partition. It is weak: the answer may be
// compressed. An unchanged partition has the same snapshot, and so the same tag (OBS-19).
func (s *snapshots) etag(l *loop.Loop, snap *scheduler.Snapshot, r *http.Request) string {
	x := s.of(l)
	s.mu.Lock()
	defer s.mu.Unlock()
	if x.last != snap {
		x.last = snap
		x.number++
	}
	query := fnv.New64a()
	_, _ = query.Write([]byte(r.URL.RawQuery))
	return fmt.Sprintf(`W/"%s-%d-%x"`, s.process, x.number, query.Sum64())
}

// hasTag reports whether the client has the answer with the tag already.
func hasTag(r *http.Request, tag string) bool {
	for _, has := range strings.Split(r.Header.Get("If-None-Match"), ",") {
		has = strings.TrimSpace(has)
		if has == "*" || strings.TrimPrefix(has, "W/") == strings.TrimPrefix(tag, "W/") {
			return true
		}
	}
	return false
}

// partitionsOf yields the partitions of a cluster, in name order. A reload may remove one at any time.
func partitionsOf(c *loop.Cluster) iter.Seq2[string, *loop.Loop] {
	return func(yield func(string, *loop.Loop) bool) {
		for _, name := range c.Partitions() {
			if l, ok := c.Partition(name); ok && !yield(name, l) {
				return
			}
		}
	}
}

// allSnapshots returns a snapshot of each partition, in name order.
func (s *service) allSnapshots(ctx context.Context) (all []*scheduler.Snapshot, err error) {
	for name, l := range partitionsOf(s.cluster) {
		snap, err := s.snapshots.get(ctx, l)
		if _, configured := s.cluster.Partition(name); errors.Is(err, loop.ErrEnded) && !configured {
			continue
		}
		if err != nil {
			return nil, err
		}
		all = append(all, snap)
	}
	return all, nil
}
