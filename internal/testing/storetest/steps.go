package storetest

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"github.com/canopy-scheduler/canopy/internal/server/reload"
)

// Step is one thing that a reload.Store is asked to do: to add a generation, or to save a checksum.
type Step struct {
	Generation *reload.Generation // nil: a checksum
	Oldest     uint64
	Source     string
	Checksum   string
}

// Steps makes random steps that follow from random. Numbers of generations rise; some are missing, as after an error,
// and some come twice, as after a start that did not find them.
func Steps(random *rand.Rand, n int) []Step {
	steps := make([]Step, 0, n)
	last, oldest := uint64(0), uint64(1)
	for range n {
		if random.IntN(3) == 0 {
			source := fmt.Sprintf("rm rm/%d ü", random.IntN(3))
			steps = append(steps, Step{Source: source, Checksum: fmt.Sprintf("%064X", random.Uint64())})
			continue
		}
		last += []uint64{1, 1, 1, 1, 2, 0}[random.IntN(6)]
		last = max(last, 1)
		if random.IntN(3) == 0 {
			oldest += random.Uint64N(last - min(oldest, last) + 1)
		}
		steps = append(steps, Step{Generation: generation(random, last), Oldest: min(oldest, last)})
	}
	return steps
}

func generation(random *rand.Rand, number uint64) *reload.Generation {
	g := &reload.Generation{
		Number: number, At: time.Unix(random.Int64N(1<<32), random.Int64N(1e9)).UTC(), Source: reload.REST, From: "127.0.0.1",
		Checksum: fmt.Sprintf("%064X", random.Uint64()),
		Text:     strings.Repeat(fmt.Sprintf("# %x\n", random.Uint64()), random.IntN(200)),
		Paused:   time.Duration(random.Int64N(1e9)),
	}
	if random.IntN(2) == 0 {
		g.Source, g.From, g.Extra = reload.RM, "rm-1", map[string]string{"log.level": fmt.Sprint(random.IntN(5))}
	}
	return g
}

// Do asks a store.
func (s *Step) Do(store reload.Store) error {
	if s.Generation != nil {
		return store.Add(s.Generation, s.Oldest)
	}
	return store.SaveChecksum(s.Source, s.Checksum)
}

// Model is a reload.Store in memory, as simple as possible.
type Model struct {
	generations map[uint64]*reload.Generation
	checksums   map[string]string
}

// Add implements reload.Store.
func (m *Model) Add(g *reload.Generation, oldest uint64) error {
	if m.generations == nil {
		m.generations = map[uint64]*reload.Generation{}
	}
	m.generations[g.Number] = g
	maps.DeleteFunc(m.generations, func(n uint64, _ *reload.Generation) bool { return n < oldest })
	return nil
}

// SaveChecksum implements reload.Store.
func (m *Model) SaveChecksum(source, checksum string) error {
	if m.checksums == nil {
		m.checksums = map[string]string{}
	}
	m.checksums[source] = checksum
	return nil
}

// StoredState returns what a Store that is opened after the same calls has.
func (m *Model) StoredState() reload.StoredState {
	state := reload.StoredState{LastChecksums: map[string]string{}}
	for _, n := range slices.Sorted(maps.Keys(m.generations)) {
		state.Generations = append(state.Generations, m.generations[n])
	}
	maps.Copy(state.LastChecksums, m.checksums)
	return state
}
