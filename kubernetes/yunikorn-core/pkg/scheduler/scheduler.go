// Package scheduler reads the state of a running Canopy for programs in its process, such as the shim's tests.
//
// The package owns the way from REST, served in process, to pkg/scheduler/objects. It leaves the state and its
// consistency to Canopy, and changes to the scheduler interface. Where REST needs credentials nothing is found, because
// these reads have none.
//
// Invariant: each call reads the state at its time; nothing is kept.
package scheduler

import (
	"bytes"
	"encoding/json"
	"net/http"
	"net/url"
	"strings"

	"github.com/apache/yunikorn-core/pkg/scheduler/objects"
	"github.com/apache/yunikorn-core/pkg/webservice/dao"
)

// Scheduler is a running scheduler.
type Scheduler struct{ context *ClusterContext }

// NewScheduler is the scheduler whose REST is served by handler.
func NewScheduler(handler http.Handler) *Scheduler { return &Scheduler{&ClusterContext{handler}} }

// GetClusterContext is the cluster.
func (s *Scheduler) GetClusterContext() *ClusterContext { return s.context }

// ClusterContext is a cluster: its partitions.
type ClusterContext struct{ rest http.Handler }

// GetPartition is a partition, or nil if there is none of this name: "default", or "[rm]default" as resource managers
// write it.
func (c *ClusterContext) GetPartition(name string) *PartitionContext {
	name = partitionName(name)
	var all []dao.PartitionInfo
	c.get(&all, "partitions")
	for _, p := range all {
		if partitionName(p.Name) == name {
			return &PartitionContext{Name: name, cluster: c}
		}
	}
	return nil
}

// GetApplication is an application that has not ended, or nil if there is none of this ID in the partition.
func (c *ClusterContext) GetApplication(id, partition string) *objects.Application {
	var a dao.ApplicationDAOInfo
	if !c.get(&a, "partition", partitionName(partition), "application", id) || a.FinishedTime != nil {
		return nil
	}
	return objects.NewApplication(&a)
}

// GetNode is a node, or nil if there is none of this ID in the partition.
func (c *ClusterContext) GetNode(id, partition string) *objects.Node {
	var n dao.NodeDAOInfo
	if !c.get(&n, "partition", partitionName(partition), "node", id) {
		return nil
	}
	return objects.NewNode(&n)
}

// PartitionContext is a partition.
type PartitionContext struct {
	Name string

	cluster *ClusterContext
}

// GetApplications are the applications that have not ended.
func (p *PartitionContext) GetApplications() (out []*objects.Application) {
	var all []*dao.ApplicationDAOInfo
	p.cluster.get(&all, "partition", p.Name, "applications", "active")
	for _, a := range all {
		out = append(out, objects.NewApplication(a))
	}
	return out
}

// GetNodes are the nodes.
func (p *PartitionContext) GetNodes() (out []*objects.Node) {
	var all []*dao.NodeDAOInfo
	p.cluster.get(&all, "partition", p.Name, "nodes")
	for _, n := range all {
		out = append(out, objects.NewNode(n))
	}
	return out
}

// partitionName is the name of a partition without that of its resource manager.
func partitionName(name string) string {
	if _, bare, ok := strings.Cut(name, "]"); ok && strings.HasPrefix(name, "[") {
		return bare
	}
	return name
}

// get decodes the answer below /ws/v1 at the elements of a path. ok is false when there is no such thing.
func (c *ClusterContext) get(to any, elements ...string) (ok bool) {
	for i, e := range elements {
		elements[i] = url.PathEscape(e)
	}
	r, err := http.NewRequest(http.MethodGet, "/ws/v1/"+strings.Join(elements, "/"), http.NoBody)
	if err != nil {
		return false
	}
	r.Header.Set("Accept", "application/json")
	w := &answer{header: http.Header{}, status: http.StatusOK}
	c.rest.ServeHTTP(w, r)
	return w.status == http.StatusOK && json.Unmarshal(w.body.Bytes(), to) == nil
}

// answer is a http.ResponseWriter in memory.
type answer struct {
	header http.Header
	status int
	body   bytes.Buffer
}

func (a *answer) Header() http.Header         { return a.header }
func (a *answer) WriteHeader(status int)      { a.status = status }
func (a *answer) Write(p []byte) (int, error) { return a.body.Write(p) }
