package webservice_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"gotest.tools/v3/assert"

	"github.com/canopy-scheduler/canopy/internal/server/loop"
	"github.com/canopy-scheduler/canopy/pkg/objects"
	"github.com/canopy-scheduler/canopy/pkg/resources"
	"github.com/canopy-scheduler/canopy/pkg/scheduler"
	"github.com/canopy-scheduler/canopy/pkg/security"
)

const defaultPartition = "/ws/v1/partition/default/"

// pagedCluster has a dozen nodes, of which every third is not schedulable, applications of three users in two queues,
// and applications that have ended, some twice.
func pagedCluster(t *testing.T) *loop.Cluster {
	t.Helper()
	c := busyCluster(t)
	l, _ := c.Partition("default")
	for i := range 12 {
		mustCall(t, l, scheduler.AddNode{
			Node: objects.NodeID(fmt.Sprintf("m%02d \"&", i)), Total: amounts(map[string]resources.Quantity{"vcore": 10}),
			Schedulable: i%3 > 0,
		})
		app := objects.AppID(fmt.Sprintf("job %02d,+%%", i))
		user := security.User{Name: fmt.Sprint("user-", i%3), Groups: []string{"dev"}}
		queue := []string{"root.tenant.fair", "root.tenant.odd/name", "root.idle"}[i%3]
		mustCall(t, l,
			scheduler.AddApplication{App: app, User: user, Queue: queue},
			scheduler.SubmitAsk{Ask: &objects.Ask{Key: "k" + objects.AllocationKey(app), App: app,
				Amounts: amounts(map[string]resources.Quantity{"memory": 1})}})
		for range 1 + i%2 {
			ended := objects.AppID(fmt.Sprint("ended-", i))
			mustCall(t, l, scheduler.AddApplication{App: ended, User: user, Queue: queue},
				scheduler.SubmitAsk{Ask: &objects.Ask{Key: "k" + objects.AllocationKey(ended), App: ended,
					Amounts: amounts(map[string]resources.Quantity{"vcore": 1})}},
				scheduler.RemoveApplication{App: ended})
		}
		_, err := l.Call(t.Context(),
			scheduler.AddApplication{App: objects.AppID(fmt.Sprint("lost-", i)), User: user, Queue: "root.none"})
		assert.NilError(t, err)
	}
	return c
}

// pagesOf follows the links from a target. The elements of each page are in field, or the page is a list.
func pagesOf(t *testing.T, c *loop.Cluster, target, field string) (pages [][]json.RawMessage) {
	t.Helper()
	base, err := url.Parse(target)
	assert.NilError(t, err)
	for range 1000 {
		w := fetch(c, base.String())
		assert.Equal(t, w.Code, http.StatusOK, "%s %s", base, w.Body)
		var list []json.RawMessage
		if text := w.Body.Bytes(); field == "" {
			assert.NilError(t, json.Unmarshal(text, &list))
		} else {
			var body map[string]json.RawMessage
			assert.NilError(t, json.Unmarshal(text, &body))
			assert.NilError(t, json.Unmarshal(body[field], &list))
		}
		pages = append(pages, list)
		link := w.Header().Get("Link")
		if link == "" {
			return pages
		}
		next, rel, _ := strings.Cut(link, ">; ")
		assert.Equal(t, rel, `rel="next"`)
		ref, err := url.Parse(strings.TrimPrefix(next, "<"))
		assert.NilError(t, err)
		base = base.ResolveReference(ref)
	}
	t.Fatal("the links do not end")
	return nil
}

func joined(pages [][]json.RawMessage) string {
	var all []string
	for _, page := range pages {
		for _, x := range page {
			all = append(all, string(x))
		}
	}
	return "[" + strings.Join(all, ",") + "]"
}

