package excerpt_test

import (
	"bytes"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"gotest.tools/v3/assert"

	"github.com/canopy-scheduler/canopy/internal/lab/excerpt"
)

var rewrite = flag.Bool("rewrite", false, "write the effects of the excerpts anew; read the diff")

// TestExcerpts replays each text of testdata: the effects must be those in it. With -rewrite the texts get the effects
// that the scheduler makes now.
func TestExcerpts(t *testing.T) {
	files, err := filepath.Glob("testdata/*.txt")
	assert.NilError(t, err)
	assert.Assert(t, len(files) > 0)
	for _, name := range files {
		t.Run(strings.TrimSuffix(filepath.Base(name), ".txt"), func(t *testing.T) {
			want, err := os.ReadFile(name)
			assert.NilError(t, err)
			e, err := excerpt.Parse(want)
			assert.NilError(t, err)
			var got bytes.Buffer
			for line := range strings.Lines(string(want)) { // the comment at the beginning
				if !strings.HasPrefix(line, "#") && strings.TrimSpace(line) != "" {
					break
				}
				got.WriteString(line)
			}
			assert.NilError(t, e.Write(&got))
			if *rewrite {
				assert.NilError(t, os.WriteFile(name, got.Bytes(), 0o644))
				return
			}
			assert.Equal(t, got.String(), string(want))
		})
	}
}
