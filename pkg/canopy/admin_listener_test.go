package canopy

import (
	"net"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"gotest.tools/v3/assert"
)

func TestAdminSocket_PermissionsAndOwnership(t *testing.T) {
	dir := t.TempDir()
	sock := filepath.Join(dir, "s")
	l, err := new(Options).listenAdmin("unix:" + sock)
	assert.NilError(t, err)
	info, err := os.Stat(sock)
	assert.NilError(t, err)
	assert.Equal(t, info.Mode().Perm(), os.FileMode(0o600))
	files, err := os.ReadDir(dir)
	assert.NilError(t, err)
	assert.Equal(t, len(files), 1, "%v", files)
	_, err = new(Options).listenAdmin("unix:" + sock)
	assert.ErrorContains(t, err, "address already in use")

	conn, err := net.Dial("unix", sock)
	assert.NilError(t, err)
	assert.NilError(t, conn.Close())
	assert.NilError(t, l.Close())

	// A file that has replaced the socket is not removed.
	l, err = new(Options).listenAdmin("unix:" + sock)
	assert.NilError(t, err)
	assert.NilError(t, os.Remove(sock))
	assert.NilError(t, os.WriteFile(sock, []byte("mine"), 0o600))
	assert.NilError(t, l.Close())
	assert.NilError(t, os.Remove(sock))

	// The socket of a process that was killed is replaced; a file that is not a socket is not.
	dead, err := net.ListenUnix("unix", &net.UnixAddr{Name: sock, Net: "unix"})
	assert.NilError(t, err)
	dead.SetUnlinkOnClose(false)
	assert.NilError(t, dead.Close())
	l, err = new(Options).listenAdmin("unix:" + sock)
	assert.NilError(t, err)
	assert.NilError(t, l.Close())
	assert.NilError(t, os.WriteFile(sock, nil, 0o600))
	_, err = new(Options).listenAdmin("unix:" + sock)
	assert.ErrorContains(t, err, "not a socket")
}

// A process whose queue of connections is full still listens.
func TestAdminSocket_BusySocketIsNotReplaced(t *testing.T) {
	sock := filepath.Join(t.TempDir(), "s")
	fd, err := syscall.Socket(syscall.AF_UNIX, syscall.SOCK_STREAM, 0)
	assert.NilError(t, err)
	defer func() { assert.NilError(t, syscall.Close(fd)) }()
	assert.NilError(t, syscall.Bind(fd, &syscall.SockaddrUnix{Name: sock}))
	assert.NilError(t, syscall.Listen(fd, 0))
	for err == nil { // until the queue of connections is full
		var conn net.Conn
		if conn, err = net.Dial("unix", sock); err == nil {
			defer conn.Close()
		}
	}
	before, err := os.Lstat(sock)
	assert.NilError(t, err)
	_, err = new(Options).listenAdmin("unix:" + sock)
	assert.ErrorContains(t, err, "address already in use")
	after, err := os.Lstat(sock)
	assert.NilError(t, err)
	assert.Assert(t, os.SameFile(before, after))

	datagrams, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: sock + "2", Net: "unixgram"})
	assert.NilError(t, err)
	defer datagrams.Close()
	_, err = new(Options).listenAdmin("unix:" + sock + "2")
	assert.ErrorContains(t, err, "address already in use")
}

// The socket could be created, in the private directory, but no client could connect to it.
func TestAdminSocket_TooLongPathIsRejected(t *testing.T) {
	_, err := new(Options).listenAdmin("unix:" + filepath.Join(t.TempDir(), strings.Repeat("x", 200)))
	assert.ErrorContains(t, err, "and a socket has at most")
}
