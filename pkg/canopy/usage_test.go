package canopy_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"gotest.tools/v3/assert"

	"github.com/canopy-scheduler/canopy/pkg/canopy"
)

func TestStart_UnusableUsageIsRefused(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "usage.db")
	assert.NilError(t, os.WriteFile(file, []byte(strings.Repeat("no database ", 1000)), 0o600))
	_, err := canopy.Start(t.Context(), canopy.Options{DataDir: dir})
	assert.ErrorContains(t, err, file)
	assert.ErrorContains(t, err, "DataDir")

	s, err := canopy.Start(t.Context(), canopy.Options{DataDir: dir, Usage: canopy.Usage{Interval: -1}})
	assert.NilError(t, err, "no usage is kept")
	assert.NilError(t, s.Close())
	for _, bad := range []canopy.Usage{{Interval: time.Millisecond}, {MaxAge: -1}, {MaxBytes: -1}} {
		_, err := canopy.Start(t.Context(), canopy.Options{Usage: bad})
		assert.ErrorContains(t, err, "Usage.")
	}
}