// However long the pages are, together they are the whole list, byte for byte.
func TestPages_TogetherAreTheWholeList(t *testing.T) {
	c := pagedCluster(t)
	for _, path := range []string{
		"nodes", "queue/root.tenant.fair/applications", "queue/root.tenant.fair/applications/active", "applications/active",
		"applications/completed",
		"applications/rejected", "applications/active?status=accepted", "applications/active?user=user-1",
		"applications/completed?user=user-2",
		"nodes?schedulable=false", "queue/root.idle/applications?status=running",
	} {
		target := defaultPartition + path
		whole := fetch(c, target).Body.String()
		elements := strings.Count(whole, `"applicationID":`) + strings.Count(whole, `"nodeID":`)
		for _, limit := range []int{1, 2, 5, 1000} {
			with := "?"
			if strings.Contains(target, "?") {
				with = "&"
			}
			pages := pagesOf(t, c, fmt.Sprint(target, with, "limit=", limit), "")
			assert.Equal(t, joined(pages), whole, "%s by %d", path, limit)
			assert.Equal(t, len(pages), max(1, (elements+limit-1)/limit), "%s by %d", path, limit)
			for _, page := range pages {
				assert.Assert(t, len(page) <= limit)
			}
		}
	}
}

// The place of a page holds also when what was there has gone, and new elements are in their places.
func TestPages_HoldWhileTheListChanges(t *testing.T) {
	c := pagedCluster(t)
	l, _ := c.Partition("default")
	ids := func(target string) (all []string, link string) {
		w := fetch(c, target)
		var list []struct {
			NodeID        string `json:"nodeID"`
			ApplicationID string `json:"applicationID"`
		}
		assert.NilError(t, json.Unmarshal(w.Body.Bytes(), &list))
		for _, x := range list {
			all = append(all, x.NodeID+x.ApplicationID)
		}
		target, _, _ = strings.Cut(target, "?")
		link, _, _ = strings.Cut(strings.TrimPrefix(w.Header().Get("Link"), "<"), ">")
		return all, target + link
	}
	first, next := ids(defaultPartition + "nodes?limit=3&fields=nodeID")
	assert.DeepEqual(t, first, []string{`m00 "&`, `m01 "&`, `m02 "&`})
	mustCall(t, l, scheduler.RemoveNode{Node: `m02 "&`}, scheduler.RemoveNode{Node: `m04 "&`},
		scheduler.AddNode{Node: "m03a", Schedulable: true})
	second, _ := ids(next)
	assert.DeepEqual(t, second, []string{`m03 "&`, "m03a", `m05 "&`})

	first, next = ids(defaultPartition + "applications/active?limit=2&fields=applicationID&user=user-0")
	assert.DeepEqual(t, first, []string{"job 00,+%", "job 03,+%"})
	mustCall(t, l, scheduler.RemoveApplication{App: "job 03,+%"}, scheduler.RemoveApplication{App: "job 00,+%"})
	second, _ = ids(next)
	assert.DeepEqual(t, second, []string{"job 06,+%", "job 09,+%"})
}

func TestPages_FieldsAreThoseThatAreWanted(t *testing.T) {
	c := pagedCluster(t)
	get := func(path string) string { return fetch(c, defaultPartition+path).Body.String() }
	assert.Equal(t, get("nodes?limit=2&fields=schedulable,nodeID"),
		`[{"nodeID":"m00 \"\u0026","schedulable":false},{"nodeID":"m01 \"\u0026","schedulable":true}]`)
	assert.Equal(t, get("nodes?fields=hostName&schedulable=false&limit=1"), `[{}]`)
	assert.Equal(t, get("queue/root.tenant.fair/applications?user=ann&limit=1&fields=user,%20applicationID"),
		`[{"applicationID":"app-1","user":"ann"}]`)
	for _, path := range []string{"nodes", "applications/active", "applications/completed",
		"queue/root.tenant.fair/applications"} {
		var whole []map[string]json.RawMessage
		assert.NilError(t, json.Unmarshal([]byte(get(path)), &whole))
		for _, field := range []string{"nodeID", "allocations", "capacity", "requests", "stateLog", "resourceHistory",
			"queueName"} {
			w := fetch(c, defaultPartition+path+"?fields="+field)
			if w.Code == http.StatusBadRequest {
				continue // a field of the other kind of object
			}
			var some []map[string]json.RawMessage
			assert.NilError(t, json.Unmarshal(w.Body.Bytes(), &some), "%s", w.Body)
			assert.Equal(t, len(some), len(whole))
			for i := range whole {
				value, found := whole[i][field]
				assert.Assert(t, bytes.Equal(some[i][field], value), "%s %s", path, field)
				assert.Equal(t, len(some[i]) == 1, found)
			}
		}
	}
}

