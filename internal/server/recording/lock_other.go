//go:build !unix

package recording

import "os"

// lock does nothing where files have no advisory locks.
func lock(string) (*os.File, error) { return nil, nil }
