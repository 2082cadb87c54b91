package webservice_test

import (
	"encoding/json"
	"net/http"
	"testing"

	"gotest.tools/v3/assert"

	"github.com/canopy-scheduler/canopy/pkg/objects"
	"github.com/canopy-scheduler/canopy/pkg/resources"
	"github.com/canopy-scheduler/canopy/pkg/scheduler"
	"github.com/canopy-scheduler/canopy/pkg/security"
)

const classQuotaYAML = `
partitions:
- classesneedingquota: [{operator: In, classes: [high]}, {operator: Exists}]
  queues:
  - name: root
    submitacl: '*'
    classquotas: [{name: any, match: {operator: Exists}, hard: {pods: 9, gpu: 0}}]
    queues:
    - name: a
      classquotas:
      - {name: high, match: {operator: In, classes: [high]}, users: ['*'], groups: [dev], hard: {vcore: 4, pods: 3}}
      - {name: none, match: {operator: DoesNotExist}, users: [bob], hard: {memory: 1Gi}}
    - name: b
`

func TestClassQuotas_AreShown(t *testing.T) {
	c := startCluster(t, classQuotaYAML)
	l, ok := c.Partition("default")
	assert.Assert(t, ok)
	ask := func(key string) *objects.Ask {
		return &objects.Ask{Key: objects.AllocationKey(key), App: "app",
			Amounts: amounts(map[string]resources.Quantity{"vcore": 500, "memory": 7})}
	}
	mustCall(t, l,
		scheduler.AddNode{Node: "n1", Total: amounts(map[string]resources.Quantity{"vcore": 4000, "memory": 10}),
			Schedulable: true},
		scheduler.AddApplication{App: "app", User: security.User{Name: "ann", Groups: []string{"dev"}}, Queue: "root.a"},
		scheduler.SubmitAskWithClass{Ask: ask("one"), Class: "high"},
		scheduler.SubmitAskWithClass{Ask: ask("two"), Class: "high"},
		scheduler.SubmitAskWithClass{Ask: ask("three"), Class: "low"}, scheduler.SubmitAsk{Ask: ask("four")},
	)
	mustCall(t, l) // one ask is placed, the others are pending
	const (
		anyQuota = `"name":"any","match":{"operator":"Exists"},"hard":{"gpu":0,"pods":9},"used":{"gpu":0,"pods":3}}`
		high     = `"name":"high","match":{"operator":"In","classes":["high"]},"users":["*"],"groups":["dev"],` +
			`"hard":{"pods":3,"vcore":4000},"usedBy":[{"user":"ann","used":{"pods":2,"vcore":1000}},` +
			`{"group":"dev","used":{"pods":2,"vcore":1000}}]}`
		none = `"name":"none","match":{"operator":"DoesNotExist"},"users":["bob"],"hard":{"memory":1073741824}}`
	)
	w := fetch(c, "/ws/v1/partition/default/classquotas")
	wantAnswer(t, w, http.StatusOK,
		`{"partition":"default","classesNeedingQuota":[{"operator":"In","classes":["high"]},{"operator":"Exists"}],`+
			`"classQuotas":[{"queue":"root",`+anyQuota+`,{"queue":"root.a",`+high+`,{"queue":"root.a",`+none+`]}`)

	var root struct {
		ClassQuotas json.RawMessage
		Children    []struct{ ClassQuotas json.RawMessage }
	}
	assert.NilError(t, json.Unmarshal(fetch(c, "/ws/v1/partition/default/queues").Body.Bytes(), &root))
	assert.Equal(t, string(root.ClassQuotas), `[{`+anyQuota+`]`)
	assert.Equal(t, string(root.Children[0].ClassQuotas), `[{`+high+`,{`+none+`]`)
	assert.Assert(t, root.Children[1].ClassQuotas == nil)

	var app struct {
		Requests, Allocations []struct{ AllocationKey, PriorityClass string }
	}
	assert.NilError(t, json.Unmarshal(fetch(c, "/ws/v1/partition/default/application/app").Body.Bytes(), &app))
	classes := map[string]string{}
	for _, x := range append(app.Requests, app.Allocations...) {
		classes[x.AllocationKey] = x.PriorityClass
	}
	assert.DeepEqual(t, classes, map[string]string{"one": "high", "two": "high", "three": "low", "four": ""})
	assert.Equal(t, len(app.Allocations), 1)

	wantAnswer(t, fetch(startCluster(t, clusterYAML), "/ws/v1/partition/default/classquotas"), http.StatusOK,
		`{"partition":"default","classesNeedingQuota":[],"classQuotas":[]}`)
	assert.Equal(t, fetch(c, "/ws/v1/partition/none/classquotas").Code, http.StatusNotFound)
}
