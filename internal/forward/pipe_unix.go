//go:build unix

package forward

import (
	"errors"
	"net"
	"os"
	"syscall"
)

// newPipe returns the ends of a connection.
func newPipe() (client, server net.Conn, err error) {
	syscall.ForkLock.RLock() // a process that is started in between would keep the connection open
	ends, err := syscall.Socketpair(syscall.AF_UNIX, syscall.SOCK_STREAM, 0)
	if err == nil {
		syscall.CloseOnExec(ends[0])
		syscall.CloseOnExec(ends[1])
	}
	syscall.ForkLock.RUnlock()
	if err != nil {
		return nil, nil, os.NewSyscallError("socketpair", err)
	}
	client, err = connOf(ends[0])
	server, failed := connOf(ends[1])
	if err = errors.Join(err, failed); err == nil {
		return client, server, nil
	}
	for _, c := range []net.Conn{client, server} {
		if c != nil {
			_ = c.Close()
		}
	}
	return nil, nil, err
}

// connOf makes a socket a connection.
func connOf(socket int) (net.Conn, error) {
	f := os.NewFile(uintptr(socket), "pipe")
	defer func() { _ = f.Close() }() // FileConn has a copy of its own
	return net.FileConn(f)
}
