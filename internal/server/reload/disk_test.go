package reload_test

import (
	"errors"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	bolt "go.etcd.io/bbolt"
	"gotest.tools/v3/assert"

	"github.com/canopy-scheduler/canopy/internal/server/reload"
	"github.com/canopy-scheduler/canopy/pkg/configs/queuesyaml"
)

func openDisk(t *testing.T, dir string) *reload.Disk {
	t.Helper()
	d, err := reload.OpenDisk(dir)
	assert.NilError(t, err)
	return d
}

// runOnDisk simulates one run of the program with a data directory. Without a first text the latest
// generation is in force.
func runOnDisk(t *testing.T, dir, first string, keep int, during func(w *fixture)) {
	t.Helper()
	d := openDisk(t, dir)
	defer func() { assert.NilError(t, d.Close()) }()
	w := &fixture{t: t, cluster: &fakeCluster{}}
	opt := reload.Options{Store: d, StoredState: d.StoredState(), MaxGenerations: keep,
		Now: func() time.Time { return noon }}
	p, err := d.Latest(queuesyaml.Options{})
	assert.NilError(t, err)
	if first != "" {
		p = w.proposal(reload.File, "q.yaml", first)
	} else if p == nil {
		p = reload.Default()
	}
	w.Reloader = reload.New(w.cluster, p, opt)
	during(w)
}

func TestDisk_GenerationsSurviveRestart(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "made", "on the way")
	var before []*reload.Generation
	runOnDisk(t, dir, "", 3, func(w *fixture) {
		w.applyFromRM(text("a"), map[string]string{"log.level": "info"})
		w.applyText(reload.REST, "::1", text("a", "b"))
		w.applyText(reload.REST, "::1", text("c"))
		_, err := w.Rollback(t.Context(), 2, 0)
		assert.NilError(t, err)
		before = w.Generations()
		assert.Equal(t, len(before), 3)
	})
	runOnDisk(t, dir, "", 3, func(w *fixture) {
		assert.DeepEqual(t, w.Generations(), before)
		assert.Equal(t, w.cluster.reloads[0].Checksum, w.Current().Checksum)
		assert.Equal(t, w.Current().Extra["log.level"], "info")

		// A text that the RM sent in the former run is a repetition in this one.
		w.applyText(reload.REST, "::1", text("d"))
		assert.Equal(t, w.applyFromRM(text("a"), map[string]string{"log.level": "info"}).Generation.Text, text("d"))
	})
	runOnDisk(t, dir, text("d"), 3, func(w *fixture) {
		assert.Equal(t, w.Current().Number, uint64(6), "a file with the text in force makes no generation")
	})
	runOnDisk(t, dir, text("file"), 3, func(w *fixture) {
		assert.Equal(t, w.Current().Number, uint64(7))
		assert.Equal(t, w.Current().Source, reload.File)
		assert.Equal(t, w.Current().Extra["log.level"], "info")
		assert.Equal(t, w.Current().Changes.Summary(), "1 queue created, 1 queue removed")
		assert.Equal(t, w.Generations()[0].Number, uint64(5))
	})
	runOnDisk(t, dir, "", 1, func(w *fixture) {
		assert.Equal(t, w.applyText(reload.REST, "", text("x")).Generation.Number, uint64(8))
		assert.Equal(t, len(w.Generations()), 1)
	})
	runOnDisk(t, dir, "", 50, func(w *fixture) { assert.Equal(t, len(w.Generations()), 1) })
}

func TestOpenDisk_RefusesSecondProcess(t *testing.T) {
	dir := t.TempDir()
	d := openDisk(t, dir)
	_, err := reload.OpenDisk(dir)
	assert.ErrorContains(t, err, filepath.Join(dir, "config.db")+" cannot be used: another process has it open")
	assert.NilError(t, d.Close())
}

func TestOpenDisk_LeavesForeignFileUnchanged(t *testing.T) {
	file := filepath.Join(t.TempDir(), "config.db")
	assert.NilError(t, os.WriteFile(file, []byte("my diary"), 0o600))
	_, err := reload.OpenDisk(filepath.Dir(file))
	assert.ErrorContains(t, err, file+" cannot be used")
	kept, err := os.ReadFile(file)
	assert.NilError(t, err)
	assert.Equal(t, string(kept), "my diary")

	for name, want := range map[string]string{
		"recipes": `it is a database of another program, with the bucket "recipes"`,
		"meta":    `it is not of the format "canopy configuration history 1"`,
	} {
		file := filepath.Join(t.TempDir(), "config.db")
		db, err := bolt.Open(file, 0o600, nil)
		assert.NilError(t, err)
		assert.NilError(t, db.Update(func(tx *bolt.Tx) error {
			_, err := tx.CreateBucket([]byte(name))
			return err
		}))
		assert.NilError(t, db.Close())
		_, err = reload.OpenDisk(filepath.Dir(file))
		assert.ErrorContains(t, err, want)
	}
	assert.NilError(t, os.WriteFile(file, nil, 0o600))
	_, err = reload.OpenDisk(filepath.Dir(file))
	assert.ErrorContains(t, err, file+" cannot be used: it is damaged: it is empty; remove it to begin anew")
	_, err = reload.OpenDisk(file) // a file, not a directory
	assert.Assert(t, err != nil)
}

