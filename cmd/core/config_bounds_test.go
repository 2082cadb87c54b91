package main

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"syscall"
	"testing"

	"gotest.tools/v3/assert"

	"github.com/canopy-scheduler/canopy/internal/cli/cmdline"
)

func TestConfigBounds_AreFlagsOfEveryCommand(t *testing.T) {
	inDirectory(t)
	text := "partitions: [{queues: [{name: root, submitacl: '*', queues: [{name: a}, {name: b}]}]}]\n"
	writeFile(t, "two.yaml", text)
	for _, command := range [][]string{
		{"validate", "two.yaml"},
		{"serve", "--config", "two.yaml", "--grpc-address", "nowhere"},
	} {
		for _, c := range []struct{ flag, want string }{
			{"--max-queues=2", "bound-queues"}, {"--max-depth=1", "bound-depth"}, {"--max-config-bytes=20", "bound-bytes"},
			{"--max-config-values=4", "bound-values"},
		} {
			code, out, errs := runCanopy(append(command, c.flag)...)
			assert.Equal(t, code, cmdline.Refused, "%v %s", command, c.flag)
			name := strings.TrimPrefix(c.flag[:strings.Index(c.flag, "=")], "--")
			assert.Assert(t, strings.Contains(out+errs, "["+c.want+"]") && strings.Contains(out+errs, name), out+errs)
		}
		for _, flag := range []string{"--max-queues", "--max-depth", "--max-config-bytes", "--max-config-values"} {
			code, _, errs := runCanopy(append(command, flag, "0")...)
			assert.Equal(t, code, cmdline.Usage)
			assert.Equal(t, errs, "canopy: "+flag+" is 0, and must be above 0\n")
		}
	}
	for _, command := range [][]string{
		{"validate", "two.yaml"},
		{"serve", "--config", "two.yaml", "--grpc-address", "nowhere"},
		{"plan", "--config", "two.yaml", "--against", "two.yaml"},
		{"test", "--config", "two.yaml", "two.yaml"},
		{"place", "--config", "two.yaml", "--user", "u"},
	} {
		for _, n := range []string{"1073741825", "9223372036854775807"} {
			_, out, errs := runCanopy(append(command, "--max-config-bytes", n)...)
			want := "--max-config-bytes is " + n + ", and can be 1073741824 (1 GiB) at most"
			assert.Assert(t, strings.Contains(errs, want), "%v: %s%s", command, out, errs)
		}
	}
	code, out, _ := runCanopy("validate", "two.yaml", "--max-config-bytes", "1073741824")
	assert.Equal(t, code, 0, out)
	code, out, _ = runCanopy("validate", "two.yaml", "--max-queues=3", "--max-depth=2", "--max-config-bytes=87")
	assert.Equal(t, code, 0, out)
}

// Opening a named pipe would wait for a writer, without a limit.
func TestReadConfig_NamedPipeIsRejected(t *testing.T) {
	inDirectory(t)
	assert.NilError(t, syscall.Mkfifo("pipe.yaml", 0o600))
	assert.NilError(t, os.Symlink("pipe.yaml", "link.yaml"))
	writeFile(t, "two.yaml", "partitions: [{queues: [{name: root, submitacl: '*'}]}]\n")
	for _, name := range []string{"pipe.yaml", "link.yaml", "/dev/null"} {
		for _, args := range [][]string{
			{"serve", "--grpc-address", "127.0.0.1:0", "--http-address", "127.0.0.1:0", "--config", name},
			{"validate", name},
			{"plan", "--config", name, "--against", "two.yaml"},
			{"plan", "--config", "two.yaml", "--against", name},
			{"place", "--config", name, "--user", "u"},
			{"test", "--config", name, "two.yaml"},
		} {
			code, _, errs := runCanopy(args...)
			assert.Assert(t, code != 0, "%v", args)
			assert.Assert(t, strings.Contains(errs, name+" is not a regular file: the name - reads standard input"), "%v: %s",
				args, errs)
		}
	}
}

// A shell passes a pipe that has a writer for <(command).
func TestReadConfig_OpenPipe(t *testing.T) {
	r, w, err := os.Pipe()
	assert.NilError(t, err)
	defer r.Close()
	_, err = w.WriteString("partitions: [{queues: [{name: root, submitacl: '*'}]}]\n")
	assert.NilError(t, errors.Join(err, w.Close()))
	code, _, errs := runCanopy("validate", fmt.Sprint("/dev/fd/", r.Fd()))
	assert.Equal(t, code, 0, errs)
}
