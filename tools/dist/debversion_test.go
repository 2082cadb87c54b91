package main

import (
	"os/exec"
	"testing"
	"time"

	"gotest.tools/v3/assert"
)

// Versions of Debian in the order of time, as git describe has named them.
func TestDebianVersion_SortsAsReleasesDo(t *testing.T) {
	at := time.Unix(1700000000, 0)
	ordered := []struct{ described, want string }{
		{"0123abc", "0~git20231114221320.0123abc"},
		{"0123abc-dirty", "0~git20231114221320.0123abc+dirty"},
		{"v1.0.0-rc.1", "1.0.0~rc.1"},
		{"v1.0.0-rc.1-3-g0123abc", "1.0.0~rc.1+3.g0123abc"},
		{"v1.0.0", "1.0.0"},
		{"v1.0.0-10-g0123abc", "1.0.0+10.g0123abc"},
		{"v1.0.0-10-g0123abc-dirty", "1.0.0+10.g0123abc+dirty"},
		{"1.1", "1.1"},
	}
	for _, v := range ordered {
		assert.Equal(t, debianVersion(v.described, at), v.want)
	}
	assert.Equal(t, debianVersion("v1.0.0-2-g0123abc", at), "1.0.0+2.g0123abc")
	assert.Equal(t, debianVersion("v1.0.0-dirty", at), "1.0.0+dirty")
	assert.Equal(t, debianVersion("dev", at), "0~git20231114221320.dev")
	assert.Equal(t, debianVersion("feature_x-1", at), "0~git20231114221320.feature.x.1")
	need(t, "dpkg")
	for i := range ordered[1:] {
		err := exec.Command("dpkg", "--compare-versions", ordered[i].want, "lt", ordered[i+1].want).Run()
		assert.NilError(t, err, "%s < %s", ordered[i].want, ordered[i+1].want)
	}
}
