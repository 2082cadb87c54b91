package offline

import (
	"encoding/json"
	"strings"
	"testing"

	"gotest.tools/v3/assert"

	"github.com/canopy-scheduler/canopy/pkg/configs"
	"github.com/canopy-scheduler/canopy/pkg/configs/queuesyaml"
	"github.com/canopy-scheduler/canopy/pkg/placement"
	"github.com/canopy-scheduler/canopy/pkg/resources"
	"github.com/canopy-scheduler/canopy/pkg/security"
)

func TestPlace_CreatedQueues(t *testing.T) {
	w := newTestPartition(t, tenantsYAML, "default")
	ann := security.User{Name: "ann", Groups: []string{"ops", "dev"}}
	blue := placement.Submission{User: ann, Tags: map[string]string{"team": "blue"}}
	got := w.Place(blue)
	assert.Equal(t, got.Queue, "root.tenants.blue.ann", got.Reason)
	assert.Equal(t, got.Rule, "user")
	assert.DeepEqual(t, got.Access, &Access{Queue: "root.tenants", List: "submitacl", Name: "group ops"})
	leaf := CreatedQueue{Queue: "root.tenants.blue.ann", Template: "root.tenants", MaxApplications: 5,
		Max:        map[string]resources.Quantity{"vcore": 10500, "memory": 16 << 30},
		Guaranteed: map[string]resources.Quantity{"memory": 1 << 30},
		Properties: map[string]string{"application.sort.policy": "fair", "priority.offset": "10"}}
	assert.DeepEqual(t, got.Created, []CreatedQueue{{Queue: "root.tenants.blue", Parent: true}, leaf})

	assert.DeepEqual(t, w.Place(blue), got) // the first call left no state

	blue.Tags["team"] = "red" // root.tenants.red inherits the template
	got = w.Place(blue)
	assert.Equal(t, len(got.Created), 1)
	assert.Equal(t, got.Created[0].Template, "root.tenants")
}

func TestPlace_QuotaTags(t *testing.T) {
	w := newTestPartition(t, tenantsYAML, "default")
	ann := security.User{Name: "ann", Groups: []string{"ops", "dev"}}
	got := w.Place(placement.Submission{User: ann, Tags: map[string]string{
		"team": "blue", "namespace.resourcequota": `{"resources":{"vcore":{"value":7}}}`, "namespace.resourcemaxapps": "x",
	}})
	leaf := got.Created[1]
	assert.DeepEqual(t, leaf.Max, map[string]resources.Quantity{"vcore": 7})
	assert.DeepEqual(t, leaf.Guaranteed, map[string]resources.Quantity{"memory": 1 << 30})
	assert.DeepEqual(t, got.Warnings, []string{`tag namespace.resourcemaxapps: "x" is not a number of applications`})

	got = w.Place(placement.Submission{User: ann, Tags: map[string]string{"team": "blue"}})
	assert.Equal(t, got.Created[1].Max["vcore"], resources.Quantity(10500), "the queue was removed with its quota")
}

func TestPlace_Access(t *testing.T) {
	w := newTestPartition(t, tenantsYAML, "default")
	for _, c := range []struct {
		user   string
		groups []string
		queue  string
		want   *Access
	}{
		{"eve", nil, "root.open", &Access{"root.open", "submitacl", "*"}},
		{"admin", nil, "root.open", &Access{"root.open", "submitacl", "*"}},
		{"ann", []string{"x", "dev"}, "root.tenants.red", nil},
	} {
		got := w.Place(placement.Submission{Queue: c.queue, User: security.User{Name: c.user, Groups: c.groups}})
		assert.DeepEqual(t, got.Access, c.want)
		assert.Equal(t, got.Placed, c.want != nil)
	}
	admin := placement.Submission{User: security.User{Name: "admin"}, Tags: map[string]string{"team": "red"}}
	assert.DeepEqual(t, w.Place(admin).Access, &Access{"root", "adminacl", "user admin"})
}

