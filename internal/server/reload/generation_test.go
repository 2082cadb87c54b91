package reload

import (
	"strings"
	"testing"

	"gotest.tools/v3/assert"
)

func TestHistory_TextsAreBoundedInBytes(t *testing.T) {
	h := history{maxGenerations: 1000}
	for i := range 12 {
		oldest := h.add(&Generation{Number: uint64(i + 1), Text: strings.Repeat("x", 10<<20)})
		assert.Equal(t, oldest, uint64(max(1, i+1-5)), "six texts of 10 MiB are within 64 MiB")
		assert.Equal(t, h.latest().Number, uint64(i+1))
	}
	h.add(&Generation{Number: 13, Text: strings.Repeat("x", 70<<20)})
	assert.Equal(t, h.add(&Generation{Number: 14, Text: strings.Repeat("x", 70<<20)}), uint64(13),
		"the latest two are always remembered")
}

func TestHistory_ExtraConfigurationsCount(t *testing.T) {
	h := history{maxGenerations: 1000}
	for i := range 12 {
		extra := map[string]string{"key": strings.Repeat("x", 10<<20)}
		assert.Equal(t, h.add(&Generation{Number: uint64(i + 1), Extra: extra}), uint64(max(1, i+1-5)))
	}
}
