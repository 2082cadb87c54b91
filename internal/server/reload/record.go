package reload

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/canopy-scheduler/canopy/pkg/configs/queuesyaml"
)

// EncodeGeneration returns the text of g that a Store keeps.
func EncodeGeneration(g *Generation) ([]byte, error) { return json.Marshal(g) }

// DecodeGeneration is the reverse of EncodeGeneration.
func DecodeGeneration(text []byte) (*Generation, error) {
	g := new(Generation)
	if err := json.Unmarshal(text, g); err != nil {
		return nil, err
	}
	return g, nil
}

// AddChecksum returns a value with a SHA-256 sum of key and value in front, so that damage is detected (CFG-119).
func AddChecksum(key, value []byte) []byte {
	sum := sha256.Sum256(append(slices.Clone(key), value...))
	return append(sum[:], value...)
}

// VerifyChecksum returns the value in an output of AddChecksum, or an error if the sum does not match.
func VerifyChecksum(key, sealed []byte) (value []byte, err error) {
	if len(sealed) < sha256.Size || !bytes.Equal(AddChecksum(key, sealed[sha256.Size:]), sealed) {
		return nil, errors.New("the checksum does not match")
	}
	return sealed[sha256.Size:], nil
}

// Latest is the configuration that was in force last; nil: there is none. A configuration that this version of the
// program finds invalid is an error that names the history by the name that is passed (CFG-118).
func (s StoredState) Latest(name string, bounds queuesyaml.Options) (*Proposal, error) {
	n := len(s.Generations)
	if n == 0 {
		return nil, nil
	}
	g := s.Generations[n-1]
	p, err := Read(g.Source, g.From, []byte(g.Text), bounds)
	if err != nil {
		return nil, fmt.Errorf("generation %d of the history %s: %w", g.Number, name, err)
	}
	return p, nil
}
