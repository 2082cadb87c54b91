package main

import (
	"encoding/json"
	"fmt"
	"net"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"gotest.tools/v3/assert"

	"github.com/canopy-scheduler/canopy/internal/cli/cmdline"
	"github.com/canopy-scheduler/canopy/internal/server/history"
	"github.com/canopy-scheduler/canopy/internal/server/loop"
	"github.com/canopy-scheduler/canopy/pkg/objects"
	"github.com/canopy-scheduler/canopy/pkg/resources"
	"github.com/canopy-scheduler/canopy/pkg/scheduler"
	"github.com/canopy-scheduler/canopy/pkg/webservice"
)

// historyServer serves an event history whose clock is at noon until the test moves it.
func historyServer(t *testing.T) (h *history.History, now *time.Time, address string) {
	t.Helper()
	at := time.Date(2026, 1, 2, 12, 0, 0, 0, time.UTC)
	h = history.New(func() time.Time { return at })
	c := loop.NewCluster(loop.Options{}, nil, nil)
	t.Cleanup(c.End)
	server := httptest.NewServer(webservice.Handler(c, webservice.Options{Sources: webservice.Sources{History: h}}))
	t.Cleanup(server.Close)
	return h, &at, strings.TrimPrefix(server.URL, "http://")
}

func TestEventsCommand_Text(t *testing.T) {
	h, now, address := historyServer(t)
	one := resources.FromMap(map[string]resources.Quantity{"vcore": 100, "memory": 5 << 30})
	h.OnEffects("default", []scheduler.Effect{scheduler.NodeAccepted{Node: "n1"}})
	*now = now.Add(10 * time.Minute)
	h.OnEffects("default", []scheduler.Effect{
		scheduler.ApplicationAccepted{App: "app-1"},
		scheduler.Allocated{Binding: &scheduler.Binding{Ask: &objects.Ask{Key: "k", App: "app-1", Amounts: one}, Node: "n1"}},
		scheduler.Released{App: "app-1", Key: "k", Type: scheduler.PreemptedByScheduler},
		scheduler.AskRejected{App: "app-1", Key: "bad\x1b[2J", Reason: "it is negative"},
	})
	h.OnEffects("gpu", []scheduler.Effect{scheduler.ApplicationRejected{App: "app-2", Reason: "no such queue"}})
	*now = now.Add(time.Minute)

	code, out, errs := runCanopy("events", "--address", address, "--since", "5m")
	assert.Equal(t, errs, "")
	assert.Equal(t, code, 0)
	assert.Equal(t, out, `2026-01-02T12:10:00.000Z  application  app-1  was submitted
2026-01-02T12:10:00.000Z  application  app-1  got allocation k (memory 5Gi, vcore 100m)
2026-01-02T12:10:00.000Z  node         n1  got allocation k (memory 5Gi, vcore 100m)
2026-01-02T12:10:00.000Z  application  app-1  is losing allocation k, which was preempted
2026-01-02T12:10:00.000Z  ask          bad?[2J  of app-1: it is negative
2026-01-02T12:10:00.000Z  application  app-2  was rejected: no such queue (partition gpu)
`)
	changes, _, other := historyServer(t)
	changes.OnEffects("default", []scheduler.Effect{
		scheduler.NodeChanged{Node: "n1", Change: scheduler.NodeResized, After: one},
		scheduler.NodeChanged{Node: "n1", Change: scheduler.NodeMadeUnschedulable},
		scheduler.NodeChanged{Node: "n1", Change: scheduler.NodeRemoved},
		scheduler.AskCancelled{Key: "k", App: "app-1", Reason: "application app-1 was removed"},
		scheduler.QueueChanged{Queue: "root.d", Dynamic: true},
		scheduler.QueueChanged{Queue: "root.d", Change: objects.QueueRemoved, Dynamic: true},
		scheduler.QueueChanged{Queue: "root.a", Change: objects.QueueRemoved},
	})
	_, out, _ = runCanopy("events", "--address", other)
	assert.Equal(t, out, `2026-01-02T12:00:00.000Z  node         n1  was resized (memory 5Gi, vcore 100m)
2026-01-02T12:00:00.000Z  node         n1  schedulable: false
2026-01-02T12:00:00.000Z  node         n1  Node removed from the scheduler
2026-01-02T12:00:00.000Z  application  app-1  lost ask k, which was cancelled: application app-1 was removed
2026-01-02T12:00:00.000Z  queue        root.d  was created for an application
2026-01-02T12:00:00.000Z  queue        root.d  was removed
2026-01-02T12:00:00.000Z  queue        root.a  was removed
`)

	code, out, _ = runCanopy("events", "--address", address, "--until", "5m")
	assert.Equal(t, code, 0)
	assert.Equal(t, out, "2026-01-02T12:00:00.000Z  node         n1  Node added to the scheduler\n")

	_, out, _ = runCanopy("events", "--address", address, "--output", "json")
	lines := strings.Split(strings.TrimSuffix(out, "\n"), "\n")
	assert.Equal(t, len(lines), 7)
	for _, line := range lines {
		assert.Assert(t, json.Valid([]byte(line)) && strings.Contains(line, `"typeName":"`), line)
	}
}

