package backfill_test

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"gotest.tools/v3/assert"

	"github.com/canopy-scheduler/canopy/pkg/backfill"
	"github.com/canopy-scheduler/canopy/pkg/objects"
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

// canopy explain reads what REST writes. Each reason says something of its own.
func TestReason_TextIsReadAgain(t *testing.T) {
	texts, at := map[string]bool{}, time.Unix(1_000_000_000, 0)
	for r := backfill.Declined; r <= backfill.NotYet; r++ {
		written := backfill.Refusal{Reason: r, Node: "n", Key: "k", FitsAt: objects.TimestampOf(at),
			EndsAt: objects.TimestampOf(at.Add(time.Hour))}
		text, err := json.Marshal(written)
		assert.NilError(t, err)
		var read backfill.Refusal
		assert.NilError(t, json.Unmarshal(text, &read), "%s", text)
		assert.Equal(t, read, written)
		texts[read.Text()] = true
		assert.Assert(t, strings.Contains(read.Text(), "use what node n holds for ask k"), read.Text())
	}
	assert.Equal(t, len(texts), int(backfill.NotYet))
	var r backfill.Reason
	assert.Error(t, r.UnmarshalText([]byte("never")), `"never" is no reason why an ask is not backfilled`)
	assert.ErrorContains(t, r.UnmarshalText(nil), "is no reason")
}
