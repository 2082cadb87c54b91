package scheduler

import (
	"fmt"
	"math"
	"reflect"
	"testing"
	"time"

	"gotest.tools/v3/assert"

	"github.com/canopy-scheduler/canopy/pkg/configs/queuesyaml"
	"github.com/canopy-scheduler/canopy/pkg/objects"
	"github.com/canopy-scheduler/canopy/pkg/resources"
	"github.com/canopy-scheduler/canopy/pkg/security"
)

// Each reason of a rejection has its kind (ASK-10).
func TestRejection_EachReasonHasItsKind(t *testing.T) {
	conf, problems := queuesyaml.Load([]byte("partitions: [{name: default, queues: [{name: root, submitacl: '*', " +
		"queues: [{name: a}]}]}]"))
	assert.Assert(t, conf != nil, "%v", problems)
	opt := objects.DefaultOptions()
	opt.AskNames = 1
	c := NewWith(conf.Partitions[0], nil, opt)
	now := time.Unix(1_000_000_000, 0)
	vcore := func(n resources.Quantity) resources.Amounts {
		return resources.FromMap(map[string]resources.Quantity{"vcore": n})
	}
	ask := func(key objects.AllocationKey, app objects.AppID, a resources.Amounts) *objects.Ask {
		return &objects.Ask{Key: key, App: app, Amounts: a}
	}
	c.Step(now, AddNode{Node: "n", Total: vcore(9), Schedulable: true})
	for _, app := range []objects.AppID{"x", "y"} {
		c.Step(now, AddApplication{App: app, Queue: "root.a", User: security.User{Name: "ann"}})
	}
	c.Step(now, SubmitAsk{ask("known", "x", vcore(1))})
	placeholder := ask("p", "x", vcore(1))
	placeholder.Placeholder = true
	for _, r := range []struct {
		cmd  Command
		want Rejection
	}{
		{SubmitAsk{ask("k", "none", vcore(1))}, RejectedUnknownApplication},
		{SubmitAsk{ask("known", "y", vcore(1))}, RejectedDuplicateKey},
		{SubmitAsk{ask("k", "x", vcore(-1))}, RejectedAmounts},
		{SubmitAsk{ask("k", "x", vcore(0))}, RejectedAmounts},
		{SubmitAsk{ask("k", "x", vcore(math.MaxInt64))}, RejectedOverflow},
		{SubmitAsk{ask("k", "x", resources.FromMap(map[string]resources.Quantity{"junk1": 1, "junk2": 1}))}, RejectedNames},
		{SubmitAsk{placeholder}, RejectedMalformed},
		{SubmitAskWithClass{Ask: ask("k", "x", vcore(1)), RejectReason: "no such class"}, RejectedOther},
		{SubmitAskWithClass{Ask: ask("k", "x", vcore(1)), RejectReason: "no such class", RejectKind: "unknown-class"},
			"unknown-class"},
		{SubmitAskWithClass{Ask: ask("k", "x", vcore(1)), Class: "c", AllowedUsers: &security.ACL{}},
			"class-needs-permission"},
		{ReportAllocation{Ask: ask("k", "x", vcore(1)), Node: "none"}, RejectedUnknownNode},
		{ReportForeign{objects.Foreign{Key: "f", Node: "none", Amounts: vcore(1)}}, RejectedUnknownNode},
		{ReportForeign{objects.Foreign{Key: "known", Node: "n", Amounts: vcore(1)}}, RejectedDuplicateKey},
		{ReportForeign{objects.Foreign{Key: "f", Node: "n", Amounts: vcore(-1)}}, RejectedAmounts},
	} {
		effects := c.Step(now, r.cmd)
		assert.Equal(t, len(effects), 1, "%+v: %v", r.cmd, effects)
		e, ok := effects[0].(AskRejected)
		assert.Assert(t, ok, "%v", effects[0])
		assert.Equal(t, e.Kind, r.want, fmt.Sprintf("%+v: %s", r.cmd, e.Reason))
	}
}

// The removal of an application with 100,000 asks has as many AskCancelled.
func TestAskCancelled_IsNoLargerThanReleased(t *testing.T) {
	assert.Assert(t, reflect.TypeFor[AskCancelled]().Size() <= reflect.TypeFor[Released]().Size())
}
