package main

import (
	"strings"
	"testing"

	"gotest.tools/v3/assert"
)

func TestBoundsAreFlagsOfEveryCommandThatReadsAConfiguration(t *testing.T) {
	inDirectory(t)
	text := "partitions: [{queues: [{name: root, submitacl: '*', queues: [{name: a}, {name: b}]}]}]\n"
	writeFile(t, "two.yaml", text)
	for _, command := range [][]string{
		{"validate", "two.yaml"},
		{"serve", "--config", "two.yaml", "--grpc-address", "nowhere"},
	} {
		for _, c := range []struct{ flag, want string }{
			{"--max-queues=2", "bound-queues"}, {"--max-depth=1", "bound-depth"}, {"--max-config-bytes=20", "bound-bytes"},
		} {
			code, out, errs := canopy(append(command, c.flag)...)
			assert.Equal(t, code, exitRefused, "%v %s", command, c.flag)
			name := strings.TrimPrefix(c.flag[:strings.Index(c.flag, "=")], "--")
			assert.Assert(t, strings.Contains(out+errs, "["+c.want+"]") && strings.Contains(out+errs, name), out+errs)
		}
		for _, flag := range []string{"--max-queues", "--max-depth", "--max-config-bytes"} {
			code, _, errs := canopy(append(command, flag, "0")...)
			assert.Equal(t, code, exitUsage)
			assert.Equal(t, errs, "canopy: "+flag+" is 0, and must be above 0\n")
		}
	}
	for _, command := range [][]string{
		{"validate", "two.yaml"},
		{"serve", "--config", "two.yaml", "--grpc-address", "nowhere"},
		{"plan", "--config", "two.yaml", "--against", "two.yaml"},
		{"test", "--config", "two.yaml", "two.yaml"},
		{"place", "--config", "two.yaml", "--user", "u"},
		{"replay", "--nodes", "n", "--pods", "p", "--config", "two.yaml"},
	} {
		for _, n := range []string{"1073741825", "9223372036854775807"} {
			_, out, errs := canopy(append(command, "--max-config-bytes", n)...)
			want := "--max-config-bytes is " + n + ", and can be 1073741824 (1 GiB) at most"
			assert.Assert(t, strings.Contains(errs, want), "%v: %s%s", command, out, errs)
		}
	}
	code, out, _ := canopy("validate", "two.yaml", "--max-config-bytes", "1073741824")
	assert.Equal(t, code, 0, out)
	code, out, _ = canopy("validate", "two.yaml", "--max-queues=3", "--max-depth=2", "--max-config-bytes=87")
	assert.Equal(t, code, 0, out)
}
