package main

import (
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"gotest.tools/v3/assert"
)

// While another process has a lease on a file, open waits for lease-break-time at most: for the
// program it is like a data directory on a disk that hangs.
const (
	setLease  = 1024 // F_SETLEASE
	breakTime = "/proc/sys/fs/lease-break-time"
)

// A start that hangs in the data directory ends within 5 s of SIGTERM, with exit code 0: a signal has
// ended it.
func TestTermination_HangingStartExits(t *testing.T) {
	dir := t.TempDir()
	file, err := os.Create(filepath.Join(dir, "config.db"))
	assert.NilError(t, err)
	defer file.Close()
	_, err = file.WriteString("not empty: an empty file is refused before it is opened (CFG-119)")
	assert.NilError(t, err)
	opened := make(chan os.Signal, 1)
	signal.Notify(opened, syscall.SIGIO) // is sent to the holder of a lease when another process opens the file
	defer signal.Stop(opened)
	if _, _, no := syscall.Syscall(syscall.SYS_FCNTL, file.Fd(), setLease, uintptr(syscall.F_WRLCK)); no != 0 {
		t.Skipf("the file system of %s knows no leases: %v", dir, no)
	}
	text, err := os.ReadFile(breakTime)
	assert.NilError(t, err)
	assert.Assert(t, len(text) > 2, "the kernel waits %s s for a lease, and 10 are needed", text)

	cmd := exec.Command(buildProgram(t), "serve", "--grpc-address", "127.0.0.1:0", "--http-address", "127.0.0.1:0",
		"--data-dir", dir)
	assert.NilError(t, cmd.Start())
	select {
	case <-opened: // the program hangs in open now
	case <-time.After(20 * time.Second):
		t.Error("the program does not open the file")
	}
	terminate(t, cmd)
}
