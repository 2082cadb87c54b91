package spread

import (
	"maps"
	"math"
	"slices"
)

// Member is a living member of the group.
type Member struct {
	Name string
	GRPC string // HOST:PORT, empty: none
	HTTP string // URL without path, empty: none
	// Leads are the partitions that it leads now, with their load: commands and effects a second.
	Leads map[string]float64
	// Refuses are partitions whose leader it could not become lately, although they were assigned to it.
	Refuses []string
	// Checked is the number of the latest proposal that the partitions which it leads were checked against; 0: none.
	Checked int64
	// Objections say of each partition that cannot become what that proposal says why not.
	Objections map[string]string
}

// Clone returns a copy that shares nothing.
func (m Member) Clone() Member {
	m.Leads, m.Refuses, m.Objections = maps.Clone(m.Leads), slices.Clone(m.Refuses), maps.Clone(m.Objections)
	return m
}

// Assignment says which member is to lead each partition.
type Assignment struct {
	Members map[string]string // partition -> name of member
	Round   uint64            // number of the assignment, rises by one with each change
}

// Clone returns a copy that shares nothing.
func (a Assignment) Clone() Assignment {
	a.Members = maps.Clone(a.Members)
	return a
}

// Of are the partitions that are assigned to a member, sorted.
func (a Assignment) Of(member string) (partitions []string) {
	for partition, name := range a.Members {
		if name == member {
			partitions = append(partitions, partition)
		}
	}
	slices.Sort(partitions)
	return partitions
}

// State is what the members share, at one revision of the store.
type State struct {
	Revision   int64
	Members    []Member // sorted by name
	Assignment Assignment
	Generation uint64   // latest generation of configuration stored, 0: none
	Proposal   int64    // number of the configuration that the coordinator asks the members to check, 0: none
	Damaged    []string // the keys of members that cannot be read and are left out of Members, sorted
}

// Verdict is what the members say of a proposal so far: which of them have not checked it, sorted, and the objections of the others by
// partition. With neither it can be put in force.
func (s State) Verdict(proposal int64) (missing []string, objections map[string]string) {
	objections = map[string]string{}
	for _, m := range s.Members {
		if m.Checked != proposal {
			missing = append(missing, m.Name)
			continue
		}
		maps.Copy(objections, m.Objections)
	}
	slices.Sort(missing)
	return missing, objections
}

// Load is the load that counts for a value: 0 for one that is negative, infinite or no number.
func Load(value float64) float64 {
	if value > 0 && !math.IsInf(value, 1) {
		return value
	}
	return 0
}
