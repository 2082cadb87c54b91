package main

import (
	"encoding/json"
	"strings"
	"testing"

	"gotest.tools/v3/assert"

	"github.com/canopy-scheduler/canopy/internal/cli/cmdline"
)

func TestSchema_Output(t *testing.T) {
	code, out, errs := runCanopy("schema")
	assert.Equal(t, code, 0)
	assert.Equal(t, errs, "")
	var got struct {
		Schema     string                     `json:"$schema"`
		Properties map[string]json.RawMessage `json:"properties"`
		Defs       map[string]json.RawMessage `json:"$defs"`
	}
	assert.NilError(t, json.Unmarshal([]byte(out), &got))
	assert.Equal(t, got.Schema, "https://json-schema.org/draft/2020-12/schema")
	assert.Assert(t, got.Properties["partitions"] != nil && got.Defs["queue"] != nil && got.Defs["properties"] != nil)

	code, _, errs = runCanopy("schema", "queues.yaml")
	assert.Equal(t, code, cmdline.Usage)
	assert.Assert(t, strings.Contains(errs, `takes no argument such as "queues.yaml"`), errs)
}
