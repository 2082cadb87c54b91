package webservice_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"gotest.tools/v3/assert"

	"github.com/canopy-scheduler/canopy/internal/server/usage"
	"github.com/canopy-scheduler/canopy/pkg/lifecycle"
	"github.com/canopy-scheduler/canopy/pkg/resources"
	"github.com/canopy-scheduler/canopy/pkg/security"
	"github.com/canopy-scheduler/canopy/pkg/webservice"
	"github.com/canopy-scheduler/canopy/pkg/webservice/dao"
)

// usageOptions serve a store with samples of the busy cluster, an hour apart.
func usageOptions(t *testing.T, dir string) webservice.Options {
	t.Helper()
	s, err := usage.Open(dir, usage.Options{}, noon)
	assert.NilError(t, err)
	t.Cleanup(func() { _ = s.Close() })
	return webservice.Options{Sources: webservice.Sources{Usage: s, Lifetimes: lifecycle.DefaultLifetimes()},
		Process: webservice.Process{Now: func() time.Time { return noon }}}
}

func TestUsageWindow_Answers(t *testing.T) {
	c := busyCluster(t)
	opt := usageOptions(t, "")
	get := func(target string) (int, string) {
		r := request(c, opt, http.MethodGet, "/ws/v1/history/usage?"+target)
		return r.Code, r.Body.String()
	}
	l, _ := c.Partition("default")
	snap, err := l.Snapshot(t.Context())
	assert.NilError(t, err)
	for _, ago := range []time.Duration{time.Hour, 0} {
		at := *snap
		at.At = noon.Add(-ago)
		assert.NilError(t, opt.Usage.Add(usage.SampleOf(&at, usage.TreeOf(t.Context(), &at, nil))))
	}
	code, body := get("by=user&since=1h&step=30m")
	assert.Equal(t, code, http.StatusOK)
	var w dao.UsageWindow
	assert.NilError(t, json.Unmarshal([]byte(body), &w))
	assert.Equal(t, w.CoveredSeconds, 3600.0)
	assert.Equal(t, len(w.Series), 1)
	assert.Equal(t, w.Series[0].Name, "ann")
	assert.Equal(t, w.Series[0].AllocatedSeconds["vcore"], int64(3600*3600))
	assert.Equal(t, len(w.Series[0].Points), 2)
	assert.Equal(t, w.Series[0].Points[1].Allocated["vcore"], int64(3600))
	assert.Assert(t, w.Series[0].Fairness == nil, "users are owed nothing")

	code, body = get("by=queue")
	assert.Equal(t, code, http.StatusOK)
	assert.NilError(t, json.Unmarshal([]byte(body), &w))
	assert.Equal(t, w.Series[0].Name, "root", "those that had most come first")
	assert.Equal(t, *w.Series[0].Fairness, 1.0)

	for target, want := range map[string]string{
		"":                           `by \"\": it is one of queue, user, group`,
		"by=nobody":                  "it is one of queue, user, group",
		"by=queue&since=1h&until=2h": "is not before until",
		"by=queue&since=yesterday":   "it is a time such as",
		"by=queue&step=0s":           `step \"0s\"`,
		"by=queue&step=x":            `step \"x\"`,
		"by=queue&step=1s":           "more than 10000 points",
		"by=queue&from=1h":           `unknown parameter \"from\"`,
		"by=queue&by=user":           "given 2 times",
		"by=queue&name=%zz":          "the query cannot be read",
	} {
		code, body := get(target)
		assert.Equal(t, code, http.StatusBadRequest, target)
		assert.Assert(t, strings.Contains(body, want), "%s: %s", target, body)
	}
	code, body = get("by=queue&name=root.tenantt")
	assert.Equal(t, code, http.StatusNotFound)
	assert.Assert(t, strings.Contains(body, `did you mean \"root.tenant\"`), body)
	code, _ = get("by=queue&partition=gone")
	assert.Equal(t, code, http.StatusNotFound)
	code, body = get("by=queue&partition=empty")
	assert.Equal(t, code, http.StatusOK)
	assert.Assert(t, strings.Contains(body, `"coveredSeconds":0,"series":[]`), body)
	assert.Equal(t, fetch(c, "/ws/v1/history/usage?by=queue").Code, http.StatusNotFound, "usage is not kept")
}

