package plan

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"gotest.tools/v3/assert"

	"github.com/canopy-scheduler/canopy/pkg/configs"
	"github.com/canopy-scheduler/canopy/pkg/configs/queuesyaml"
	"github.com/canopy-scheduler/canopy/pkg/resources"
	"github.com/canopy-scheduler/canopy/pkg/security"
)

// fakeServer answers the given paths with their texts, or with status 500 for the text "500", and
// all other paths with 404.
func fakeServer(t *testing.T, answers map[string]string) Server {
	t.Helper()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		text, ok := answers[r.URL.Path]
		switch {
		case !ok:
			http.NotFound(w, r)
		case text == "500":
			http.Error(w, "no", http.StatusInternalServerError)
		default:
			w.Header().Set("Date", time.Unix(1_700_000_008, 0).UTC().Format(http.TimeFormat))
			fmt.Fprint(w, text)
		}
	}))
	t.Cleanup(s.Close)
	return Server{Address: strings.TrimPrefix(s.URL, "http://"), Client: s.Client()}
}

func TestServer_ConfigIsTheActiveGeneration(t *testing.T) {
	s := fakeServer(t, map[string]string{
		"/ws/v1/config/history":   `[{"generation":3},{"generation":2,"active":true}]`,
		"/ws/v1/config/history/2": `{"generation":2,"text":"partitions: [{name: gpu, queues: []}]"}`,
	})
	c, err := s.Config(t.Context(), queuesyaml.DefaultOptions())
	assert.NilError(t, err)
	assert.Equal(t, c.Partitions[0].Name, "gpu")

	s = fakeServer(t,
		map[string]string{"/ws/v1/config/history": `[{"generation":1,"active":true}]`,
			"/ws/v1/config/history/1": `{"text":""}`})
	c, err = s.Config(t.Context(), queuesyaml.DefaultOptions())
	assert.NilError(t, err)
	assert.Equal(t, len(c.Partitions), 1, "an empty text means the default configuration")
}

func TestServer_State(t *testing.T) {
	s := fakeServer(t, map[string]string{
		"/ws/v1/partitions": `[{"name":"default"},{"name":"other"}]`,
		"/ws/v1/partition/default/queues": `{"queuename":"root","isLeaf":false,"allocatedResource":{"vcore":5},"children":[` +
			`{"queuename":"root.a","isLeaf":true,"allocatedResource":{"vcore":5,"memory":7}},` +
			`{"queuename":"root.old","quotaViolation":{"since":1700000000000000000}},` +
			`{"queuename":"root.team","isLeaf":true,"isManaged":false,"maxResource":{"vcore":2000},"maxRunningApps":3,` +
			`"properties":{"preemption.delay":"1s"},` +
			`"quotaTags":["namespace.resourcequota"]}]}`,
		"/ws/v1/partition/default/applications/active": `[{"applicationID":"app-1","queueName":"root.a","user":"ann",` +
			`"groups":["dev"],` +
			`"requests":[{"resource":{"vcore":9}}],"allocations":[{"priorityClass":"high","resource":{"vcore":5}}]}]`,
		"/ws/v1/partition/default/usage/users": `[{"userName":"ann","queues":{"queuePath":"root",` +
			`"resourceUsage":{"vcore":5},` +
			`"runningApplications":["app-1"],"children":[{"queuePath":"root.a"}]}},{"userName":"bob"}]`,
		"/ws/v1/partition/default/usage/groups": `[{"groupName":"dev","queues":{"queuePath":"root"}}]`,
	})
	got, err := s.State(t.Context(), []string{"default"}, []string{"new", "default"})
	assert.NilError(t, err)
	assert.DeepEqual(t, got, State{"default": {
		Leaf: map[string]bool{"root": false, "root.a": true, "root.team": true},
		Allocated: map[string]amounts{"root": {"vcore": 5}, "root.a": {"vcore": 5, "memory": 7}, "root.old": nil,
			"root.team": nil},
		AboveMax: map[string]time.Duration{"root.old": 8 * time.Second},
		Dynamic: map[string]DynamicLeaf{"root.team": {configs.ChildTemplate{
			MaxApplications: 3, Max: resources.LimitFromMap(amounts{"vcore": 2000}),
			Settings: configs.ReadSettings(map[string]string{"preemption.delay": "1s"}),
		}, []string{configs.TagMax}}},
		Applications: []Application{{"app-1", "root.a", security.User{Name: "ann", Groups: []string{"dev"}}}},
		Workloads: []Workload{
			{Queue: "root.a", User: security.User{Name: "ann", Groups: []string{"dev"}}, Amounts: amounts{"vcore": 9}},
			{"root.a", security.User{Name: "ann", Groups: []string{"dev"}}, "high", amounts{"vcore": 5}},
		},
		Usage: []Usage{
			{Queue: "root", User: "ann", Resources: amounts{"vcore": 5}, Running: 1}, {Queue: "root.a", User: "ann"},
			{Queue: "root", Group: "dev"},
		},
	}})
}

