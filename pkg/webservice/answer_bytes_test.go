package webservice

import (
	"cmp"
	"encoding/json"
	"strings"
	"testing"
	"time"

	jsonv2 "github.com/go-json-experiment/json"
	"gotest.tools/v3/assert"
	"pgregory.net/rapid"

	"github.com/canopy-scheduler/canopy/pkg/events"
	"github.com/canopy-scheduler/canopy/pkg/objects"
	"github.com/canopy-scheduler/canopy/pkg/persistent"
	"github.com/canopy-scheduler/canopy/pkg/resources"
	"github.com/canopy-scheduler/canopy/pkg/scheduler"
	"github.com/canopy-scheduler/canopy/pkg/webservice/dao"
)

// anyText are texts with all that JSON escapes.
var anyText = rapid.OneOf(
	rapid.String(), rapid.StringMatching(`[a-z<>&"\\]*`),
	rapid.SampledFrom([]string{"", "\u2028", "\x7f", "\x00\n", `"allocations":[{}]`}),
	rapid.Map(rapid.SliceOf(rapid.Byte()), func(b []byte) string { return string(b) }),
)

func drawAmounts(t *rapid.T) resources.Amounts {
	m := map[string]resources.Quantity{}
	for range rapid.IntRange(0, 3).Draw(t, "resources") {
		m[anyText.Draw(t, "resource")] = resources.Quantity(rapid.Int64().Draw(t, "quantity"))
	}
	return resources.FromMap(m)
}

func drawAllocation(t *rapid.T) *scheduler.AllocationView {
	text := func(name string) string { return anyText.Draw(t, name) }
	at := func(name string) time.Time {
		if n := rapid.Int64Range(-5, 1<<60).Draw(t, name); n >= 0 {
			return time.Unix(0, n)
		}
		return time.Time{}
	}
	yes := func(name string) bool { return rapid.Bool().Draw(t, name) }
	return &scheduler.AllocationView{
		Ask: &objects.Ask{
			Key: objects.AllocationKey(text("key")), App: objects.AppID(text("app")), Amounts: drawAmounts(t),
			Priority: rapid.Int32().Draw(t, "priority"),
			Details: objects.NewAskDetails(objects.AskDetails{
				Tags: rapid.MapOfN(anyText, anyText, -1, 4).Draw(t, "tags"), RequiredNode: objects.NodeID(text("required")),
				TaskGroup: text("group"),
			}),
			Placeholder: yes("placeholder"), Originator: yes("originator"),
		},
		Waiting: objects.WaitingReport{
			State:   rapid.SampledFrom([]objects.WaitingState{0, objects.WaitSkipped, objects.WaitFailed}).Draw(t, "state"),
			Blocked: rapid.Uint8Max(uint8(scheduler.InRecoveryQueue)).Draw(t, "blocked"), At: at("waits"),
		},
		PriorityClass: text("class"), Created: at("created"), Node: objects.NodeID(text("node")),
		Preempting: yes("preempting"),
		Nominated:  objects.NodeID(text("nominated")), Reserved: objects.NodeID(text("reserved")), BoundAt: at("bound"),
		SchedulingDelay: time.Duration(rapid.Int64().Draw(t, "delay")),
	}
}

func drawRecord(t *rapid.T) events.Record {
	return events.Record{
		Type: events.Type(rapid.Uint8().Draw(t, "type")), Object: anyText.Draw(t, "object"),
		Reference: anyText.Draw(t, "reference"),
		Change:    events.Change(rapid.Uint8Range(0, 5).Draw(t, "change")),
		Detail:    events.Detail(rapid.Uint16Range(0, 700).Draw(t, "detail")),
		Message:   anyText.Draw(t, "message"), Amounts: drawAmounts(t), Partition: anyText.Draw(t, "partition"),
		At: time.Unix(0, rapid.Int64().Draw(t, "at")),
	}
}

// Answers are, byte for byte, what encoding/json makes of the bodies: tools of YuniKorn have seen no other encoder.
func TestAnswers_EqualEncodingJSON(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w, r := drawAllocation(t), drawRecord(t)
		for _, body := range []any{dao.NewAsk(w, nil), dao.NewAllocation(w), dao.NewEvent(&r),
			dao.NewError(400, anyText.Draw(t, "error"))} {
			want, err := json.Marshal(body)
			assert.NilError(t, err)
			valid := strings.ReplaceAll(string(want), `\ufffd`, "\ufffd") // of a text that is no UTF-8: the same character
			assert.Equal(t, marshalled(t, body), valid)
		}
	})
}

// The lists of an application have each ask and each allocation once, and are left out if they have none.
func TestApplications_ListWhatWaitsAndWhatRuns(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		all := rapid.SliceOfN(rapid.Custom(drawAllocation), -1, 9).Draw(t, "allocations")
		a := &scheduler.ApplicationView{ID: "a", Allocations: persistent.ListOf(all...)}
		var want struct {
			Requests    []dao.Ask        `json:"requests,omitempty"`
			Allocations []dao.Allocation `json:"allocations,omitempty"`
		}
		for _, w := range all {
			if w.Node == "" {
				want.Requests = append(want.Requests, dao.NewAsk(w, nil))
			} else {
				want.Allocations = append(want.Allocations, dao.NewAllocation(w))
			}
		}
		got := onlyFields[dao.Application](map[string]bool{"requests": true, "allocations": true})
		text, err := jsonv2.Marshal(dao.NewApplication("p", time.Time{}, "root.q", a, nil), answerOptions, got)
		assert.NilError(t, err)
		assert.Equal(t, string(text), marshalled(t, want))
	})
}

// marshalled returns a body as answers have it.
func marshalled(t assert.TestingT, body any) string {
	text, err := jsonv2.Marshal(body, answerOptions)
	assert.NilError(t, err)
	return string(text)
}

// The order in which paths are compared is that of a walk through the tree.
func TestComparePaths_IsTheOrderOfTheTree(t *testing.T) {
	paths := []string{"root", "root.a", "root.a.#", "root.a.x", "root.a.x.y", "root.a#", "root.a-b", "root.a-b.c",
		"root.aa", "root.b"}
	for i, a := range paths {
		for j, b := range paths {
			assert.Equal(t, comparePaths(a, b), cmp.Compare(i, j), "%s and %s", a, b)
		}
	}
}

// An ask that has reserved a node is found by the state that the resource manager was told, and by its reservation
// (RST-12).
func TestAskFilter_ReservedAsksKeepTheirWaitingState(t *testing.T) {
	reserved := scheduler.AllocationView{Reserved: "n1", Waiting: objects.WaitingReport{State: objects.WaitFailed}}
	waits := scheduler.AllocationView{Waiting: objects.WaitingReport{State: objects.WaitFailed}}
	for state, want := range map[string][2]bool{"failed": {true, true}, "reserved": {true, false}, "skipped": {}} {
		f := askFilter{waitingState: state}
		got := [2]bool{f.matches(pendingAsk{view: &reserved}, time.Time{}), f.matches(pendingAsk{view: &waits}, time.Time{})}
		assert.Equal(t, got, want, state)
	}
}
