package main

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"syscall"
	"testing"
	"time"

	"gotest.tools/v3/assert"
)

// moduleRoot is the absolute directory of go.mod. Tests may change the current directory later.
var moduleRoot = func() string {
	dir, err := filepath.Abs("../..")
	if err != nil {
		panic(err)
	}
	return dir
}()

// asProgram names the environment variable with which the test binary runs main: TestMain sets it for
// all processes that tests start. Linking the program for each test took 2 s.
const asProgram = "CANOPY_TEST_AS_PROGRAM"

// buildProgram returns the file of the program, which is the test binary.
func buildProgram(t *testing.T) string {
	t.Helper()
	file, err := os.Executable()
	assert.NilError(t, err)
	return file
}

// programs are other programs by directory. Each is built once, for the first test that needs it.
var programs = map[string]*builtProgram{"examples/shim-go": {}, "examples/shim-legacy": {}, "cmd/lab": {}}

type builtProgram struct {
	sync.Once
	dir string
	err error
}

func buildShim(t *testing.T, example string) string {
	t.Helper()
	return buildOther(t, "examples/"+example)
}

// buildOther returns the file of the program in a directory of the repository.
func buildOther(t *testing.T, directory string) string {
	t.Helper()
	p := programs[directory]
	p.Do(func() {
		if p.dir, p.err = os.MkdirTemp("", "canopy-program-"); p.err != nil {
			return
		}
		cmd := exec.Command("go", "build", "-o", filepath.Join(p.dir, "program"), ".")
		cmd.Dir = filepath.Join(moduleRoot, directory)
		if out, err := cmd.CombinedOutput(); err != nil {
			p.err = fmt.Errorf("%w: %s", err, out)
		}
	})
	assert.NilError(t, p.err)
	return filepath.Join(p.dir, "program")
}

// program is a running process of canopy serve.
type program struct {
	t     *testing.T
	cmd   *exec.Cmd
	ready string // the line it printed
	logs  lockedBuffer
	out   *bufio.Reader
}

func startProgram(t *testing.T, file string, args ...string) *program {
	t.Helper()
	p := &program{t: t, cmd: exec.Command(file, args...)}
	p.cmd.Stderr = &p.logs
	out, err := p.cmd.StdoutPipe()
	assert.NilError(t, err)
	assert.NilError(t, p.cmd.Start())
	t.Cleanup(func() {
		if p.cmd.ProcessState == nil {
			_ = p.cmd.Process.Kill()
			_ = p.cmd.Wait()
		}
	})
	p.out = bufio.NewReader(out)
	p.ready, err = p.out.ReadString('\n')
	assert.NilError(t, err, "%s", &p.logs)
	return p
}

// stop sends SIGTERM. The process must end within 5 s with exit code 0.
func (p *program) stop() {
	p.t.Helper()
	start := time.Now()
	assert.NilError(p.t, p.cmd.Process.Signal(syscall.SIGTERM))
	late := time.AfterFunc(10*time.Second, func() { _ = p.cmd.Process.Signal(os.Kill) })
	defer late.Stop()
	assert.NilError(p.t, p.cmd.Wait(), "%s", &p.logs)
	took := time.Since(start)
	assert.Assert(p.t, took < 5*time.Second, "it took %v\n%s", took, &p.logs)
}

func runShim(t *testing.T, file, address string) (out string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	text, err := exec.CommandContext(ctx, file, "--address", address).CombinedOutput()
	assert.NilError(t, err, "%s", text)
	return string(text)
}

// writeTempFile makes a file for a test.
func writeTempFile(t *testing.T, name, text string) string {
	t.Helper()
	name = filepath.Join(t.TempDir(), name)
	assert.NilError(t, os.WriteFile(name, []byte(text), 0o600))
	return name
}
