package webservice_test

import (
	"encoding/json"
	"net/http/httptest"
	"testing"
	"testing/synctest"
	"time"

	"gotest.tools/v3/assert"

	"github.com/canopy-scheduler/canopy/internal/server/loop"
	"github.com/canopy-scheduler/canopy/pkg/configs/queuesyaml"
	"github.com/canopy-scheduler/canopy/pkg/objects"
	"github.com/canopy-scheduler/canopy/pkg/resources"
	"github.com/canopy-scheduler/canopy/pkg/scheduler"
	"github.com/canopy-scheduler/canopy/pkg/security"
	"github.com/canopy-scheduler/canopy/pkg/webservice"
	"github.com/canopy-scheduler/canopy/pkg/webservice/dao"
)

const quotaYAML = `
partitions:
  - name: default
    queues:
      - name: root
        submitacl: '*'
        queues:
          - {name: max, resources: {max: {vcore: 1}}}
          - {name: limit, limits: [{limit: ann, users: [ann], maxresources: {vcore: 1}}]}
          - {name: free}
`

// Texts of YuniKorn say which quota an ask waits for, others what the resource manager has said about nodes (OBS-21).
func TestAllocationLog_QuotasAndRefusals(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		conf, problems := queuesyaml.Load([]byte(quotaYAML))
		assert.Assert(t, !problems.HasErrors(), "%v", problems)
		c := loop.NewCluster(loop.Options{}, func(string) loop.Sink { return discardSink{} }, nil)
		t.Cleanup(c.End)
		assert.NilError(t, c.Configure(t.Context(), conf))
		l, _ := c.Partition("default")
		mustCall(t, l,
			scheduler.AddNode{Node: "n1", Total: resources.FromMap(map[string]resources.Quantity{"vcore": 4000}),
				Schedulable: true})
		for app, vcore := range map[objects.AppID]resources.Quantity{"max": 1001, "limit": 1001, "free": 4001} {
			mustCall(t, l, scheduler.AddApplication{App: app, Queue: "root." + string(app), User: security.User{Name: "ann"}})
			mustCall(t, l, scheduler.SubmitAsk{Ask: &objects.Ask{
				Key: objects.AllocationKey(app), App: app,
				Amounts: resources.FromMap(map[string]resources.Quantity{"vcore": vcore}),
			}})
		}
		refused := time.Now()
		h := webservice.Handler(c,
			webservice.Options{Sources: webservice.Sources{Refusals: func(partition string,
				ask objects.AllocationKey) []dao.AskLog {
				if partition != "default" || ask == "max" {
					return nil
				}
				return []dao.AskLog{{Message: "a taint of " + string(ask), LastOccurrence: refused.UnixNano(), Count: 3}}
			}}})
		get := func(path string, into any) {
			w := httptest.NewRecorder()
			h.ServeHTTP(w, httptest.NewRequest("GET", defaultPartition+path, nil))
			d := json.NewDecoder(w.Body)
			d.DisallowUnknownFields()
			assert.NilError(t, d.Decode(into), path)
		}
		askOf := func(app string) dao.Ask {
			var a struct {
				dao.Application
				Requests []dao.Ask `json:"requests"`
			}
			get("application/"+app, &a)
			assert.Equal(t, len(a.Requests), 1)
			return a.Requests[0]
		}
		assert.Assert(t, !askOf("max").SchedulingAttempted)
		time.Sleep(5 * time.Second)
		synctest.Wait()

		at := askOf("max").AllocationLog[0].LastOccurrence
		assert.Assert(t, at > refused.UnixNano() && at <= time.Now().UnixNano())
		for app, want := range map[string][]dao.AskLog{
			"max": {{Message: "Not enough queue quota", LastOccurrence: at, Count: 1}},
			"limit": {{Message: "a taint of limit", LastOccurrence: refused.UnixNano(), Count: 3},
				{Message: "Not enough user quota", LastOccurrence: at, Count: 1}},
			"free": {{Message: "a taint of free", LastOccurrence: refused.UnixNano(), Count: 3}},
		} {
			ask := askOf(app)
			assert.DeepEqual(t, ask.AllocationLog, want)
			assert.Assert(t, ask.SchedulingAttempted)
			assert.Equal(t, ask.TriggeredScaleUp, app == "free")
		}
		var asks dao.PendingAsks
		get("asks", &asks)
		logged := map[string]int{}
		for a := range asks.Asks {
			logged[a.AllocationKey] = len(a.AllocationLog)
		}
		assert.DeepEqual(t, logged, map[string]int{"max": 1, "limit": 1, "free": 0}) // lists have no refusals
	})
}

// The text is about a quota only if that lacks resources.
func TestAllocationLog_KindsOfQuotas(t *testing.T) {
	for o := scheduler.NotPending; o <= scheduler.InRecoveryQueue; o++ {
		view := &scheduler.AllocationView{Ask: &objects.Ask{},
			Waiting: objects.WaitingReport{State: objects.WaitSkipped, Blocked: uint8(o), At: time.Unix(1, 0)}}
		text := ""
		for _, entry := range dao.NewAsk(view, nil).AllocationLog {
			text += entry.Message
		}
		want := map[scheduler.PendingReason]string{
			scheduler.AskExceedsMax: "Not enough queue quota", scheduler.NoQueueHeadroom: "Not enough queue quota",
			scheduler.AskExceedsLimit: "Not enough user quota", scheduler.NoLimitHeadroom: "Not enough user quota",
		}[o]
		assert.Equal(t, text, want, o.Code())
	}
}
