//go:build unix

package httpserver

import (
	"os"
	"syscall"

	"github.com/canopy-scheduler/canopy/internal/cpushare"
)

// shortWrite is up to how many bytes are handed over without a slot: that takes less time than
// waiting for one may.
const shortWrite = 4 << 10

// Write is that of net.Conn. To hand bytes to the system takes a processor, for which there are
// slots; while it waits for the client it has none.
func (c *connection) Write(text []byte) (written int, err error) {
	if c.rawConn == nil || len(text) <= shortWrite {
		return c.Conn.Write(text)
	}
	for written < len(text) {
		var failed error
		// It waits for the client between two calls, if the first one reports false.
		err := c.rawConn.Write(func(fd uintptr) bool {
			defer cpushare.Readers.Acquire().Release()
			n, err := writeOnce(int(fd), text[written:])
			written += max(n, 0)
			failed = err
			return err != syscall.EAGAIN
		})
		if err != nil {
			return written, err
		}
		if failed != nil {
			return written, os.NewSyscallError("write", failed)
		}
	}
	return written, nil
}

func writeOnce(fd int, text []byte) (n int, err error) {
	for {
		if n, err = syscall.Write(fd, text); err != syscall.EINTR {
			return n, err
		}
	}
}
