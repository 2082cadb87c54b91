package reload

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/canopy-scheduler/canopy/pkg/configs/diff"
	"github.com/canopy-scheduler/canopy/pkg/configs/queuesyaml"
)

// record is the JSON form of a Generation in every Store. Its names are part of the format of each Store.
type record struct {
	Number   uint64            `json:"number"`
	At       time.Time         `json:"at"`
	Source   Source            `json:"source"`
	From     string            `json:"from"`
	Checksum string            `json:"checksum"`
	Text     string            `json:"text"`
	Extra    map[string]string `json:"extra,omitempty"`
	Changes  *diff.Change      `json:"changes,omitempty"`
	Paused   time.Duration     `json:"paused"`
}

// EncodeGeneration is the text of g that a Store keeps.
func EncodeGeneration(g *Generation) ([]byte, error) {
	return json.Marshal(record{
		g.Number, g.At, g.Source, g.From, g.Checksum, g.Text, g.Extra, g.Changes, g.Paused,
	})
}

// DecodeGeneration is the reverse of EncodeGeneration.
func DecodeGeneration(text []byte) (*Generation, error) {
	var r record
	if err := json.Unmarshal(text, &r); err != nil {
		return nil, err
	}
	return &Generation{
		Number: r.Number, At: r.At, Source: r.Source, From: r.From, Checksum: r.Checksum, Text: r.Text,
		Extra: r.Extra, Changes: r.Changes, Paused: r.Paused,
	}, nil
}

// AddChecksum is the value after a SHA-256 sum of key and value, so that damage is detected (CFG-119).
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
