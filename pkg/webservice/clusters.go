package webservice

import (
	"maps"
	"net/http"

	"github.com/canopy-scheduler/canopy/pkg/webservice/dao"
)

// clusters lists the partitions with the resource manager that is registered (OBS-95).
func (s *service) clusters(*http.Request) (any, error) {
	out := []dao.Cluster{}
	for _, name := range s.cluster.Partitions() {
		out = append(out, dao.Cluster{
			StartTime: dao.Nanos(s.opt.Started), BuildInfo: s.buildInfo(name), Partition: name, ClusterName: dao.ClusterName,
		})
	}
	return out, nil
}

// buildInfo is the build information of the resource managers of a partition, each with its ID.
func (s *service) buildInfo(partition string) (all []map[string]string) {
	if s.opt.Managers == nil {
		return nil
	}
	for _, m := range s.opt.Managers.List() {
		for _, p := range m.Partitions {
			if p == partition {
				info := maps.Clone(m.BuildInfo)
				if info == nil {
					info = map[string]string{}
				}
				info["rmId"] = m.ID
				all = append(all, info)
			}
		}
	}
	return all
}
