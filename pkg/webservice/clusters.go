package webservice

import (
	"maps"
	"net/http"

	"github.com/canopy-scheduler/canopy/pkg/webservice/dao"
)

// clusters lists the partitions with the resource manager that is registered, which has all of them (OBS-95).
func (s *service) clusters(*http.Request) (any, error) { return s.clusterBodies(), nil }

func (s *service) clusterBodies() []dao.Cluster {
	out, info := []dao.Cluster{}, s.buildInfo()
	for _, name := range s.cluster.Partitions() {
		out = append(out,
			dao.Cluster{StartTime: dao.Nanos(s.opt.Started), BuildInfo: info, Partition: name, ClusterName: dao.ClusterName})
	}
	return out
}

// buildInfo is the build information of the registered resource managers, each with its ID.
func (s *service) buildInfo() (all []map[string]string) {
	if s.opt.Managers == nil {
		return nil
	}
	for _, m := range s.opt.Managers.List() {
		info := map[string]string{}
		maps.Copy(info, m.BuildInfo)
		info["rmId"] = m.ID
		all = append(all, info)
	}
	return all
}
