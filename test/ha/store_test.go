package ha

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os/exec"
	"strings"
	"testing"

	"gotest.tools/v3/assert"
)

// getJSON reads an answer of a member.
func getJSON(t *testing.T, address, path string, to any) {
	t.Helper()
	r, err := http.Get("http://" + address + path)
	assert.NilError(t, err)
	defer r.Body.Close()
	body, err := io.ReadAll(r.Body)
	assert.NilError(t, err)
	assert.Equal(t, r.StatusCode, http.StatusOK, "%s: %s", path, body)
	assert.NilError(t, json.Unmarshal(body, to), "%s", body)
}

// generation is what is looked at of one of /ws/v1/config/history.
type generation struct {
	Generation uint64 `json:"generation"`
	Checksum   string `json:"checksum"`
}

func history(t *testing.T, m *member) (list []generation) {
	t.Helper()
	getJSON(t, m.http, "/ws/v1/config/history", &list)
	return list
}

// What an operator has switched, and the history of configurations, are those of the next leader, too.
func TestGroup_LeadersShareWhatIsKept(t *testing.T) {
	g := newGroup(t, 3)
	p := newProbe(g)
	leader, epoch := p.leaderAfter(g, 0, electedWithin)
	s := newShim(g)
	s.submit(tasks("a", 10)...)
	checkShim(t, s, 10)
	out, err := exec.Command(programs.canopy, "queue", "stop", "root.default", "--address", leader.admin).CombinedOutput()
	assert.NilError(t, err, "%s", out)
	before := history(t, leader)
	assert.Assert(t, len(before) > 1, "%v", before)
	for range 2 {
		g.kill(leader)
		next, at := p.leaderAfter(g, epoch, electedWithin)
		until(t, placedWithin, func() error { // the shim has registered
			var queues struct {
				Children []struct {
					Name   string `json:"queuename"`
					Status string `json:"status"`
				} `json:"children"`
			}
			getJSON(t, next.http, "/ws/v1/partition/default/queues", &queues)
			for _, q := range queues.Children {
				if q.Name == "root.default" && q.Status == "Stopped" {
					return nil
				}
			}
			return fmt.Errorf("%+v", queues)
		})
		after := history(t, next)
		assert.Assert(t, len(after) >= len(before), "%v after %v", after, before)
		assert.DeepEqual(t, after[len(after)-len(before):], before)
		g.start(leader)
		leader, epoch = next, at
	}
	assert.Assert(t, !strings.Contains(string(out), "error"), "%s", out)
	assert.Equal(t, len(p.problems()), 0, "%v", p.problems())
}