// The number of events of an answer is bounded: the command asks until all are printed.
func TestEventsCommand_PrintsAllPages(t *testing.T) {
	h, _, address := historyServer(t)
	h.Configure(history.ParseSettings(map[string]string{"event.RESTResponseSize": "7"}))
	for i := range 100 {
		h.OnEffects("default", []scheduler.Effect{scheduler.NodeAccepted{Node: objects.NodeID(fmt.Sprintf("n%02d", i))}})
	}
	_, out, errs := runCanopy("events", "--address", address)
	assert.Equal(t, errs, "")
	assert.Equal(t, strings.Count(out, "\n"), 100)
	for i, line := range strings.Split(strings.TrimSuffix(out, "\n"), "\n") {
		assert.Assert(t, strings.Contains(line, fmt.Sprintf("n%02d ", i)), line)
	}
}

func TestEventsCommand_FollowBeginsWithPastEvents(t *testing.T) {
	h, now, address := historyServer(t)
	h.OnEffects("default", []scheduler.Effect{scheduler.NodeAccepted{Node: "old"}})
	*now = now.Add(time.Hour)
	h.OnEffects("default", []scheduler.Effect{scheduler.NodeAccepted{Node: "recent"}})
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		for h.Counts().Streams == 0 {
			select {
			case <-t.Context().Done():
				return
			case <-time.After(time.Millisecond):
			}
		}
		h.OnEffects("default", []scheduler.Effect{scheduler.NodeAccepted{Node: "new"}})
		h.Close()
	}()
	code, out, errs := runCanopy("events", "--address", address, "--since", "5m", "--follow")
	<-ended
	assert.Equal(t, code, cmdline.Refused)
	assert.Assert(t, strings.Contains(errs, "the server has ended the stream"), errs)
	assert.Equal(t, strings.Count(out, "\n"), 2, out)
	assert.Assert(t, strings.Contains(out, "recent") && strings.Contains(out, "new") && !strings.Contains(out, "old"), out)
}

// A server that accepts the connection and does not answer ends the command after --timeout.
func TestEventsCommand_EndsWithoutAnAnswer(t *testing.T) {
	silent, err := net.Listen("tcp", "127.0.0.1:0")
	assert.NilError(t, err)
	defer silent.Close()
	for _, follow := range [][]string{nil, {"--follow"}} {
		code, out, errs := runCanopy(append([]string{"events", "--address", silent.Addr().String(), "--timeout", "50ms"},
			follow...)...)
		assert.Equal(t, code, cmdline.Refused)
		assert.Equal(t, out, "")
		assert.Equal(t, errs, "canopy: "+silent.Addr().String()+" did not answer within 50ms (--timeout)\n")
	}
}

func TestEventsCommand_InvalidFlagsAreRejected(t *testing.T) {
	_, _, address := historyServer(t)
	for _, c := range []struct {
		args []string
		code int
		want string
	}{
		{[]string{"--since", "yesterday"}, cmdline.Usage,
			`argument "yesterday" for "--since" flag: it must be a time such as 2026-01-02T15:04:05Z, or how long ago`},
		{[]string{"--until", "-5m"}, cmdline.Usage, `for "--until" flag: it must be a time`},
		{[]string{"--follow", "--until", "1m"}, cmdline.Usage, "exclude each other"},
		{[]string{"--output", "yaml"}, cmdline.Usage, `for "--output" flag: it must be text or json`},
		{[]string{"--address", "nowhere"}, cmdline.Usage, "--address"},
		{[]string{"more"}, cmdline.Usage, "more"},
		{[]string{"--since", "1m", "--until", "2m"}, cmdline.Refused, "is not before until"},
	} {
		args := append([]string{"events", "--address", address}, c.args...)
		code, out, errs := runCanopy(args...)
		assert.Equal(t, code, c.code, "%q: %s", c.args, errs)
		assert.Equal(t, out, "")
		assert.Assert(t, strings.Contains(errs, c.want), "%q: %s", c.args, errs)
	}
}
