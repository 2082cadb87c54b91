package webservice

import (
	"context"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"

	"github.com/canopy-scheduler/canopy/internal/server/cpushare"
	"github.com/canopy-scheduler/canopy/pkg/objects"
	"github.com/canopy-scheduler/canopy/pkg/scheduler"
	"github.com/canopy-scheduler/canopy/pkg/webservice/dao"
)

// nodes lists the nodes of a partition, or the part of them that the query asks for.
func (s *service) nodes(r *http.Request, snap *scheduler.Snapshot) (any, error) {
	p, err := readPage(r, dao.Node{})
	if err != nil {
		return nil, err
	}
	schedulable, err := boolOf(p.query, "schedulable")
	if err != nil {
		return nil, err
	}
	selected, more := selectPage(p, snap.Nodes.All(),
		func(n *scheduler.NodeView) bool { return string(n.ID) > p.after },
		func(n *scheduler.NodeView) bool { return schedulable == nil || n.Schedulable == *schedulable })
	return pageOf(p, selected, more, func(n *scheduler.NodeView) string { return string(n.ID) }, dao.NewNode), nil
}

// node shows one node.
func (s *service) node(r *http.Request, snap *scheduler.Snapshot) (any, error) {
	n, err := nodeIn(r, snap)
	if err != nil {
		return nil, err
	}
	if n == nil {
		return nil, notFound("Node") // the text of YuniKorn
	}
	return dao.NewNode(n), nil
}

// nodeIn returns the node in the path of a request; nil: there is none.
func nodeIn(r *http.Request, snap *scheduler.Snapshot) (*scheduler.NodeView, error) {
	id, err := parameter(r, "node")
	return snap.Node(objects.NodeID(id)), err
}

// boolOf returns the value of a parameter that is true or false; nil: the query does not have it.
func boolOf(query url.Values, name string) (*bool, error) {
	text, err := filterOf(query, name)
	if err != nil || text == "" {
		return nil, err
	}
	value := text == "true"
	if !value && text != "false" {
		return nil, badRequest("%s %q: it is true or false", name, truncated(text))
	}
	return &value, nil
}

// buckets is the number of buckets of a utilization.
const buckets = 10

// nodeUtilizations counts the nodes of each partition by the share of each resource that is allocated (OBS-96).
func (s *service) nodeUtilizations(r *http.Request) (any, error) {
	snaps, err := s.allSnapshots(r.Context())
	out := make([]dao.NodeUtilizations, len(snaps))
	for i, snap := range snaps {
		out[i] = dao.NodeUtilizations{ClusterID: s.clusterID(), Partition: snap.Partition,
			Utilizations: utilizationsOf(r.Context(), snap)}
	}
	return out, err
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
