//go:build unix

package httpserver

import (
	"context"
	"os"
	"syscall"

	"github.com/canopy-scheduler/canopy/internal/server/cpushare"
)

// shortWrite is the length up to which bytes are written without a CPU slot: the write takes less
// time than a wait for a slot may.
const shortWrite = 4 << 10

// Write implements net.Conn (OBS-88). A write system call takes a processor, so it holds a CPU
// slot; a write that waits for the client holds none.
func (c *connection) Write(text []byte) (written int, err error) {
	if c.rawConn == nil || len(text) <= shortWrite {
		return c.Conn.Write(text)
	}
	for written < len(text) {
		var failed error
		// If the function returns false, RawConn.Write waits for the client and calls it again.
		err := c.rawConn.Write(func(fd uintptr) bool {
			defer cpushare.Readers.Acquire(context.Background()).Release()
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