func TestFairness_ListsQueuesWithWaits(t *testing.T) {
	c := busyCluster(t)
	opt := webservice.Options{Process: webservice.Process{Now: func() time.Time { return noon }}}
	var all []dao.QueueFairness
	r := request(c, opt, http.MethodGet, "/ws/v1/partition/default/fairness")
	assert.NilError(t, json.Unmarshal(r.Body.Bytes(), &all))
	assert.Equal(t, all[0].QueueName, "root")
	assert.Equal(t, all[0].PendingAsks, 2)
	assert.Equal(t, all[0].WaitSeconds, 60.0)
	byName := map[string]dao.QueueFairness{}
	for _, q := range all {
		byName[q.QueueName] = q
	}
	assert.Equal(t, len(byName), 5)
	assert.Assert(t, !byName["root.idle"].Starved && byName["root.idle"].PendingAsks == 0 &&
		byName["root.idle"].OldestAsk == 0)
	assert.Equal(t, byName["root.tenant"].Owed["vcore"], byName["root"].Allocated["vcore"])
	assert.Equal(t, fetch(c, "/ws/v1/partition/gone/fairness").Code, http.StatusNotFound)
}

// Applications that ended before the last restart are listed before those that have ended since (USG-8).
func TestApplications_EndedBeforeARestartAreListed(t *testing.T) {
	dir := t.TempDir()
	s, err := usage.Open(dir, usage.Options{}, noon.Add(-time.Hour))
	assert.NilError(t, err)
	used := resources.FromMap(map[string]resources.Quantity{"vcore": 60})
	at := noon.Add(-30 * time.Minute)
	ann := security.User{Name: "ann"}
	assert.NilError(t, s.AddEnded("default", []*lifecycle.Ended{
		{ID: "former", User: ann, Queue: "root.idle", State: lifecycle.Completed, Submitted: at, Finished: at,
			Usage: &lifecycle.Usage{Real: []lifecycle.TypeUsage{{InstanceType: "m5", Usage: used.Times(10)}}}},
		{ID: "former-2", User: ann, Queue: "root.idle", State: lifecycle.Completed, Submitted: at, Finished: at},
		{ID: "long-ago", User: ann, Queue: "root.idle", State: lifecycle.Completed, Submitted: at,
			Finished: noon.Add(-100 * time.Hour)},
		lifecycle.NewRejection("lost", ann, "root.none", "no such queue", at),
	}))
	assert.NilError(t, s.Close())
	opt := usageOptions(t, dir)
	c := endedCluster(t)
	ids := func(state string) (names []string, all []dao.Application) {
		r := request(c, opt, http.MethodGet, "/ws/v1/partition/default/applications/"+state)
		assert.NilError(t, json.Unmarshal(r.Body.Bytes(), &all))
		for _, a := range all {
			names = append(names, a.ApplicationID)
		}
		return names, all
	}
	names, all := ids("completed")
	assert.DeepEqual(t, names[:3], []string{"former", "former-2", "again"})
	assert.Equal(t, all[0].ResourceHistory.ResourceUsage["m5"]["vcore"], int64(600))
	names, _ = ids("rejected")
	assert.DeepEqual(t, names, []string{"lost"}) // it was rejected again since

	// Pages have them, too, in the same order (RST-9).
	whole, _ := ids("completed")
	for limit := 1; limit <= len(whole)+1; limit++ {
		var paged []string
		for path := fmt.Sprint("/ws/v1/partition/default/applications/completed?limit=", limit); path != "" &&
			len(paged) <= len(whole); {
			r := request(c, opt, http.MethodGet, path)
			var part []dao.Application
			assert.NilError(t, json.Unmarshal(r.Body.Bytes(), &part))
			for _, a := range part {
				paged = append(paged, a.ApplicationID)
			}
			path = ""
			if link, _, more := strings.Cut(strings.TrimPrefix(r.Header().Get("Link"), "<"), ">"); more {
				path = "/ws/v1/partition/default/applications/completed" + link
			}
		}
		assert.DeepEqual(t, paged, whole)
	}
	r := request(c, opt, http.MethodGet,
		"/ws/v1/partition/default/applications/completed?after="+url.QueryEscape("former yesterday x"))
	assert.Equal(t, r.Code, http.StatusBadRequest)
}