func TestPlace_Rejects(t *testing.T) {
	w := newTestPartition(t, tenantsYAML, "default")
	eve := placement.Submission{Queue: "root.tenants.red.x", User: security.User{Name: "eve"},
		Tags: map[string]string{"team": "b!"}}
	got := w.Place(eve)
	assert.Assert(t, !got.Placed)
	assert.Equal(t, got.Queue, "")
	assert.Equal(t, got.Reason, `placement rule user: "b!" is not a legal queue name`)
	assert.Equal(t, got.Steps[1].Outcome, "rejected")
	assert.Equal(t, got.Steps[1].Parent.Outcome, "rejected")

	// A rule may name a queue that cannot be created; the creation fails (PLC-8).
	w = newTestPartition(t,
		"partitions: [{placementrules: [{name: provided, create: true}], queues: [{name: root, submitacl: '*', queues: "+
			"[{name: a}]}]}]", "default")
	got = w.Place(placement.Submission{Queue: "root.a.b", User: security.User{Name: "eve"}})
	assert.Equal(t, got.Reason, "queue root.a.b cannot be created: root.a is a leaf")
	assert.Equal(t, len(got.Created), 0)
	text, err := json.Marshal(got)
	assert.NilError(t, err)
	assert.Equal(t, string(text), `{"partition":"default","user":"eve","groups":[],"placed":false,`+
		`"reason":"queue root.a.b cannot be created: root.a is a leaf",`+
		`"steps":[{"rule":"provided","outcome":"named","queue":"root.a.b"}]}`)
}

func TestPlace_CreateForcedGoesToRecoveryQueue(t *testing.T) {
	w := newTestPartition(t, tenantsYAML, "default")
	for _, s := range []placement.Submission{
		{User: security.User{Name: "eve"}, CreateForced: true},
		{User: security.User{Name: "eve"}, Tags: map[string]string{"application.create.force": "true"}},
	} {
		got := w.Place(s)
		assert.Equal(t, got.Queue, "root.@recovery@")
		assert.Equal(t, got.Rule, "recovery")
		assert.Assert(t, got.Access == nil)
		assert.DeepEqual(t, got.Created, []CreatedQueue{{Queue: "root.@recovery@", Properties: map[string]string{}}})
	}
}

func TestNew_FindsPartitionByName(t *testing.T) {
	assert.Equal(t, newTestPartition(t, tenantsYAML, "gpu").conf.Name, "GPU")
	conf, _ := queuesyaml.Load([]byte(tenantsYAML))
	_, err := New(conf, "cpu")
	assert.Error(t, err, `there is no partition "cpu": the configuration has default, GPU`)
	_, err = New(&configs.Config{}, "default")
	assert.Error(t, err, `there is no partition "default": the configuration has no partitions`)
}

// FuzzPlace checks that no submission stops the program or leaves state behind.
func FuzzPlace(f *testing.F) {
	f.Add("root.tenants.red.x", "ann", "dev", "blue", false)
	f.Add("", "admin", "", "root.tenants", true)
	f.Add("root.@recovery@.x", "admin", "", "@recovery@", true)
	f.Add("root."+strings.Repeat("a.", 70)+"a", "admin", "", "", false)
	f.Fuzz(func(t *testing.T, queue, user, group, tag string, forced bool) {
		w := newTestPartition(t, tenantsYAML, "default")
		s := placement.Submission{Queue: queue, User: security.User{Name: user, Groups: []string{group}},
			Tags: map[string]string{"team": tag}, CreateForced: forced}
		got := w.Place(s)
		assert.Equal(t, got.Placed, got.Reason == "")
		assert.Equal(t, got.Placed, got.Queue != "")
		assert.Assert(t, len(got.Steps) > 0)
		assert.DeepEqual(t, w.Place(s), got)
		assert.NilError(t, w.partition.Check())
	})
}
