package webservice_test

import (
	"encoding/json"
	"testing"
	"time"

	"gotest.tools/v3/assert"

	"github.com/canopy-scheduler/canopy/pkg/objects"
	"github.com/canopy-scheduler/canopy/pkg/resources"
	"github.com/canopy-scheduler/canopy/pkg/scheduler"
	"github.com/canopy-scheduler/canopy/pkg/security"
	"github.com/canopy-scheduler/canopy/pkg/webservice"
)

const limitsYAML = `
partitions:
  - name: default
    queues:
      - name: root
        submitacl: '*'
        limits:
          - {limit: named, users: [zoe], groups: [qa], maxapplications: 7}
          - {limit: all, users: ['*'], maxresources: {vcore: 9}}
        queues:
          - name: leaf
            limits: [{limit: ann, users: [ann], groups: [dev], maxresources: {vcore: 2}}]
`

func TestUsage_ShowsUsersAndGroupsNamedByLimits(t *testing.T) {
	c := startCluster(t, limitsYAML)
	l, _ := c.Partition("default")
	mustCall(t, l,
		scheduler.AddApplication{App: "a", Queue: "root.leaf", User: security.User{Name: "bob", Groups: []string{"dev"}}})
	get := func(target string) string { return fetch(c, "/ws/v1/partition/default/usage/"+target).Body.String() }

	assert.Equal(t, get("user/zoe"), `{"userName":"zoe","queues":{"queuePath":"root","maxApplications":7}}`)
	assert.Equal(t, get("user/ann"), `{"userName":"ann","queues":{"queuePath":"root","maxResources":{"vcore":9000},`+
		`"children":[{"queuePath":"root.leaf","maxResources":{"vcore":2000}}]}}`)
	assert.Equal(t, get("user/bob"), `{"userName":"bob","groups":{"a":"dev"},"queues":{"queuePath":"root",`+
		`"maxResources":{"vcore":9000},"children":[{"queuePath":"root.leaf"}]}}`)
	assert.Equal(t, get("group/qa"), `{"groupName":"qa","queues":{"queuePath":"root","maxApplications":7}}`)
	for target, want := range map[string][]string{"users": {"ann", "bob", "zoe"}, "groups": {"dev", "qa"}} {
		var all []struct{ UserName, GroupName string }
		assert.NilError(t, json.Unmarshal([]byte(get(target)), &all))
		var got []string
		for _, x := range all {
			got = append(got, x.UserName+x.GroupName)
		}
		assert.DeepEqual(t, got, want)
	}
	assert.Equal(t, fetch(c, "/ws/v1/partition/default/usage/user/carol").Code, 404,
		"a user with neither a limit of its own nor an application")
}

func TestFields_OfPartitionQueueAndAllocations(t *testing.T) {
	c := startCluster(t, limitsYAML)
	l, _ := c.Partition("default")
	vcore := func(n int64) resources.Amounts {
		return resources.FromMap(map[string]resources.Quantity{"vcore": resources.Quantity(n)})
	}
	mustCall(t, l,
		scheduler.AddNode{Node: "n", Total: vcore(10), Schedulable: true,
			Attributes: map[string]string{"si/instance-type": "m5"}},
		scheduler.AddApplication{App: "a", Queue: "root.leaf", User: security.User{Name: "ann"}},
		scheduler.SubmitAsk{Ask: &objects.Ask{Key: "old", App: "a", Amounts: vcore(2),
			Created: objects.TimestampOf(time.Unix(0, 0))}},
		scheduler.ReportAllocation{Node: "n",
			Ask: &objects.Ask{Key: "ran", App: "a", Amounts: vcore(3), Created: objects.TimestampOf(noon.Add(-time.Minute))}},
	)
	mustCall(t, l, scheduler.Release{App: "a", Key: "ran"})
	var app struct {
		Allocations []struct {
			AllocationKey   string
			AllocationDelay int64
		}
		ResourceHistory map[string]map[string]map[string]int64
	}
	body := fetch(c, "/ws/v1/partition/default/application/a").Body.Bytes()
	assert.NilError(t, json.Unmarshal(body, &app))
	assert.Equal(t, app.Allocations[0].AllocationKey, "old")
	assert.Equal(t, app.Allocations[0].AllocationDelay, int64(0),
		"the delay counts from the arrival of the ask, not from its creation")
	assert.DeepEqual(t, app.ResourceHistory,
		map[string]map[string]map[string]int64{"resourceUsage": {"m5": {"vcore": 180}}})

	opt := webservice.Options{Sources: webservice.Sources{ClusterID: func() string { return "rm-1" }}}
	var partitions []struct {
		ClusterID string `json:"clusterId"`
		Since     int64  `json:"lastStateTransitionTime"`
	}
	assert.NilError(t, json.Unmarshal(request(c, opt, "GET", "/ws/v1/partitions").Body.Bytes(), &partitions))
	assert.Equal(t, partitions[0].ClusterID, "rm-1")
	assert.Equal(t, partitions[0].Since, noon.UnixNano())
}
