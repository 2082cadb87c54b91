//go:build unix

package canopy

import (
	"os"
	"syscall"
)

// writeFenced writes with the fence before each system call.
func (c *handedConn) writeFenced(text []byte) (written int, err error) {
	raw := fencedRawConn{c.raw, c}
	for written < len(text) && err == nil {
		var failed error
		err = raw.Write(func(fd uintptr) bool {
			n, err := syscall.Write(int(fd), text[written:])
			written += max(n, 0)
			failed = err
			if err == syscall.EINTR {
				failed = nil
			}
			return err != syscall.EAGAIN
		})
		if err == nil && failed != nil {
			err = os.NewSyscallError("write", failed)
		}
	}
	return written, err
}
