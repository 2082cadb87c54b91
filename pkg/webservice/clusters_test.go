package webservice_test

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"
	"time"

	"gotest.tools/v3/assert"

	"github.com/canopy-scheduler/canopy/pkg/objects"
	"github.com/canopy-scheduler/canopy/pkg/resources"
	"github.com/canopy-scheduler/canopy/pkg/scheduler"
	"github.com/canopy-scheduler/canopy/pkg/security"
	"github.com/canopy-scheduler/canopy/pkg/webservice"
)

// oneManager is a scheduler with one resource manager.
type oneManager struct{ webservice.ResourceManager }

func (m oneManager) List() []webservice.ResourceManager {
	return []webservice.ResourceManager{m.ResourceManager}
}
func (oneManager) Release(string, bool) error { return webservice.ErrNoManager }

func TestClusters_HaveTheBuildInfoOfTheirResourceManager(t *testing.T) {
	c := startCluster(t, clusterYAML)
	rm := oneManager{webservice.ResourceManager{ID: "rm-1", BuildInfo: map[string]string{"buildVersion": "1.9.0"}}}
	w := request(c, webservice.Options{Process: webservice.Process{Started: noon},
		Sources: webservice.Sources{Managers: rm}}, http.MethodGet, "/ws/v1/clusters")
	assert.Equal(t, w.Code, http.StatusOK)
	assert.Equal(t, w.Body.String(),
		`[{"startTime":1767355200000000000,"rmBuildInformation":[{"buildVersion":"1.9.0","rmId":"rm-1"}],`+
			`"partition":"default","clusterName":"kubernetes"},`+
			`{"startTime":1767355200000000000,"rmBuildInformation":[{"buildVersion":"1.9.0","rmId":"rm-1"}],`+
			`"partition":"empty","clusterName":"kubernetes"}]`)
	assert.Equal(t, len(rm.BuildInfo), 1, "the information of the resource manager was changed")

	assert.Equal(t, fetch(c, "/ws/v1/clusters").Body.String(),
		`[{"partition":"default","clusterName":"kubernetes"},{"partition":"empty","clusterName":"kubernetes"}]`)
}

// The share of a bucket is above its lower and up to its upper bound; nothing allocated is in the first.
func TestNodeUtilizations_BoundsOfBuckets(t *testing.T) {
	c := startCluster(t, clusterYAML)
	l, _ := c.Partition("default")
	cores := func(n resources.Quantity) resources.Amounts {
		return amounts(map[string]resources.Quantity{"vcore": n})
	}
	mustCall(t, l, scheduler.AddApplication{App: "app", User: security.User{Name: "ann"}, Queue: "root.idle"})
	for node, used := range map[objects.NodeID]resources.Quantity{"n0": 0, "n1": 1, "n10": 100, "n11": 101, "n90": 900,
		"n91": 901, "n99": 1000} {
		mustCall(t, l, scheduler.AddNode{Node: node, Total: cores(1000), Schedulable: true})
		if used > 0 {
			mustCall(t, l,
				scheduler.ReportAllocation{Node: node,
					Ask: &objects.Ask{Key: "on-" + objects.AllocationKey(node), App: "app", Amounts: cores(used)}})
		}
	}
	var all []struct {
		Partition    string
		Utilizations []struct {
			Type        string
			Utilization []struct {
				BucketName string
				NumOfNodes int
				NodeNames  []string
			}
		}
	}
	assert.NilError(t, json.Unmarshal(fetch(c, "/ws/v1/scheduler/node-utilizations").Body.Bytes(), &all))
	assert.Equal(t, len(all), 2)
	assert.Equal(t, len(all[1].Utilizations), 0, "a partition without nodes")
	assert.Equal(t, all[0].Utilizations[0].Type, "vcore")
	got := map[string]string{}
	names := []string{}
	for _, b := range all[0].Utilizations[0].Utilization {
		names = append(names, b.BucketName)
		assert.Equal(t, b.NumOfNodes, len(b.NodeNames))
		got[b.BucketName] = strings.Join(b.NodeNames, " ")
	}
	assert.Equal(t, strings.Join(names, " "), "0-10% 10-20% 20-30% 30-40% 40-50% 50-60% 60-70% 70-80% 80-90% 90-100%")
	assert.Equal(t, got["0-10%"], "n0 n1 n10")
	assert.Equal(t, got["10-20%"], "n11")
	assert.Equal(t, got["80-90%"], "n90")
	assert.Equal(t, got["90-100%"], "n91 n99")
}

