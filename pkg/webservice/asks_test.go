package webservice_test

import (
	"encoding/json"
	"fmt"
	"iter"
	"math/rand/v2"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"gotest.tools/v3/assert"

	"github.com/canopy-scheduler/canopy/internal/server/loop"
	"github.com/canopy-scheduler/canopy/pkg/objects"
	"github.com/canopy-scheduler/canopy/pkg/resources"
	"github.com/canopy-scheduler/canopy/pkg/scheduler"
	"github.com/canopy-scheduler/canopy/pkg/security"
	"github.com/canopy-scheduler/canopy/pkg/webservice/dao"
)

// waitingCluster has pending asks of a few applications, some of the same time, and some allocations.
func waitingCluster(t *testing.T) *loop.Cluster {
	t.Helper()
	c := startCluster(t, clusterYAML)
	l, _ := c.Partition("default")
	mustCall(t, l,
		scheduler.AddNode{Node: "n1", Total: amounts(map[string]resources.Quantity{"vcore": 2000}), Schedulable: true})
	random := rand.New(rand.NewPCG(3, 4))
	for i := range 40 {
		app := objects.AppID(fmt.Sprint("app-", i%8))
		if i < 8 {
			mustCall(t, l, scheduler.AddApplication{
				App: app, User: security.User{Name: fmt.Sprint("user-", i%3)},
				Queue: []string{"root.tenant.fair", "root.tenant.odd/name", "root.idle"}[i%3],
			})
		}
		mustCall(t, l, scheduler.SubmitAsk{Ask: &objects.Ask{
			Key: objects.AllocationKey(fmt.Sprintf("key %02d", (i*17)%40)), App: app,
			Amounts: amounts(map[string]resources.Quantity{"vcore": 500}),
			Created: objects.TimestampOf(noon.Add(-time.Duration(1+random.IntN(10)) * time.Minute)),
		}})
	}
	mustCall(t, l)
	return c
}

func asksOf(t *testing.T, c *loop.Cluster, query string) (list dao.PendingAsks) {
	t.Helper()
	w := fetch(c, defaultPartition+"asks"+query)
	assert.Equal(t, w.Code, http.StatusOK, "%s %s", query, w.Body)
	d := json.NewDecoder(w.Body)
	d.DisallowUnknownFields()
	assert.NilError(t, d.Decode(&list))
	return list
}

func TestAsks_LongestWaitingFirst(t *testing.T) {
	c := waitingCluster(t)
	all := asksOf(t, c, "")
	assert.Equal(t, all.Partition, "default")
	assert.Assert(t, all.Total > 30 && all.Total < 40, "%d: some are placed", all.Total)
	assert.Equal(t, len(listed(all)), all.Total)
	assert.Equal(t, all.Next, "")
	assert.Assert(t, slices.IsSortedFunc(listed(all), func(a, b dao.PendingAsk) int {
		if a.RequestTime != b.RequestTime {
			return int(a.RequestTime/1e9 - b.RequestTime/1e9)
		}
		return strings.Compare(a.AllocationKey, b.AllocationKey)
	}))
	for _, a := range listed(all) {
		assert.Equal(t, a.WaitSeconds, noon.Unix()-a.RequestTime/1e9)
		assert.Equal(t, a.WaitingState, "UNREPORTED")
		assert.Assert(t, a.QueueName != "" && a.User != "" && a.Resource["vcore"] == 500)
	}
	for _, limit := range []int{1, 7, 100} {
		whole := fetch(c, defaultPartition+"asks").Body.String()
		pages := pagesOf(t, c, fmt.Sprint(defaultPartition, "asks?limit=", limit), "asks")
		assert.Assert(t, strings.HasSuffix(whole, `"asks":`+joined(pages)+"}"), "%d", limit)
	}
	first := asksOf(t, c, "?limit=2")
	second := asksOf(t, c, "?limit=2&after="+url.QueryEscape(first.Next))
	assert.DeepEqual(t, slices.Concat(listed(first), listed(second)), listed(all)[:4])
	assert.Equal(t, second.Total, all.Total)
}

func TestAsks_Filters(t *testing.T) {
	c := waitingCluster(t)
	all := listed(asksOf(t, c, ""))
	for query, wants := range map[string]func(a dao.PendingAsk) bool{
		"queue=root":              func(dao.PendingAsk) bool { return true },
		"queue=ROOT.tenant":       func(a dao.PendingAsk) bool { return strings.HasPrefix(a.QueueName, "root.tenant.") },
		"queue=root.idle":         func(a dao.PendingAsk) bool { return a.QueueName == "root.idle" },
		"application=app-3":       func(a dao.PendingAsk) bool { return a.ApplicationID == "app-3" },
		"application=none":        func(dao.PendingAsk) bool { return false },
		"user=user-2":             func(a dao.PendingAsk) bool { return a.User == "user-2" },
		"olderThan=5m":            func(a dao.PendingAsk) bool { return a.WaitSeconds >= 300 },
		"olderThan=5m&user=ann":   func(dao.PendingAsk) bool { return false },
		"waitingState=failed":     func(dao.PendingAsk) bool { return false },
		"waitingState=Unreported": func(dao.PendingAsk) bool { return true },
		"waitingState=reserved":   func(a dao.PendingAsk) bool { return a.ReservedNode != "" },
	} {
		want := slices.DeleteFunc(slices.Clone(all), func(a dao.PendingAsk) bool { return !wants(a) })
		got := asksOf(t, c, "?"+query)
		assert.Equal(t, got.Total, len(want), query)
		if len(want) > 0 {
			assert.DeepEqual(t, listed(got), want)
		}
	}
	some := asksOf(t, c, "?limit=1&fields=allocationKey,waitSeconds")
	assert.DeepEqual(t, listed(some),
		[]dao.PendingAsk{{Ask: dao.Ask{AllocationKey: all[0].AllocationKey}, WaitSeconds: all[0].WaitSeconds}})
}

// listed returns the asks of an answer.
func listed(answer dao.PendingAsks) []dao.PendingAsk {
	return slices.Collect(iter.Seq[dao.PendingAsk](answer.Asks))
}
