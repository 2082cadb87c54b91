package main

import (
	"strings"
	"testing"
	"time"

	"github.com/spf13/pflag"
	"gotest.tools/v3/assert"

	"github.com/canopy-scheduler/canopy/internal/cli/cmdline"
	"github.com/canopy-scheduler/canopy/pkg/canopy"
	"github.com/canopy-scheduler/canopy/pkg/lifecycle"
)

func TestLifetimes_Flags(t *testing.T) {
	var keep lifecycle.Lifetimes
	flags := pflag.NewFlagSet("serve", pflag.ContinueOnError)
	addLifetimes(flags, &keep)
	assert.NilError(t, flags.Parse(nil))
	assert.Equal(t, keep, lifecycle.DefaultLifetimes())
	assert.NilError(t, flags.Parse(strings.Fields(
		"--completing-timeout 0s --completed-retention 1h --rejected-retention 2h --ended-limit 7")))
	assert.Equal(t, keep, lifecycle.Lifetimes{Completed: time.Hour, Rejected: 2 * time.Hour, MaxEnded: 7})
	assert.NilError(t, checkLifetimes(keep))
}

func TestLifetimes_InvalidValues(t *testing.T) {
	code, out, errs := runCanopy("serve", "--completing-timeout", "-1s", "--completed-retention", "-2s",
		"--rejected-retention", "-3s", "--ended-limit", "-4")
	assert.Equal(t, code, cmdline.Usage)
	assert.Equal(t, out, "")
	for _, want := range []string{
		"--completing-timeout is -1s, and must not be negative", "--completed-retention is -2s, and must not be negative",
		"--rejected-retention is -3s, and must not be negative", "--ended-limit is -4, and must not be negative",
	} {
		assert.Assert(t, strings.Contains(errs, want), errs)
	}
}

// Zero is a lifetime, and not the default of an option.
func TestServe_LifetimesAreOptions(t *testing.T) {
	f := serveFlags{grpc: grpcFlags{canopy.GRPC{Address: ":0"}}, http: httpFlags{canopy.HTTP{Address: ":0"}},
		lifetimes: lifecycle.Lifetimes{Completed: time.Hour, MaxEnded: 1}}
	opt, err := f.options(t.Context(), nil, nil, nil)
	assert.NilError(t, err)
	assert.Equal(t, opt.Applications,
		canopy.Applications{CompletingTimeout: -1, CompletedRetention: time.Hour, RejectedRetention: -1, MaxEnded: 1})
}
