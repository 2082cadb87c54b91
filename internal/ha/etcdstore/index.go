package etcdstore

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"go.etcd.io/etcd/api/v3/mvccpb"

	"github.com/canopy-scheduler/canopy/internal/server/reload"
)

// index is the value of indexKey, which each write changes. It lists the generations, so that a missing one is found:
// numbers alone do not show it, because one that could not be stored is missing rightly. Its names are part of the
// format.
type index struct {
	Epoch int64 `json:"epoch"` // of the leader that has written it
	// a random text for each Store, so that two of one epoch never write the same index
	Store       string   `json:"store"`
	Write       uint64   `json:"write"` // the number of the write of that Store, from 1
	Generations []uint64 `json:"generations"`
}

// add adds a generation and removes those before oldest.
func (i *index) add(number, oldest uint64) {
	i.Generations = slices.DeleteFunc(i.Generations, func(n uint64) bool { return n < oldest || n == number })
	i.Generations = append(i.Generations, number)
	slices.Sort(i.Generations)
}

func (i *index) encode() ([]byte, error) {
	text, err := json.Marshal(i)
	return encode(indexKey, text), err
}

// decodeIndex is the reverse of encode. An error names the key.
func decodeIndex(value []byte) (i index, err error) {
	text, err := decode(indexKey, value)
	if err == nil {
		err = json.Unmarshal(text, &i)
	}
	if err != nil {
		return index{}, fmt.Errorf("the key %s: %w", indexKey, err)
	}
	return i, nil
}

// load makes the state of all values below configPrefix, which are ordered by key. An error names the key.
func load(opt Options, kvs []*mvccpb.KeyValue) (reload.StoredState, error) {
	state := reload.StoredState{LastChecksums: map[string]string{}}
	var listed index
	hasIndex := false
	for _, kv := range kvs {
		key := strings.TrimPrefix(string(kv.Key), opt.key(""))
		text, err := decode(key, kv.Value)
		switch source, isChecksum := strings.CutPrefix(key, checksumsPrefix); {
		case err != nil:
		case key == indexKey:
			listed, err = decodeIndex(kv.Value)
			hasIndex = true
		case strings.HasPrefix(key, generationsPrefix):
			var g *reload.Generation
			if g, err = decodeGeneration(key, text); err == nil {
				state.Generations = append(state.Generations, g)
			}
		case isChecksum:
			state.LastChecksums[source] = string(text)
		default:
			err = errors.New("it is unknown to this version")
		}
		if err != nil {
			return reload.StoredState{}, fmt.Errorf("the key %s: %w", kv.Key, err)
		}
	}
	if !hasIndex && len(kvs) > 0 {
		return reload.StoredState{}, fmt.Errorf("the key %s is missing", opt.key(indexKey))
	}
	return state, compare(opt, listed.Generations, state.Generations)
}

// decodeGeneration reads a generation, whose number must be that of its key.
func decodeGeneration(key string, text []byte) (*reload.Generation, error) {
	g, err := reload.DecodeGeneration(text)
	if err == nil && generationKey(g.Number) != key {
		err = fmt.Errorf("it has generation %d", g.Number)
	}
	return g, err
}

// compare returns an error unless there are exactly the generations that the index lists. Both are in ascending order.
func compare(opt Options, listed []uint64, found []*reload.Generation) error {
	for _, g := range found {
		if !slices.Contains(listed, g.Number) {
			return fmt.Errorf("the key %s is not listed in %s", opt.key(generationKey(g.Number)), indexKey)
		}
	}
	for _, n := range listed {
		if !slices.ContainsFunc(found, func(g *reload.Generation) bool { return g.Number == n }) {
			return fmt.Errorf("the key %s is missing", opt.key(generationKey(n)))
		}
	}
	return nil
}
