package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"testing"

	"go.uber.org/goleak"
	"gotest.tools/v3/assert"

	"github.com/canopy-scheduler/canopy/internal/cli/cmdline"
	"github.com/canopy-scheduler/canopy/internal/testing/commandtest"
)

func TestMain(m *testing.M) {
	if os.Getenv(asStuckProgram) != "" {
		stuckProgram()
		return
	}
	if os.Getenv(asProgram) != "" {
		main()
		return
	}
	if err := os.Setenv(asProgram, "1"); err != nil {
		panic(err)
	}
	goleak.VerifyTestMain(m, goleak.Cleanup(func(code int) {
		for _, p := range programs {
			if p.dir != "" {
				_ = os.RemoveAll(p.dir)
			}
		}
		os.Exit(code)
	}))
}

// runCanopy runs the program in this process.
func runCanopy(args ...string) (code int, out, errs string) {
	var stdout, stderr bytes.Buffer
	code = run(args, strings.NewReader(""), &stdout, &stderr)
	return code, stdout.String(), stderr.String()
}

func TestCommands_EveryFlagHasUsage(t *testing.T) { canopyProgram().EveryFlagHasUsage(t) }

func TestCommands_DocumentsAreWritten(t *testing.T) { canopyProgram().DocumentsAreWritten(t) }

func TestRun_InvalidCommandLineIsUsageError(t *testing.T) {
	for _, args := range [][]string{
		{"nonsense"}, {"--nonsense"}, {"serve", "--nonsense"}, {"serve", "extra"}, {"version", "extra"},
		{"version", "--output", "xml"}, {"serve", "--log-level", "loud"}, {"serve", "--log-format", "xml"},
		{"serve", "--grpc-address", "nowhere"}, {"serve", "--grpc-address", "127.0.0.1:0", "--http-address", "x"},
	} {
		code, out, errs := runCanopy(args...)
		assert.Equal(t, code, cmdline.Usage, "%v", args)
		assert.Equal(t, out, "", "%v", args)
		assert.Assert(t, strings.HasPrefix(errs, "canopy: "), "%v: %q", args, errs)
		assert.Assert(t, !strings.Contains(errs, "Usage:"), "%v: %q", args, errs)
	}
}

func TestRun_FullDiskIsNotUsageError(t *testing.T) {
	for _, tc := range []struct {
		args []string
		want int
	}{
		{[]string{"version"}, cmdline.Refused},
		{[]string{"demo", "--nodes", "5", "--queues", "6", "--asks", "10"}, cmdline.Refused},
		// Exit code 1 would mean that the file has errors.
		{[]string{"validate", "../../examples/demo.yaml"}, cmdline.Usage},
	} {
		var errs strings.Builder
		assert.Equal(t, run(tc.args, strings.NewReader(""), commandtest.FullDisk{}, &errs), tc.want, "%v: %s", tc.args, &errs)
		assert.Assert(t, strings.Contains(errs.String(), "no space left"), "%v: %s", tc.args, &errs)
		assert.Assert(t, !strings.Contains(errs.String(), "--help"), "%v: %s", tc.args, &errs)
	}
}

func TestVersion(t *testing.T) {
	code, out, errs := runCanopy("version")
	assert.Equal(t, code, 0)
	assert.Equal(t, errs, "")
	assert.Assert(t, strings.HasPrefix(out, "canopy dev\ngo go"), out)

	code, same, _ := runCanopy("--version")
	assert.Equal(t, code, 0)
	assert.Equal(t, same, out)

	code, out, _ = runCanopy("version", "--output", "json")
	assert.Equal(t, code, 0)
	var got cmdline.Build
	assert.NilError(t, json.Unmarshal([]byte(out), &got))
	assert.DeepEqual(t, got, cmdline.ThisBuild("canopy", version))
}

// A command of a group is suggested like one of the program.
func TestRun_UnknownCommandHasSuggestion(t *testing.T) {
	for _, args := range [][]string{{"serv"}, {"token", "chec"}} {
		_, _, errs := runCanopy(args...)
		assert.Assert(t, strings.Contains(errs, "Did you mean this?\n\t"+args[len(args)-1][:3]), errs)
		assert.Assert(t, strings.Contains(errs, "--help' for the commands\n"), errs)
	}
}

// The error about a malformed value of a flag says what the flag takes, not which function of Go failed.
func TestRun_MalformedFlagValueSaysWhatIsWanted(t *testing.T) {
	for _, x := range []struct{ command, flag, value, want string }{
		{"demo", "nodes", "x", "a whole number"},
		{"demo", "seed", "-1", "a whole number that is not negative"},
		{"plan", "timeout", "30", "a duration such as 30s or 5m"},
		{"validate", "strict", "maybe", "true or false"},
	} {
		_, _, errs := runCanopy(x.command, "--"+x.flag+"="+x.value)
		assert.Equal(t, errs, `canopy: invalid argument "`+x.value+`" for "--`+x.flag+`" flag: it must be `+x.want+"\n")
	}
}

// A command that is one of canopy-lab now says so, whatever its arguments are.
func TestMovedCommands_SayWhereTheyAre(t *testing.T) {
	for _, args := range [][]string{{"bench", "run", "--quick"}, {"replay", "--help"}, {"recording"}, {"what-if", "x"}} {
		code, out, errs := runCanopy(args...)
		assert.Equal(t, code, cmdline.Usage, "%v", args)
		assert.Equal(t, out, "", "%v", args)
		assert.Equal(t, errs, fmt.Sprintf("canopy: %[1]s is a command of canopy-lab: canopy-lab %[1]s\n", args[0]))
	}
}
