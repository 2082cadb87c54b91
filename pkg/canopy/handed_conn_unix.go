//go:build unix

package canopy

import (
	"cmp"
	"os"
	"syscall"
)

// writeFenced writes with the fence before each system call: the function may be called several times, while the client
// does not read.
func (c *handedConn) writeFenced(text []byte) (written int, err error) {
	for written < len(text) {
		var failed error
		err := c.raw.Write(func(fd uintptr) bool {
			if !c.maySend() {
				failed = errTermOver
				return true
			}
			n, err := syscall.Write(int(fd), text[written:])
			written += max(n, 0)
			failed = os.NewSyscallError("write", err)
			if err == syscall.EINTR {
				failed = nil
			}
			return err != syscall.EAGAIN
		})
		if err != nil || failed != nil {
			return written, cmp.Or(err, failed)
		}
	}
	return written, nil
}
