package lint

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"gotest.tools/v3/assert"
)

// maxTrackedFile is the greatest size of a tracked file in bytes: a larger one is a program or data, not a source.
const maxTrackedFile = 1_000_000

// programMagic is how compiled programs begin: ELF, Mach-O in both byte orders, and PE.
var programMagic = [][]byte{[]byte("\x7fELF"), {0xfe, 0xed, 0xfa, 0xcf}, {0xcf, 0xfa, 0xed, 0xfe}, []byte("MZ\x90\x00")}

// untrackable returns why a file may not be tracked; empty: it may.
func untrackable(content []byte) string {
	for _, magic := range programMagic {
		if bytes.HasPrefix(content, magic) {
			return "is a compiled program: build it into bin/"
		}
	}
	if len(content) > maxTrackedFile {
		return "is larger than 1 MB"
	}
	return ""
}

func TestFiles_HaveNoPrograms(t *testing.T) {
	names, err := tracked()
	assert.NilError(t, err)
	read := 0
	for _, name := range names {
		content, err := os.ReadFile(filepath.Join(root, name))
		if errors.Is(err, fs.ErrNotExist) {
			continue // removed, not yet committed
		}
		assert.NilError(t, err)
		read++
		if why := untrackable(content); why != "" {
			t.Errorf("%s %s", name, why)
		}
	}
	assert.Assert(t, read >= minFiles, "only %d files: was the tree really read?", read)
}

func TestUntrackable(t *testing.T) {
	const program = "is a compiled program: build it into bin/"
	for name, c := range map[string]struct {
		content []byte
		want    string
	}{
		"a source":               {[]byte("package lint\n"), ""},
		"a program of Linux":     {[]byte("\x7fELF\x02\x01\x01"), program},
		"a program of macOS":     {[]byte{0xcf, 0xfa, 0xed, 0xfe, 7}, program},
		"a program of Windows":   {[]byte("MZ\x90\x00\x03"), program},
		"the largest file":       {make([]byte, maxTrackedFile), ""},
		"a byte more than that":  {make([]byte, maxTrackedFile+1), "is larger than 1 MB"},
		"an empty file is small": {nil, ""},
	} {
		assert.Equal(t, untrackable(c.content), c.want, name)
	}
}
