package dao_test

import (
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/canopy-scheduler/canopy/pkg/canopy"
	"gotest.tools/v3/assert"

	"github.com/apache/yunikorn-core/pkg/webservice/dao"
)

// rest is the answer of a scheduler without a resource manager.
func rest(t *testing.T, s *canopy.Server, path string) []byte {
	t.Helper()
	r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, path, http.NoBody)
	r.Header.Set("Accept", "application/json")
	w := httptest.NewRecorder()
	s.Handler().ServeHTTP(w, r)
	assert.Equal(t, w.Code, http.StatusOK, "%s: %s", path, w.Body)
	return w.Body.Bytes()
}

func started(t *testing.T) *canopy.Server {
	t.Helper()
	s, err := canopy.Start(t.Context(), canopy.Options{})
	assert.NilError(t, err)
	t.Cleanup(func() { assert.NilError(t, s.Close()) })
	return s
}

// Each field is in the description of REST, under the name by which it is decoded, or one of those that
// docs/YUNIKORN.md lists as absent.
func TestFields_AreInTheDescriptionOfREST(t *testing.T) {
	var description struct {
		Components struct {
			Schemas map[string]struct{ Properties map[string]any }
		}
	}
	assert.NilError(t, json.Unmarshal(rest(t, started(t), "/ws/v1/openapi.json"), &description))
	for _, x := range []struct {
		body           any
		schema, absent string
	}{
		{dao.ClusterDAOInfo{}, "Cluster", ""},
		{dao.PartitionInfo{}, "Partition", ""},
		{dao.PartitionCapacity{}, "Capacity", ""},
		{dao.NodeSortingPolicy{}, "NodeSort", ""},
		{dao.PartitionQueueDAOInfo{}, "Queue", "allocatingAcceptedApps"},
		{dao.TemplateInfo{}, "Template", ""},
		{dao.ApplicationDAOInfo{}, "Application", "backoffDeadline"},
		{dao.StateDAOInfo{}, "State", ""},
		{dao.PlaceholderDAOInfo{}, "TaskGroup", ""},
		{dao.ResourceHistory{}, "UsageHistory", ""},
		{dao.AllocationAskDAOInfo{}, "Ask", "allocationLog schedulingAttempted triggeredScaleUp"},
		{dao.AllocationDAOInfo{}, "Allocation", "placeholderUsed"},
		{dao.ForeignAllocationDAOInfo{}, "Foreign", "allocationTime priority"},
		{dao.NodeDAOInfo{}, "Node", ""},
		{dao.UserResourceUsageDAOInfo{}, "UserUsage", ""},
		{dao.GroupResourceUsageDAOInfo{}, "GroupUsage", ""},
		{dao.ResourceUsageDAOInfo{}, "QueueUsage", ""},
		{dao.PartitionNodesUtilDAOInfo{}, "NodeUtilizations", ""},
		{dao.NodesUtilDAOInfo{}, "NodeUtilization", ""},
		{dao.NodeUtilDAOInfo{}, "UtilizationBucket", ""},
		{dao.ApplicationHistoryDAOInfo{}, "ApplicationSample", ""},
		{dao.ContainerHistoryDAOInfo{}, "ContainerSample", ""},
		{dao.SchedulerHealthDAOInfo{}, "HealthCheck", ""},
		{dao.HealthCheckInfo{}, "Check", ""},
		{dao.EventRecordDAO{}, "EventBatch", ""},
		{dao.RuleDAO{}, "PlacementRule", ""},
		{dao.FilterDAO{}, "PlacementFilter", ""},
		{dao.RuleDAOInfo{}, "PartitionRules", ""},
		{dao.NodesDAOInfo{}, "PartitionNodes", ""},
		{dao.ValidateConfResponse{}, "Validation", ""},
		{dao.YAPIError{}, "Error", ""},
	} {
		schema, ok := description.Components.Schemas[x.schema]
		if !ok {
			t.Errorf("there is no schema %s", x.schema)
			continue
		}
		absent := strings.Fields(x.absent)
		for _, f := range reflect.VisibleFields(reflect.TypeOf(x.body)) {
			name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
			if name == "" {
				name = f.Name
			}
			if _, described := schema.Properties[name]; !described && !slices.Contains(absent, name) {
				t.Errorf("%T: %s has no %s", x.body, x.schema, name)
			}
		}
	}
}

// The configuration comes as JSON with the header that asks for it.
func TestConfig_Decodes(t *testing.T) {
	s := started(t)
	var config *dao.ConfigDAOInfo
	assert.NilError(t, json.Unmarshal(rest(t, s, "/ws/v1/config"), &config))
	assert.Equal(t, config.Checksum, s.Generation().Checksum)
	assert.Equal(t, config.Partitions[0].PlacementRules[0].Value, "namespace")
	assert.Equal(t, config.Partitions[0].Queues[0].SubmitACL, "*")
}

func TestAnswers_Decode(t *testing.T) {
	s := started(t)
	var queue *dao.PartitionQueueDAOInfo
	assert.NilError(t, json.Unmarshal(rest(t, s, "/ws/v1/partition/default/queues"), &queue))
	assert.Equal(t, queue.QueueName+" "+queue.Partition, "root default")
	assert.Assert(t, queue.IsManaged)
	var health dao.SchedulerHealthDAOInfo
	assert.NilError(t, json.Unmarshal(rest(t, s, "/ws/v1/scheduler/healthcheck"), &health))
	assert.Assert(t, health.Healthy && health.HealthChecks[0].Name != "" && health.HealthChecks[0].Succeeded)
	var partitions []*dao.PartitionInfo
	assert.NilError(t, json.Unmarshal(rest(t, s, "/ws/v1/partitions"), &partitions))
	assert.Equal(t, partitions[0].NodeSortingPolicy.Type, "fair")
	var rules []*dao.RuleDAOInfo
	assert.NilError(t, json.Unmarshal(rest(t, s, "/ws/v1/partition/default/placementrules"), &rules))
}

func TestNewYAPIError(t *testing.T) {
	e := dao.NewYAPIError(errors.New("no such queue"), http.StatusNotFound, "not found")
	assert.Equal(t, *e, dao.YAPIError{StatusCode: 404, Message: "not found", Description: "no such queue"})
	assert.Equal(t, dao.NewYAPIError(nil, http.StatusNotFound, "x").Description, "Not Found")
}
