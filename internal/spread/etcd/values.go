package etcd

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/url"
	"slices"
	"strings"

	"go.etcd.io/etcd/api/v3/mvccpb"

	"github.com/canopy-scheduler/canopy/internal/etcdstore"
	"github.com/canopy-scheduler/canopy/internal/spread"
)

// memberValue is the value of a member's key. Its names are part of the format.
type memberValue struct {
	Name    string             `json:"name"`
	GRPC    string             `json:"grpc"`
	HTTP    string             `json:"http"`
	Leads   map[string]float64 `json:"leads"`
	Refuses []string           `json:"refuses,omitempty"`

	Checked    int64             `json:"checked,omitempty"`
	Objections map[string]string `json:"objections,omitempty"`
}

// assignmentValue is the value of the key of the assignment. Its names are part of the format.
type assignmentValue struct {
	Round   uint64            `json:"round"`
	Members map[string]string `json:"members"`
}

// The keys below the prefix.
func (s *Store) membersPrefix() string { return s.opt.Prefix + "/members/" }
func (s *Store) assignmentKey() string { return s.opt.Prefix + "/assignment" }
func (s *Store) proposalKey() string   { return s.opt.Prefix + "/" + proposal }
func (s *Store) leaderKey() string     { return s.opt.Prefix + "/leader" }
func (s *Store) indexKey() string      { return etcdstore.IndexKey(s.opt.Prefix) }

// memberKey is the key of a member. A name may have slashes.
func (s *Store) memberKey(name string) string { return s.membersPrefix() + url.PathEscape(name) }

// encodeMember is the value of a member's key. JSON has no numbers such as infinity, which count as 0 anyway.
func encodeMember(m spread.Member) (string, error) {
	v := memberValue{m.Name, m.GRPC, m.HTTP, map[string]float64{}, m.Refuses, m.Checked, m.Objections}
	for partition, load := range m.Leads {
		v.Leads[partition] = spread.Load(load)
	}
	text, err := json.Marshal(v)
	return string(text), err
}

// decodeMember is the reverse of encodeMember. The key must be that of the name.
func (s *Store) decodeMember(kv *mvccpb.KeyValue) (spread.Member, error) {
	var v memberValue
	if err := decode(kv.Value, &v); err != nil {
		return spread.Member{}, err
	}
	if s.memberKey(v.Name) != string(kv.Key) {
		return spread.Member{}, fmt.Errorf("it is of the member %q", v.Name)
	}
	return spread.Member{
		Name: v.Name, GRPC: v.GRPC, HTTP: v.HTTP, Leads: v.Leads, Refuses: v.Refuses, Checked: v.Checked, Objections: v.Objections,
	}, nil
}

func encodeAssignment(a spread.Assignment) (string, error) {
	text, err := json.Marshal(assignmentValue{a.Round, a.Members})
	return string(text), err
}

// decodeAssignment is the reverse of encodeAssignment. Without a key there is an assignment of round 0.
func decodeAssignment(kvs []*mvccpb.KeyValue) (spread.Assignment, error) {
	if len(kvs) == 0 {
		return spread.Assignment{}, nil
	}
	var v assignmentValue
	err := decode(kvs[0].Value, &v)
	if err == nil && v.Round == 0 {
		err = errors.New("it has no round")
	}
	if err != nil {
		return spread.Assignment{}, fmt.Errorf("the key %s: %w", kvs[0].Key, err)
	}
	return spread.Assignment{Members: v.Members, Round: v.Round}, nil
}

// decode reads one JSON value. Names that are unknown are of a later version, and ignored.
func decode(text []byte, v any) error {
	d := json.NewDecoder(bytes.NewReader(text))
	if err := d.Decode(v); err != nil {
		return fmt.Errorf("it is damaged: %w", err)
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return errors.New("it is damaged: something follows the JSON value")
	}
	return nil
}

// state makes the State of what is stored at one revision. A damaged assignment or index is an error that names the key: to go on without it
// could move every partition. A member that cannot be read is left out and named in Damaged: its key is of one process, ends with its lease,
// and must not stop all the others. It counts as gone, so that others lead its partitions once it no longer does.
func (s *Store) state(revision int64, members, assignment, index, proposal []*mvccpb.KeyValue) (spread.State, error) {
	out := spread.State{Revision: revision}
	if len(proposal) > 0 {
		out.Proposal = proposal[0].ModRevision
	}
	var err error
	if out.Assignment, err = decodeAssignment(assignment); err != nil {
		return spread.State{}, err
	}
	if len(index) > 0 {
		if out.Generation, err = etcdstore.LatestGeneration(index[0].Value); err != nil {
			return spread.State{}, fmt.Errorf("the key %s: %w", index[0].Key, err)
		}
	}
	for _, kv := range members { // in the order of the keys
		m, err := s.decodeMember(kv)
		if err != nil {
			out.Damaged = append(out.Damaged, string(kv.Key))
			continue
		}
		out.Members = append(out.Members, m)
	}
	slices.SortFunc(out.Members, func(a, b spread.Member) int { return strings.Compare(a.Name, b.Name) })
	return out, nil
}