func TestServer_Errors(t *testing.T) {
	const one = `[{"generation":1,"active":true}]`
	for _, c := range []struct {
		name    string
		answers map[string]string
		want    string
	}{
		{"no history", nil, "the server does not serve its configuration"},
		{"no active generation", map[string]string{"/ws/v1/config/history": "[]"},
			"the server does not serve its configuration"},
		{"a broken server", map[string]string{"/ws/v1/config/history": "500"},
			"answers /ws/v1/config/history with 500 Internal Server Error"},
		{"no JSON", map[string]string{"/ws/v1/config/history": "<html>"},
			"answers /ws/v1/config/history with an unexpected body"},
		{"a missing generation", map[string]string{"/ws/v1/config/history": one},
			"answers /ws/v1/config/history/1 with 404 Not Found"},
		{"an invalid configuration",
			map[string]string{"/ws/v1/config/history": one, "/ws/v1/config/history/1": `{"text":"partitions: 5"}`},
			"the configuration in force cannot be read: 1:13: error [yaml-type]"},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := fakeServer(t, c.answers).Config(t.Context(), queuesyaml.DefaultOptions())
			assert.ErrorContains(t, err, c.want)
		})
	}
	_, err := fakeServer(t, map[string]string{"/ws/v1/partitions": `[{"name":"a/b"}]`}).State(t.Context(), nil,
		[]string{"a/b"})
	assert.ErrorContains(t, err, "answers /ws/v1/partition/a%2Fb/queues with 404")
	_, err = fakeServer(t,
		map[string]string{"/ws/v1/partitions": `[{"name":"gpu"},{"name":"default"}]`}).State(t.Context(), []string{"cpu"},
		nil)
	assert.ErrorContains(t, err, " has no partition cpu; it has default, gpu")
	s := Server{Address: "127.0.0.1:1", Client: http.DefaultClient}
	_, err = s.Config(t.Context(), queuesyaml.DefaultOptions())
	assert.ErrorContains(t, err, "127.0.0.1:1")
	_, err = Server{Address: "a b", Client: http.DefaultClient}.State(t.Context(), nil, nil)
	assert.ErrorContains(t, err, "a b is not an address")
}

func TestServer_NodeCapacity(t *testing.T) {
	s := fakeServer(t,
		map[string]string{"/ws/v1/partitions": `[{"name":"default","capacity":{"capacity":{"vcore":8000,"memory":5,` +
			`"nvidia.com/gpu":0}}},{"name":"gpu"}]`})
	got, err := s.NodeCapacity(t.Context())
	assert.NilError(t, err)
	assert.DeepEqual(t, got,
		map[string]map[string]resources.Quantity{"default": {"memory": 5, "nvidia.com/gpu": 0, "vcore": 8000}, "gpu": nil})
	_, err = fakeServer(t, nil).NodeCapacity(t.Context())
	assert.ErrorContains(t, err, "answers /ws/v1/partitions with 404")
}