func TestQueue_SubtreeIsByPresence(t *testing.T) {
	c := busyCluster(t)
	const target = "/ws/v1/partition/default/queue/root.tenant"
	plain, whole := fetch(c, target), fetch(c, target+"?subtree")
	assert.Equal(t, plain.Code, http.StatusOK)
	assert.Equal(t, whole.Header().Get("Warning"), "")
	var one, tree struct {
		QueueName, Partition string
		RunningApps          int
		ChildNames           []string
		Children             []map[string]any
	}
	assert.NilError(t, json.Unmarshal(plain.Body.Bytes(), &one))
	assert.NilError(t, json.Unmarshal(whole.Body.Bytes(), &tree))
	assert.Equal(t, one.QueueName, "root.tenant")
	assert.Equal(t, one.Partition, "default")
	assert.Equal(t, len(one.Children), 0)
	assert.Equal(t, len(tree.Children), len(tree.ChildNames))
	assert.DeepEqual(t, one.ChildNames, tree.ChildNames)
	assert.Equal(t, one.RunningApps, tree.RunningApps)
	assert.Equal(t, fetch(c, "/ws/v1/partition/default/queue/root.none").Code, http.StatusNotFound)
}

// A queue by itself is what the tree shows of it.
func TestQueue_EqualsTheTree(t *testing.T) {
	c := busyCluster(t)
	var tree map[string]any
	assert.NilError(t, json.Unmarshal(fetch(c, "/ws/v1/partition/default/queues").Body.Bytes(), &tree))
	checked := 0
	var check func(q map[string]any)
	check = func(q map[string]any) {
		path, _ := q["queuename"].(string)
		var one map[string]any
		target := "/ws/v1/partition/default/queue/" + strings.ReplaceAll(path, "/", "%252F") + "?subtree"
		assert.NilError(t, json.Unmarshal(fetch(c, target).Body.Bytes(), &one), target)
		one["partition"] = q["partition"]
		assert.DeepEqual(t, one, q)
		checked++
		below, _ := q["children"].([]any)
		for _, child := range below {
			q, _ := child.(map[string]any)
			check(q)
		}
	}
	check(tree)
	assert.Assert(t, checked >= 5, "%d queues", checked)
}

func TestHistory_ApplicationsAndContainers(t *testing.T) {
	c := busyCluster(t)
	day := new(webservice.TotalsHistory)
	opt := webservice.Options{Sources: webservice.Sources{Totals: day}}
	for _, kind := range []string{"apps", "containers"} {
		assert.Equal(t, request(c, opt, http.MethodGet, "/ws/v1/history/"+kind).Body.String(), "[]")
		assert.Equal(t, fetch(c, "/ws/v1/history/"+kind).Code, http.StatusNotFound, "without a history")
	}
	x, ok := webservice.Totals(t.Context(), c)
	assert.Assert(t, ok && x.Applications > 0 && x.Allocations > 0, "%+v", x)
	x.At = noon
	day.Add(x)
	day.Add(webservice.TotalsSample{At: noon.Add(time.Minute), Applications: 7, Allocations: 12})
	assert.Equal(t, request(c, opt, http.MethodGet, "/ws/v1/history/apps").Body.String(),
		`[{"timestamp":1767355200000000000,"totalApplications":"1"},`+
			`{"timestamp":1767355260000000000,"totalApplications":"7"}]`)
	assert.Equal(t, request(c, opt, http.MethodGet, "/ws/v1/history/containers").Body.String(),
		`[{"timestamp":1767355200000000000,"totalContainers":"2"},{"timestamp":1767355260000000000,"totalContainers":"12"}]`)
}
