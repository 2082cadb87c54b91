package twin

import (
	"encoding/binary"
	"math/rand/v2"
	"testing"

	"github.com/canopy-scheduler/canopy/internal/testing/randomrun"
)

// FuzzRandomRun uses the fuzzer's bytes as the choices of a generator.
func FuzzRandomRun(f *testing.F) {
	for seed := range uint64(4) {
		r := rand.New(rand.NewPCG(seed, 0))
		var data []byte
		for range 100 {
			data = binary.NativeEndian.AppendUint64(data, r.Uint64())
		}
		f.Add(data)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		s := randomrun.GenerateRun(&byteSource{remaining: data, fallback: rand.NewPCG(0, 0)}, min(len(data)/4, stepsPerRun))
		if failure := Execute(s); failure != nil {
			t.Fatalf("%s\n%v", s, failure)
		}
	})
}

// byteSource is a rand.Source that uses one byte per number, and another source when all bytes are
// used.
type byteSource struct {
	remaining []byte
	fallback  rand.Source
}

// Uint64 implements rand.Source. A byte fills the whole number: callers use either end of it.
func (c *byteSource) Uint64() uint64 {
	if len(c.remaining) == 0 {
		return c.fallback.Uint64()
	}
	b := c.remaining[0]
	c.remaining = c.remaining[1:]
	return uint64(b) * 0x0101_0101_0101_0101
}
