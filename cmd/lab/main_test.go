package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"go.uber.org/goleak"
	"gotest.tools/v3/assert"

	"github.com/canopy-scheduler/canopy/internal/cli/cmdline"
	"github.com/canopy-scheduler/canopy/internal/lab/serverprocess"
	"github.com/canopy-scheduler/canopy/internal/testing/commandtest"
)

// asProgram names the environment variable with which the test binary runs main: TestMain sets it for all processes
// that tests start.
const asProgram = "CANOPY_LAB_TEST_AS_PROGRAM"

func TestMain(m *testing.M) {
	if os.Getenv(asProgram) != "" {
		main()
		return
	}
	if err := os.Setenv(asProgram, "1"); err != nil {
		panic(err)
	}
	goleak.VerifyTestMain(m, goleak.Cleanup(func(code int) {
		if canopy.dir != "" {
			_ = os.RemoveAll(canopy.dir)
		}
		os.Exit(code)
	}))
}

// runLab runs the program in this process.
func runLab(args ...string) (code int, out, errs string) {
	var stdout, stderr bytes.Buffer
	code = run(args, strings.NewReader(""), &stdout, &stderr)
	return code, stdout.String(), stderr.String()
}

// labProgram returns the file of the program, which is the test binary.
func labProgram(t *testing.T) string {
	t.Helper()
	file, err := os.Executable()
	assert.NilError(t, err)
	return file
}

// moduleRoot is the absolute directory of go.mod. Tests may change the current directory later.
var moduleRoot = func() string {
	dir, err := filepath.Abs("../..")
	if err != nil {
		panic(err)
	}
	return dir
}()

// canopy is the program canopy, which is built for the first test that needs a server.
var canopy struct {
	sync.Once
	dir string
	err error
}

// serverFile returns the file of the program canopy. It is built without the race detector, which takes several times
// the memory.
func serverFile(t *testing.T) string {
	t.Helper()
	canopy.Do(func() {
		if canopy.dir, canopy.err = os.MkdirTemp("", "canopy-lab-"); canopy.err != nil {
			return
		}
		cmd := exec.Command("go", "build", "-o", filepath.Join(canopy.dir, "canopy"), "./cmd/core")
		cmd.Dir = moduleRoot
		if out, err := cmd.CombinedOutput(); err != nil {
			canopy.err = fmt.Errorf("%w: %s", err, out)
		}
	})
	assert.NilError(t, canopy.err)
	return filepath.Join(canopy.dir, "canopy")
}

// startServer starts a server on free ports, which ends with the test.
func startServer(t *testing.T, flags ...string) *serverprocess.Process {
	t.Helper()
	p, err := serverprocess.Start(t.Context(), append([]string{serverFile(t), "serve", "--grpc-address", "127.0.0.1:0",
		"--http-address", "127.0.0.1:0"}, flags...)...)
	assert.NilError(t, err)
	t.Cleanup(func() { assert.NilError(t, p.Stop()) })
	return p
}

// fieldsOf lists the fields of a JSON object in the order in which they are written. The text must have nothing else.
func fieldsOf(t *testing.T, text string) (fields []string) {
	t.Helper()
	d := json.NewDecoder(strings.NewReader(text))
	open, err := d.Token()
	assert.NilError(t, err)
	assert.Equal(t, open, json.Delim('{'))
	for d.More() {
		name, err := d.Token()
		assert.NilError(t, err)
		fields = append(fields, name.(string))
		var value json.RawMessage
		assert.NilError(t, d.Decode(&value))
	}
	_, err = d.Token()
	assert.NilError(t, err)
	assert.Assert(t, !d.More())
	return fields
}

func program() *commandtest.Program {
	return &commandtest.Program{Root: rootCommand(), Codes: exitCodes, Run: runLab}
}

func TestCommands_EveryFlagHasUsage(t *testing.T) { program().EveryFlagHasUsage(t) }

func TestCommands_DocumentsAreWritten(t *testing.T) { program().DocumentsAreWritten(t) }

func TestExitCodes_EveryCommandIsInTheTable(t *testing.T) {
	program().CodesAreDocumented(t, "../../docs/EXIT_CODES.md", "help")
}

func TestExitCodes_InvalidCommandLines(t *testing.T) {
	program().InvalidCommandLinesAreRefused(t, func(string) int { return cmdline.Usage })
}

// A malformed value of a flag is refused with what the flag takes.
func TestRun_MalformedValueOfAFlag(t *testing.T) {
	for _, c := range [][4]string{
		{"replay", "limit", "x", "a whole number"},
		{"replay", "seed", "-1", "a whole number that is not negative"},
		{"trace-synth", "load", "much", "a number"},
	} {
		code, _, errs := runLab(c[0], "--"+c[1], c[2])
		assert.Equal(t, code, cmdline.Usage)
		assert.Equal(t, errs,
			fmt.Sprintf("canopy-lab: invalid argument %q for \"--%s\" flag: it must be %s\n", c[2], c[1], c[3]))
	}
}

// The exit code of a command is its verdict.
func TestExitCodes_Verdicts(t *testing.T) {
	for args, want := range map[string]int{
		"replay": 2, "replay --nodes missing.csv --pods missing.csv": 2, "trace-synth": 2,
		"conformance --list": 0, "conformance --address 127.0.0.1:1": 1, "conformance --run nothing": 2,
		"conformance --features nothing": 2, "conformance --timeout 0s": 2, "recording show missing": 2,
		"bench run --suite nonsense": 2, "bench compare missing.json missing.json": 2, "bench list": 0, "version": 0,
		"replay --nodes n --pods p --max-config-bytes 1073741825": 2,
	} {
		code, out, errs := runLab(strings.Fields(args)...)
		assert.Equal(t, code, want, "%s: %s%s", args, out, errs)
	}
	var errs strings.Builder
	code := run([]string{"bench", "list"}, strings.NewReader(""), commandtest.FullDisk{}, &errs)
	assert.Assert(t, code != 0 && strings.Contains(errs.String(), "no space left"), "%d %s", code, &errs)
}

// The program canopy is the one of --canopy, or beside this one, or in PATH.
func TestServerProgram_IsFound(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("PATH", dir)
	_, err := serverProgram("")
	assert.Error(t, err, "there is no program canopy beside canopy-lab or in PATH: name its file with --canopy")
	file := filepath.Join(dir, "canopy")
	assert.NilError(t, os.WriteFile(file, nil, 0o700)) // #nosec G306: it must be executable
	found, err := serverProgram("")
	assert.NilError(t, err)
	assert.Equal(t, found, file)
	_, err = serverProgram("./missing")
	assert.Assert(t, errors.Is(err, os.ErrNotExist), "%v", err)

	code, _, errs := runLab("bench", "run", "--suite", "recovery", "--canopy", "./missing")
	assert.Equal(t, code, cmdline.Usage)
	assert.Assert(t, strings.Contains(errs, "./missing"), errs)
}
