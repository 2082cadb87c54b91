package backfill_test

import (
	"testing"

	"gotest.tools/v3/assert"

	"github.com/canopy-scheduler/canopy/pkg/backfill"
)

func TestDeclines(t *testing.T) {
	for _, c := range []struct {
		tags     map[string]string
		declines bool
		err      string
	}{
		{nil, false, ""},
		{map[string]string{"app": "x"}, false, ""},
		{map[string]string{backfill.Tag: "false"}, true, ""},
		{map[string]string{backfill.Tag: "0"}, true, ""},
		{map[string]string{backfill.Tag: "true"}, false, ""},
		{map[string]string{"kubernetes.io/label/" + backfill.Tag: "false"}, true, ""},
		{map[string]string{backfill.Tag: "true", "kubernetes.io/label/" + backfill.Tag: "false"}, false, ""},
		{map[string]string{backfill.Tag: "never"}, false,
			`tag canopy.scheduler/backfill is "never": it must be true or false`},
		{map[string]string{backfill.Tag: ""}, false, `tag canopy.scheduler/backfill is "": it must be true or false`},
	} {
		declines, err := backfill.Declines(c.tags)
		assert.Equal(t, declines, c.declines, "%v", c.tags)
		if c.err == "" {
			assert.NilError(t, err)
		} else {
			assert.Error(t, err, c.err)
		}
	}
}