func TestPages_BadInput(t *testing.T) {
	c := pagedCluster(t)
	for path, want := range map[string]string{
		"nodes?limit=0": `limit "0": it is a number from 1 on`, "nodes?limit=-1": `limit "-1"`, "nodes?limit=x": `limit "x"`,
		"nodes?limit=99999999999": `limit`,
		"nodes?limit=":            `parameter "limit" has no value`, "nodes?after=": `parameter "after" has no value`,
		"nodes?fields=":       `parameter "fields" has no value`,
		"nodes?fields=nodeId": `unknown field "nodeId": did you mean "nodeID"`, "nodes?fields=nodeID,": `unknown field ""`,
		"nodes?fields=zzzzzzzz":                             "the fields are nodeID, hostName",
		"nodes?schedulable=yes":                             `schedulable "yes": it is true or false`,
		"nodes?schedulable=":                                `parameter "schedulable" has no value`,
		"applications/active?user=":                         `parameter "user" has no value`,
		"applications/active?after=app-1":                   "the queue and the ID of an application",
		"applications/completed?after=x":                    "the one that the link",
		"applications/completed?after=4294967296":           "the one that the link",
		"queue/root.idle/applications?status=none":          `status "none": it is one of new`,
		"queue/root.idle/applications?fields=applicationId": "did you mean",
		"asks?limit=10001":                                  "it is 10000 at most",
		"asks?waitingState=none": `waitingState "none": it is one of failed, reserved, skipped, ` +
			`unreported`,
		"asks?olderThan=5":   `olderThan "5": it is a duration`,
		"asks?olderThan=-5m": `olderThan "-5m"`,
		"asks?after=5":       `after "5"`,
		"asks?after=x+k":     `after "x k"`,
		"asks?queue=a..b":    "queue name",
		"asks?fields=queue":  `unknown field "queue"`,
		"asks?limit=":        `parameter "limit" has no value`,
		"asks?user=a&user=b": `parameter "user" is given 2 times`,
		"asks?users=a":       `did you mean "user"`,
		"asks?limit=%zz":     "the query cannot be read",
	} {
		w := fetch(c, defaultPartition+path)
		assert.Equal(t, w.Code, http.StatusBadRequest, "%s %s", path, w.Body)
		var body struct{ Message string }
		assert.NilError(t, json.Unmarshal(w.Body.Bytes(), &body))
		assert.Assert(t, strings.Contains(body.Message, want), "%s: %s", path, body.Message)
	}
	wantAnswer(t, fetch(c, defaultPartition+"asks?queue=root.none"), http.StatusNotFound,
		errorBody(404, "queue root.none not found"))
	wantAnswer(t, fetch(c, "/ws/v1/partition/none/asks"), http.StatusNotFound, errorBody(404, "Partition not found"))
	// A repeated parameter of a path of YuniKorn: the first is used, and a warning says so.
	w := fetch(c, defaultPartition+"nodes?limit=1&limit=2&colour=red")
	assert.Equal(t, strings.Count(w.Body.String(), "nodeID"), 1)
	assert.Equal(t, len(w.Header().Values("Warning")), 2)
}
