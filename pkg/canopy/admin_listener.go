package canopy

import (
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"syscall"
)

// exampleAdmin is an address for Options.AdminAddress.
const exampleAdmin = "127.0.0.1:9081"

// socketPrefix begins an AdminAddress that is a Unix socket.
const socketPrefix = "unix:"

// hasAdminSocket reports whether only the user of the process can connect to the admin listener (SEC-11).
func (o *Options) hasAdminSocket() bool { return strings.HasPrefix(o.AdminAddress, socketPrefix) }

// listenAdmin opens the listener of Options.AdminAddress (CFG-123, OBS-75): a loopback address, or a socket that only
// this user may open. With TLS and authentication it may be any address (SEC-11).
func (o *Options) listenAdmin(address string) (net.Listener, error) {
	if file, ok := strings.CutPrefix(address, socketPrefix); ok {
		return o.listenSocket(file)
	}
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		return nil, o.invalid("AdminAddress", err)
	}
	if o.Security.isSecure() {
		l, err := net.Listen("tcp", address)
		if err != nil {
			return nil, o.refused("AdminAddress", err)
		}
		return l, nil
	}
	if ip := net.ParseIP(host); host != "localhost" && (ip == nil || !ip.IsLoopback()) {
		return nil, o.notLocal(address)
	}
	l, err := net.Listen("tcp", address)
	if err != nil {
		return nil, o.refused("AdminAddress", err)
	}
	if bound, ok := l.Addr().(*net.TCPAddr); !ok || !bound.IP.IsLoopback() { // localhost may have any address
		return nil, errors.Join(o.notLocal(l.Addr().String()), l.Close())
	}
	return l, nil
}

func (o *Options) notLocal(address string) error {
	return o.invalid("AdminAddress", fmt.Errorf("%s can be reached from other machines, and there is no "+
		"TLS with authentication: use a loopback address such as %s, or unix:/path", address, exampleAdmin))
}

// listenSocket opens a socket that only this user may connect to. It is created in a private
// directory and moved to its path once its mode is 0600. A socket that a former process has left is
// replaced; one on which a process may listen is not.
func (o *Options) listenSocket(file string) (net.Listener, error) {
	if !filepath.IsAbs(file) {
		return nil, o.invalid("AdminAddress", fmt.Errorf("unix:%s is not an absolute path", file))
	}
	l, err := openSocket(file)
	if err != nil {
		return nil, o.refused("AdminAddress", fmt.Errorf("unix:%s: %w", file, err))
	}
	return l, nil
}

func openSocket(file string) (net.Listener, error) {
	switch info, err := os.Lstat(file); {
	case errors.Is(err, os.ErrNotExist):
	case err != nil:
		return nil, err
	case info.Mode()&os.ModeSocket == 0:
		return nil, errors.New("the file exists and is not a socket")
	default:
		// Only a refused connection shows that no process listens. Any other error does not.
		conn, err := net.Dial("unix", file)
		if err == nil {
			return nil, errors.Join(syscall.EADDRINUSE, conn.Close())
		}
		if !errors.Is(err, syscall.ECONNREFUSED) {
			return nil, fmt.Errorf("%w: %w", syscall.EADDRINUSE, err)
		}
	}
	if most := len(syscall.RawSockaddrUnix{}.Path) - 1; len(file) > most {
		return nil, fmt.Errorf("the path has %d bytes, and a socket has at most %d", len(file), most)
	}
	private, err := os.MkdirTemp(filepath.Dir(file), ".canopy")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(private)
	made := filepath.Join(private, "s")
	l, err := net.ListenUnix("unix", &net.UnixAddr{Name: made, Net: "unix"})
	if err != nil {
		return nil, err
	}
	l.SetUnlinkOnClose(false)
	info, err := os.Lstat(made)
	if err := errors.Join(err, os.Chmod(made, 0o600), os.Rename(made, file)); err != nil {
		return nil, errors.Join(err, l.Close())
	}
	return adminSocket{l, file, info}, nil
}

// adminSocket is a listener on a socket that was moved to file, which Close removes.
type adminSocket struct {
	net.Listener
	file string
	info os.FileInfo
}

// Addr is the path to which the socket was moved.
func (s adminSocket) Addr() net.Addr { return &net.UnixAddr{Name: s.file, Net: "unix"} }

// Close ends the listener and removes its file, unless that was replaced by another one.
func (s adminSocket) Close() error {
	err := s.Listener.Close()
	if now, gone := os.Lstat(s.file); gone != nil || !os.SameFile(now, s.info) {
		return err
	}
	return errors.Join(err, os.Remove(s.file))
}
