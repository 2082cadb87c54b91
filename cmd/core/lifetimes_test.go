package main

import (
	"strings"
	"testing"
	"time"

	"github.com/spf13/pflag"
	"go.uber.org/zap"
	"gotest.tools/v3/assert"

	"github.com/canopy-scheduler/canopy/pkg/objects"
	"github.com/canopy-scheduler/canopy/pkg/resources"
	"github.com/canopy-scheduler/canopy/pkg/scheduler"
)

func TestLifetimes_Flags(t *testing.T) {
	var keep objects.Lifetimes
	flags := pflag.NewFlagSet("serve", pflag.ContinueOnError)
	addLifetimes(flags, &keep)
	assert.NilError(t, flags.Parse(nil))
	assert.Equal(t, keep, objects.DefaultLifetimes())
	assert.NilError(t, flags.Parse(strings.Fields(
		"--completing-timeout 0s --completed-retention 1h --rejected-retention 2h --ended-limit 7")))
	assert.Equal(t, keep, objects.Lifetimes{Completed: time.Hour, Rejected: 2 * time.Hour, MaxEnded: 7})
	assert.NilError(t, checkLifetimes(keep))
}

func TestLifetimes_InvalidValues(t *testing.T) {
	code, out, errs := runCanopy("serve", "--completing-timeout", "-1s", "--completed-retention", "-2s",
		"--rejected-retention", "-3s", "--ended-limit", "-4")
	assert.Equal(t, code, exitUsage)
	assert.Equal(t, out, "")
	for _, want := range []string{
		"--completing-timeout is -1s, and must not be negative", "--completed-retention is -2s, and must not be negative",
		"--rejected-retention is -3s, and must not be negative", "--ended-limit is -4, and must not be negative",
	} {
		assert.Assert(t, strings.Contains(errs, want), errs)
	}
}

func TestServe_LifetimesOfApplications(t *testing.T) {
	opt, rm := (&serveFlags{lifetimes: objects.Lifetimes{Completed: time.Hour, MaxEnded: 1}}).options(nil, zap.NewNop())
	s := newServers(opt, rm, nil, false, httpFlags{}, "")
	defer s.stop()
	l, ok := s.proxy.Cluster().Partition("default")
	assert.Assert(t, ok)
	for _, id := range []objects.AppID{"one", "two"} {
		_, err := l.Call(t.Context(),
			scheduler.AddApplication{App: id, Tags: map[string]string{"namespace": "web"}},
			scheduler.SubmitAsk{Ask: &objects.Ask{Key: "k", App: id, Amounts: resources.FromMap(map[string]resources.Quantity{"vcore": 1})}},
			scheduler.RemoveApplication{App: id})
		assert.NilError(t, err)
	}
	snap, err := l.Snapshot(t.Context())
	assert.NilError(t, err)
	assert.Equal(t, snap.Completed.Len(), 1)
	assert.Equal(t, snap.Completed.At(0).ID, objects.AppID("two"))
}
