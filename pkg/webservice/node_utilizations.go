package webservice

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"

	"github.com/canopy-scheduler/canopy/internal/server/cpushare"
	"github.com/canopy-scheduler/canopy/internal/server/loop"
	"github.com/canopy-scheduler/canopy/pkg/scheduler"
	"github.com/canopy-scheduler/canopy/pkg/webservice/dao"
)

// buckets is how many buckets a utilization has.
const buckets = 10

// nodeUtilizations counts the nodes of each partition by the share of each resource that is allocated (OBS-96).
func (s *service) nodeUtilizations(r *http.Request) (any, error) {
	out := []dao.NodeUtilizations{}
	for _, name := range s.cluster.Partitions() {
		l, ok := s.cluster.Partition(name)
		if !ok {
			continue // a reload has just removed it
		}
		snap, err := s.snapshots.get(r.Context(), l)
		if _, configured := s.cluster.Partition(name); errors.Is(err, loop.ErrEnded) && !configured {
			continue
		}
		if err != nil {
			return nil, err
		}
		one := dao.NodeUtilizations{Partition: name, Utilizations: utilizationsOf(r.Context(), snap)}
		if s.opt.ClusterID != nil {
			one.ClusterID = s.opt.ClusterID()
		}
		out = append(out, one)
	}
	return out, nil
}

func utilizationsOf(ctx context.Context, snap *scheduler.Snapshot) []dao.NodeUtilization {
	slot := cpushare.Readers.Acquire(ctx)
	defer slot.Release()
	byType := map[string][]dao.UtilizationBucket{}
	for n := range snap.Nodes.All() {
		slot.Yield()
		for name, total := range n.Total.All() {
			all := byType[name]
			if all == nil {
				all = make([]dao.UtilizationBucket, buckets)
				byType[name] = all
			}
			b := &all[bucketOf(int64(n.Allocated.Get(name)), int64(total))]
			b.NumOfNodes++
			b.NodeNames = append(b.NodeNames, string(n.ID))
		}
	}
	out := make([]dao.NodeUtilization, 0, len(byType))
	for _, name := range slices.Sorted(maps.Keys(byType)) {
		all := byType[name]
		for i := range all {
			all[i].BucketName = fmt.Sprintf("%d-%d%%", i*100/buckets, (i+1)*100/buckets)
		}
		out = append(out, dao.NodeUtilization{Type: name, Utilization: all})
	}
	return out
}

// bucketOf is the bucket of a share: its bounds are above the lower and up to the upper one. More than all is in the
// last.
func bucketOf(used, total int64) int {
	if used <= 0 || total <= 0 {
		return 0
	}
	share := float64(used) / float64(total) * buckets
	bucket := int(min(share, buckets))
	if float64(bucket) == share {
		bucket--
	}
	return min(max(bucket, 0), buckets-1)
}
