package webservice

import (
	"bytes"
	"encoding/json"
	"math/rand/v2"
	"testing"

	"gotest.tools/v3/assert"
)

// The text is that of json.Indent, however the compact text is cut into pieces.
func TestIndentedPieces_EqualJSONIndent(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	for _, text := range []string{
		`{}`, `[]`, `{"a":{}}`, `[[],[[]],{}]`, `"a"`, `1`, `null`,
		`{"a":"x\"}{[,:]\\","b":[1,true,null,-1.5e3],"ü\u003c":{"c":""}}`, `[{"a":1},{"b":[{}]}]`, `["\\\\","\\\""]`,
	} {
		var want bytes.Buffer
		assert.NilError(t, json.Indent(&want, []byte(text), "", "  "))
		for range 50 {
			cut := pieces(func(yield func([]byte) bool) {
				for rest := []byte(text); len(rest) > 0; {
					n := 1 + random.IntN(len(rest))
					if !yield(rest[:n]) {
						return
					}
					rest = rest[n:]
				}
			})
			var got bytes.Buffer
			for piece := range indentedPieces(cut) {
				got.Write(piece)
			}
			assert.Equal(t, got.String(), want.String())
		}
	}
}
