package main

import (
	"strings"
	"testing"

	"gotest.tools/v3/assert"

	"github.com/canopy-scheduler/canopy/internal/cli/cmdline"
)

func TestServe_InvalidHTTPLimitsAreRejected(t *testing.T) {
	for _, flag := range []string{"--http-max-connections=0", "--http-max-large-answers=-1", "--http-stall-timeout=10ms",
		"--http-cors-origin=page.example.org", "--http-cors-origin=https://a/b",
		"--http-host=canopy:9080"} {
		code, out, errs := runCanopy("serve", "--grpc-address", "127.0.0.1:0", "--http-address", "127.0.0.1:0", flag)
		assert.Equal(t, code, cmdline.Usage, flag)
		assert.Equal(t, out, "")
		name, _, _ := strings.Cut(flag, "=")
		assert.Assert(t, strings.Contains(errs, name), errs)
	}
}