// A damaged file neither crashes the program nor yields a generation that was not stored (CFG-119).
func TestOpenDisk_DamagedFileIsAnError(t *testing.T) {
	dir := t.TempDir()
	runOnDisk(t, dir, text("a"), 9, func(w *fixture) {
		for _, leaf := range []string{"b", "c", "d", "e"} {
			w.applyText(reload.REST, "", text(leaf))
		}
	})
	sound, err := os.ReadFile(filepath.Join(dir, "config.db"))
	assert.NilError(t, err)
	original := openDisk(t, dir)
	want := original.StoredState().Generations
	assert.NilError(t, original.Close())

	refused := 0
	for seed := range uint64(120) {
		random := rand.New(rand.NewPCG(seed, 0))
		bytes := append([]byte(nil), sound...)
		if random.IntN(3) == 0 {
			bytes = bytes[:random.IntN(len(bytes))]
		}
		for range random.IntN(40) {
			if len(bytes) > 0 {
				bytes[random.IntN(len(bytes))] = byte(random.Uint32())
			}
		}
		dir := t.TempDir()
		assert.NilError(t, os.WriteFile(filepath.Join(dir, "config.db"), bytes, 0o600))
		d, err := reload.OpenDisk(dir)
		if err != nil {
			assert.ErrorContains(t, err, dir)
			left, err := os.ReadFile(filepath.Join(dir, "config.db"))
			assert.NilError(t, err)
			assert.Assert(t, slices.Equal(left, bytes), "seed %d: a file that was refused has changed", seed)
			refused++
			continue
		}
		if len(bytes) > 0 { // an empty file is a new one
			// The damage may be in an unused page; the generations must be as they were stored.
			for _, g := range d.StoredState().Generations {
				assert.DeepEqual(t, g, want[g.Number-1])
			}
		}
		assert.NilError(t, d.Close())
	}
	assert.Assert(t, refused > 40, "only %d of 120 damaged files were refused", refused)
}

func TestDisk_LatestInvalidIsAnError(t *testing.T) {
	dir := t.TempDir()
	runOnDisk(t, dir, text("a", "b"), 9, func(*fixture) {})
	d := openDisk(t, dir)
	defer func() { assert.NilError(t, d.Close()) }()
	_, err := d.Latest(queuesyaml.Options{MaxQueues: 1})
	bad := new(reload.InvalidError)
	assert.Assert(t, errors.As(err, &bad))
	assert.ErrorContains(t, err, "generation 1 of the history "+filepath.Join(dir, "config.db"))
}

// Writes to an open file succeed also if the file was removed. Such a write is a store error,
// because the next start would not find it (CFG-120).
func TestDisk_RemovedFileIsAStoreError(t *testing.T) {
	for name, remove := range map[string]func(dir string) error{
		"the directory is removed": os.RemoveAll,
		"the file is removed":      func(dir string) error { return os.Remove(filepath.Join(dir, "config.db")) },
		"the directory is moved":   func(dir string) error { return os.Rename(dir, dir+"2") },
		"the file is replaced": func(dir string) error {
			return errors.Join(os.WriteFile(filepath.Join(dir, "new"), nil, 0o600),
				os.Rename(filepath.Join(dir, "new"), filepath.Join(dir, "config.db")))
		},
	} {
		t.Run(name, func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), "data")
			runOnDisk(t, dir, "", 3, func(w *fixture) {
				result, err := w.Apply(t.Context(), w.proposal(reload.REST, "::1", text("a")))
				assert.NilError(t, err)
				assert.NilError(t, result.StoreError)
				assert.NilError(t, remove(dir))
				for _, queue := range []string{"b", "c"} {
					result, err = w.Apply(t.Context(), w.proposal(reload.REST, "::1", text(queue)))
					assert.NilError(t, err, "the configuration is in force all the same")
					assert.Assert(t, result.Changed)
					assert.ErrorContains(t, result.StoreError, filepath.Join(dir, "config.db")+" was re")
				}
			})
		})
	}
}
