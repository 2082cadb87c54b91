package objects

import (
	"fmt"
	"slices"
	"strings"

	"github.com/canopy-scheduler/canopy/pkg/resources"
)

// Orphan is the report of an orphaned allocation.
type Orphan struct {
	Ask   *Ask
	Class string // its priority class; empty: none
}

// foreignTable has the foreign and orphaned allocations of a partition.
type foreignTable struct {
	byKey   map[AllocationKey]*Foreign
	orphans map[AppID]map[AllocationKey]*Foreign // the orphaned ones by application
}

func newForeignTable() foreignTable {
	return foreignTable{map[AllocationKey]*Foreign{}, map[AppID]map[AllocationKey]*Foreign{}}
}

func (t *foreignTable) add(f *Foreign) {
	t.byKey[f.Key] = f
	if f.Orphan == nil {
		return
	}
	app := f.Orphan.Ask.App
	if t.orphans[app] == nil {
		t.orphans[app] = map[AllocationKey]*Foreign{}
	}
	t.orphans[app][f.Key] = f
}

func (t *foreignTable) remove(f *Foreign) {
	delete(t.byKey, f.Key)
	if f.Orphan == nil {
		return
	}
	app := f.Orphan.Ask.App
	delete(t.orphans[app], f.Key)
	if len(t.orphans[app]) == 0 {
		delete(t.orphans, app)
	}
}

// isOrphan reports whether ask, which is reported, is an orphaned allocation of its application.
func (t *foreignTable) isOrphan(ask *Ask) bool {
	_, ok := t.orphans[ask.App][ask.Key]
	return ok
}

// keyError is the error of an ask or a report with the key of a foreign or orphaned allocation.
func (t *foreignTable) keyError(key AllocationKey) error {
	if o := t.byKey[key].Orphan; o != nil {
		return fmt.Errorf("key %s %w as an orphaned allocation of application %s", key, ErrExists, o.Ask.App)
	}
	return fmt.Errorf("key %s %w as a foreign allocation", key, ErrExists)
}

// AddOrphan records an allocation that the RM reports as running and that cannot be given to its application. Like a
// foreign one it takes resources of its node and counts nowhere else; a new report replaces it (ASK-67).
func AddOrphan(p *Partition, priorityClass string, ask *Ask, on NodeID) error {
	if _, ok := p.foreign.byKey[ask.Key]; ok && !p.foreign.isOrphan(ask) {
		return p.foreign.keyError(ask.Key)
	}
	if err := checkQuantities(p.names, ask.Amounts, resources.Cluster); err != nil {
		return err
	}
	return p.AddForeign(Foreign{Key: ask.Key, Node: on, Amounts: ask.Amounts, Tags: ask.Tags(),
		Orphan: &Orphan{ask, priorityClass}})
}

// Orphans are the orphaned allocations of an application in key order: the one of key, or with an empty key all of
// them.
func Orphans(p *Partition, app AppID, key AllocationKey) (all []*Foreign) {
	for _, f := range p.foreign.orphans[app] {
		if key == "" || f.Key == key {
			all = append(all, f)
		}
	}
	slices.SortFunc(all, func(f, g *Foreign) int { return strings.Compare(string(f.Key), string(g.Key)) })
	return all
}

// OrphanCount is the number of orphaned allocations.
func OrphanCount(p *Partition) (n int) {
	for _, ofApp := range p.foreign.orphans {
		n += len(ofApp)
	}
	return n
}

// checkOrphans verifies that the index by application has exactly the orphaned allocations.
func checkOrphans(p *Partition) error {
	orphaned := 0
	for key, f := range p.foreign.byKey {
		if f.Orphan == nil {
			continue
		}
		orphaned++
		if p.foreign.orphans[f.Orphan.Ask.App][key] != f {
			return fmt.Errorf("orphaned allocation %s of application %s is not indexed", key, f.Orphan.Ask.App)
		}
	}
	if n := OrphanCount(p); n != orphaned {
		return fmt.Errorf("%d orphaned allocations are indexed, there are %d", n, orphaned)
	}
	return nil
}
