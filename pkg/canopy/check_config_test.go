package canopy_test

import (
	"errors"
	"strings"
	"testing"

	"gotest.tools/v3/assert"

	"github.com/canopy-scheduler/canopy/pkg/canopy"
)

// A text is checked as Start checks it: warnings of a valid one, all problems of another with its name.
func TestCheckConfig_FindsWhatStartFinds(t *testing.T) {
	warnings, err := canopy.CheckConfig("", queues("a"), canopy.ConfigLimits{})
	assert.Assert(t, err == nil && len(warnings) == 0, "%v %v", err, warnings)
	const unusual = "partitions: [{queues: [{name: root, queues: [{name: a, resources: {max: {vcore: 1m}}}]}]}]"
	warnings, err = canopy.CheckConfig("", unusual, canopy.ConfigLimits{})
	s, _ := start(t, canopy.Options{Config: canopy.Config{Text: unusual}})
	assert.NilError(t, err)
	assert.Assert(t, len(warnings) > 0)
	assert.DeepEqual(t, warnings, s.Warnings())

	for _, text := range []string{"", "partitions: []",
		"partitions: [{queues: [{name: root, max: 1, queues: [{name: 'a.b'}, {name: c}, {name: c}]}]}]"} {
		_, got := canopy.CheckConfig("queues.yaml", text, canopy.ConfigLimits{})
		_, want := canopy.Start(t.Context(), canopy.Options{Config: canopy.Config{Text: text, Name: "queues.yaml"}})
		assert.Assert(t, errors.As(got, new(*canopy.ConfigError)), "%v", got)
		assert.Equal(t, got.Error(), want.Error())
	}
}

// Limits bound the text, and are options themselves.
func TestCheckConfig_Limits(t *testing.T) {
	_, err := canopy.CheckConfig("", queues("a", "b", "c"), canopy.ConfigLimits{MaxQueues: 3})
	assert.Assert(t, errors.As(err, new(*canopy.ConfigError)), "%v", err)
	_, err = canopy.CheckConfig("", queues("a"), canopy.ConfigLimits{MaxQueues: -1, MaxBytes: 2 << 30})
	assert.Assert(t, !errors.As(err, new(*canopy.ConfigError)))
	assert.Assert(t, strings.Contains(err.Error(), "Config.Limits.MaxQueues") &&
		strings.Contains(err.Error(), "Config.Limits.MaxBytes"), "%v", err)
}
