//go:build !unix

package canopy

// writeFenced writes with the fence before the first system call.
func (c *handedConn) writeFenced(text []byte) (int, error) {
	if !c.maySend() {
		return 0, errTermOver
	}
	return c.Conn.Write(text)
}
