package webservice_test

import (
	"encoding/json"
	"testing"

	"gotest.tools/v3/assert"

	"github.com/canopy-scheduler/canopy/pkg/gangs"
	"github.com/canopy-scheduler/canopy/pkg/objects"
	"github.com/canopy-scheduler/canopy/pkg/resources"
	"github.com/canopy-scheduler/canopy/pkg/scheduler"
	"github.com/canopy-scheduler/canopy/pkg/security"
)

// An application shows the placeholders of its task groups, and how they have ended; one without any shows nothing.
func TestGangs_PlaceholderData(t *testing.T) {
	c := startCluster(t, limitsYAML)
	l, _ := c.Partition("default")
	vcore := func(n int64) resources.Amounts {
		return resources.FromMap(map[string]resources.Quantity{"vcore": resources.Quantity(n)})
	}
	ask := func(key objects.AllocationKey, n int64, placeholder bool) scheduler.Command {
		return scheduler.SubmitAsk{Ask: &objects.Ask{Key: key, App: "a", Amounts: vcore(n), Placeholder: placeholder,
			Details: &objects.AskDetails{TaskGroup: "g"}}}
	}
	mustCall(t, l,
		scheduler.AddNode{Node: "n", Total: vcore(10), Schedulable: true},
		scheduler.AddApplication{App: "a", Queue: "root.leaf", User: security.User{Name: "ann"}},
		scheduler.AddApplication{App: "b", Queue: "root.leaf", User: security.User{Name: "ann"}},
		ask("p1", 2, true), ask("p2", 2, true), ask("p3", 1, true),
	)
	mustCall(t, l, ask("k1", 2, false))
	mustCall(t, l, scheduler.Release{App: "a", Key: "p1", Type: scheduler.PlaceholderReplaced})
	data := func(id string) string {
		var app struct{ PlaceholderData json.RawMessage }
		assert.NilError(t, json.Unmarshal(fetch(c, "/ws/v1/partition/default/application/"+id).Body.Bytes(), &app))
		return string(app.PlaceholderData)
	}
	assert.Equal(t, data("a"), `[{"taskGroupName":"g","count":3,"minResource":{"vcore":2},"replaced":1,"timedout":0}]`)
	mustCall(t, l, ask("k2", 2, false), ask("k3", 2, false))
	assert.Equal(t, data("a"), `[{"taskGroupName":"g","count":3,"minResource":{"vcore":2},"replaced":1,"timedout":1}]`,
		"k3 is larger than p3")
	assert.Equal(t, data("b"), "")

	// So does one that has ended: what was not replaced has timed out, or ended with it.
	mustCall(t, l, scheduler.RemoveApplication{App: "a"}, scheduler.RemoveApplication{App: "b"})
	var ended []struct {
		ApplicationID   string
		PlaceholderData json.RawMessage
	}
	assert.NilError(t, json.Unmarshal(fetch(c, "/ws/v1/partition/default/applications/completed").Body.Bytes(), &ended))
	assert.Equal(t, len(ended), 1) // b has never run
	assert.Equal(t, ended[0].ApplicationID, "a")
	assert.Equal(t, string(ended[0].PlaceholderData),
		`[{"taskGroupName":"g","count":3,"minResource":{"vcore":2},"replaced":1,"timedout":1}]`)
}

// Virtual placeholders are shown like others: they are there from the beginning, and end together (GAN-27).
func TestGangs_VirtualPlaceholderData(t *testing.T) {
	c := startCluster(t, limitsYAML)
	l, _ := c.Partition("default")
	vcore := func(n int64) resources.Amounts {
		return resources.FromMap(map[string]resources.Quantity{"vcore": resources.Quantity(n)})
	}
	mustCall(t, l,
		scheduler.AddNode{Node: "n", Total: vcore(10), Schedulable: true},
		scheduler.AddApplication{App: "a", Queue: "root.leaf", User: security.User{Name: "ann"}, Gang: gangs.Spec{
			Virtual: []gangs.VirtualGroup{{Name: "g", MinMember: 2, MinResources: vcore(3)}, {Name: "h", MinMember: 1}},
		}},
	)
	data := func() string {
		var app struct{ PlaceholderData json.RawMessage }
		assert.NilError(t, json.Unmarshal(fetch(c, "/ws/v1/partition/default/application/a").Body.Bytes(), &app))
		return string(app.PlaceholderData)
	}
	assert.Equal(t, data(),
		`[{"taskGroupName":"g","count":2,"minResource":{"vcore":3},"replaced":0,"timedout":0},`+
			`{"taskGroupName":"h","count":1,"minResource":{},"replaced":0,"timedout":0}]`)
	for key, group := range map[objects.AllocationKey]string{"g1": "g", "g2": "g", "h1": "h"} {
		mustCall(t, l,
			scheduler.SubmitAsk{Ask: &objects.Ask{Key: key, App: "a", Amounts: vcore(2),
				Details: &objects.AskDetails{TaskGroup: group}}})
	}
	assert.Equal(t, data(),
		`[{"taskGroupName":"g","count":2,"minResource":{"vcore":3},"replaced":2,"timedout":0},`+
			`{"taskGroupName":"h","count":1,"minResource":{},"replaced":1,"timedout":0}]`)
}
