package serverprocess

import (
	"bufio"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"

	"gotest.tools/v3/assert"
)

// TestProcess_EndsWithItsParent kills a process that has started a server. The server has a pipe open, which is closed
// when it has ended.
func TestProcess_EndsWithItsParent(t *testing.T) {
	const variable = "CANOPY_TEST_PIPE"
	if pipe := os.Getenv(variable); pipe != "" { // this is the parent
		p, err := Start(t.Context(), shell("exec 3>"+pipe+"; "+ready+"exec sleep 1000")...)
		assert.NilError(t, err)
		_, _ = os.Stdout.WriteString("started\n")
		_ = p.Reap() // waits
		return
	}
	pipe := filepath.Join(t.TempDir(), "pipe")
	assert.NilError(t, syscall.Mkfifo(pipe, 0o600))
	program, err := os.Executable()
	assert.NilError(t, err)
	parent := exec.CommandContext(t.Context(), program, "-test.run=^"+t.Name()+"$")
	parent.Env = append(os.Environ(), variable+"="+pipe)
	out, err := parent.StdoutPipe()
	assert.NilError(t, err)
	assert.NilError(t, parent.Start())
	server, err := os.Open(pipe) // waits until the server has opened it
	assert.NilError(t, err)
	line, err := bufio.NewReader(out).ReadString('\n')
	assert.NilError(t, err)
	assert.Equal(t, line, "started\n")
	assert.NilError(t, parent.Process.Kill())
	_, err = io.ReadAll(server) // waits until the server has ended
	assert.NilError(t, err)
	assert.NilError(t, server.Close())
	assert.ErrorContains(t, parent.Wait(), "killed")
}
