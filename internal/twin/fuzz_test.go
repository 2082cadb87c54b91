package twin

import (
	"encoding/binary"
	"math/rand/v2"
	"testing"
)

// FuzzStory lets the fuzzer be the author: every byte is one choice.
func FuzzStory(f *testing.F) {
	for seed := range uint64(4) {
		r := rand.New(rand.NewPCG(seed, 0))
		var data []byte
		for range 100 {
			data = binary.NativeEndian.AppendUint64(data, r.Uint64())
		}
		f.Add(data)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		s := write(&choices{left: data, then: rand.NewPCG(0, 0)}, min(len(data)/4, beats))
		if failure := s.Play(); failure != nil {
			t.Fatalf("%s\n%v", s, failure)
		}
	})
}

// choices is a rand.Source that spends one byte on a number. When all are spent it
// goes on with another source.
type choices struct {
	left []byte
	then rand.Source
}

// Uint64 implements rand.Source. A byte fills the whole number, so that it decides
// whichever end of it is looked at.
func (c *choices) Uint64() uint64 {
	if len(c.left) == 0 {
		return c.then.Uint64()
	}
	b := c.left[0]
	c.left = c.left[1:]
	return uint64(b) * 0x0101_0101_0101_0101
}
