package usage

import (
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"go.uber.org/zap"
	"go.uber.org/zap/zaptest/observer"
	"gotest.tools/v3/assert"
	"pgregory.net/rapid"

	"github.com/canopy-scheduler/canopy/pkg/lifecycle"
	"github.com/canopy-scheduler/canopy/pkg/persistent"
	"github.com/canopy-scheduler/canopy/pkg/resources"
	"github.com/canopy-scheduler/canopy/pkg/scheduler"
	"github.com/canopy-scheduler/canopy/pkg/security"
)

var noon = time.Date(2026, 1, 2, 12, 0, 0, 0, time.UTC)

func mustOpen(t testing.TB, dir string, opt Options, now time.Time) *Store {
	t.Helper()
	s, err := Open(dir, opt, now)
	assert.NilError(t, err)
	t.Cleanup(func() { _ = s.Close() })
	return s
}

// vcores returns a sample of root.a with an amount of vcore.
func vcores(at time.Time, n float64) *Sample {
	v := &Values{Running: n}
	if n > 0 {
		v.Allocated = Amounts{"vcore": n}
	}
	return &Sample{Partition: "default", At: at, Values: map[Key]*Values{{Queue, "root.a"}: v}}
}

// readAll returns the usage of all queues between two times.
func readAll(t testing.TB, s *Store, since, until time.Time) *Window {
	t.Helper()
	w, err := s.Read(context.Background(), Query{Partition: "default", Kind: Queue, Since: since, Until: until})
	assert.NilError(t, err)
	return w
}

// vcoreSeconds returns the sum of root.a.
func vcoreSeconds(t testing.TB, s *Store, since, until time.Time) float64 {
	t.Helper()
	w := readAll(t, s, since, until)
	if len(w.Series) == 0 {
		return 0
	}
	return w.Series[0].Total.Allocated["vcore"]
}

func rowCount(t testing.TB, s *Store) (n int) {
	t.Helper()
	assert.NilError(t, s.write.QueryRow("SELECT count(*) FROM step").Scan(&n))
	return n
}

// The sum over a window is the sum of value times duration of what was sampled, whatever the window, and the points add
// up to it; after a roll-up, and after the store was closed and opened again, it is the same.
func TestStore_SumIsValueTimesDuration(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		dir, err := os.MkdirTemp(t.TempDir(), "")
		assert.NilError(rt, err)
		s, err := Open(dir, Options{}, noon)
		assert.NilError(rt, err)
		defer func() { _ = s.Close() }()
		n := rapid.IntRange(2, 40).Draw(rt, "samples")
		at := make([]time.Time, n)
		value := make([]float64, n)
		now := noon
		for i := range n {
			at[i], value[i] = now, float64(rapid.IntRange(0, 3).Draw(rt, "value"))
			assert.NilError(rt, s.Add(vcores(now, value[i])))
			now = now.Add(time.Duration(rapid.IntRange(1, 3*3600).Draw(rt, "seconds")) * time.Second)
		}
		end := at[n-1]
		sum := func(since, until time.Time) (want float64) {
			for i := range n - 1 {
				from, to := at[i], at[i+1]
				if from.Before(since) {
					from = since
				}
				if to.After(until) {
					to = until
				}
				if to.After(from) {
					want += value[i] * to.Sub(from).Seconds()
				}
			}
			return want
		}
		check := func(what string, since, until time.Time) {
			q := Query{Partition: "default", Kind: Queue, Since: since, Until: until,
				Step: time.Duration(rapid.IntRange(60, 9999).Draw(rt, "step")) * time.Second}
			w, err := s.Read(context.Background(), q)
			assert.NilError(rt, err)
			got, points := 0.0, 0.0
			for _, x := range w.Series {
				got += x.Total.Allocated["vcore"]
				for _, p := range x.Points {
					points += p.Allocated["vcore"]
				}
			}
			if want := sum(since, until); !near(got, want) || !near(points, want) {
				rt.Fatalf("%s: %v to %v: %v, and %v in points, not %v", what, since, until, got, points, want)
			}
		}
		draw := func(what string) time.Time {
			return noon.Add(time.Duration(rapid.IntRange(-3600, int(end.Sub(noon).Seconds())+3600).Draw(rt, what)) * time.Second)
		}
		since, until := draw("since"), draw("until")
		if until.Before(since) {
			since, until = until, since
		}
		check("as sampled", since, until.Add(time.Second))
		later := end.Add(25 * time.Hour)
		assert.NilError(rt, s.RollUp(later))
		check("rolled up by quarters", since.Truncate(15*time.Minute), until.Truncate(15*time.Minute).Add(15*time.Minute))
		assert.NilError(rt, s.RollUp(end.Add(32*24*time.Hour)))
		check("rolled up by days", since.Truncate(24*time.Hour), until.Truncate(24*time.Hour).Add(24*time.Hour))
		assert.NilError(rt, s.Close())
		s, err = Open(dir, Options{}, later)
		assert.NilError(rt, err)
		check("opened again", noon.Truncate(24*time.Hour), end.Add(24*time.Hour).Truncate(24*time.Hour))
	})
}

func near(a, b float64) bool { return math.Abs(a-b) <= 1e-6+1e-9*math.Abs(b) }

func TestStore_RowsAreWrittenForChangesOnly(t *testing.T) {
	s := mustOpen(t, "", Options{}, noon)
	x := &Sample{Partition: "default", At: noon, Values: map[Key]*Values{}}
	for i := range 2000 {
		x.Values[Key{Queue, fmt.Sprintf("root.q%d", i)}] = &Values{Allocated: Amounts{"vcore": float64(i + 1)}}
	}
	assert.NilError(t, s.Add(x))
	assert.Equal(t, rowCount(t, s), 2000)
	x.At = noon.Add(time.Minute)
	x.Values[Key{Queue, "root.q7"}] = &Values{Allocated: Amounts{"vcore": 99}}
	x.Values[Key{Queue, "root.nothing"}] = &Values{}
	delete(x.Values, Key{Queue, "root.q8"}) // removed: it has nothing from now on
	assert.NilError(t, s.Add(x))
	assert.Equal(t, rowCount(t, s), 2002)
	w := readAll(t, s, noon, noon.Add(time.Minute))
	assert.Equal(t, len(w.Series), 2000)
	assert.NilError(t, s.Add(x), "a sample of the same time is not written twice")
	assert.Equal(t, rowCount(t, s), 2002)
}

// What happens while the server is down is not known, and is not counted as if the last sample had held.
func TestStore_TimeWithoutSamplesIsNotCounted(t *testing.T) {
	dir := t.TempDir()
	s, err := Open(dir, Options{}, noon)
	assert.NilError(t, err)
	assert.NilError(t, s.Add(vcores(noon, 2)))
	assert.NilError(t, s.Add(vcores(noon.Add(time.Minute), 2)))
	assert.NilError(t, s.Extend(noon.Add(90*time.Second)))
	assert.NilError(t, s.Close())

	again := noon.Add(time.Hour)
	s = mustOpen(t, dir, Options{}, again)
	assert.NilError(t, s.Add(vcores(again, 2)))
	assert.Equal(t, rowCount(t, s), 1, "nothing has changed")
	assert.NilError(t, s.Add(vcores(again.Add(time.Minute), 2)))
	w := readAll(t, s, noon, again.Add(time.Hour))
	assert.Equal(t, w.Covered, 150.0)
	assert.Equal(t, w.Series[0].Total.Allocated["vcore"], 300.0)

	s.Interrupt("default")
	assert.NilError(t, s.Add(vcores(again.Add(10*time.Minute), 2)))
	assert.NilError(t, s.Add(vcores(again.Add(11*time.Minute), 2)))
	assert.Equal(t, readAll(t, s, noon, again.Add(time.Hour)).Covered, 210.0)
	assert.NilError(t, s.Add(vcores(noon, 9)), "a clock that goes back adds nothing")
	assert.Equal(t, readAll(t, s, noon, again.Add(time.Hour)).Covered, 210.0)
}

func TestStore_RetentionByAge(t *testing.T) {
	s := mustOpen(t, "", Options{MaxAge: time.Hour}, noon)
	assert.NilError(t, s.Add(vcores(noon, 2)))
	assert.NilError(t, s.Add(vcores(noon.Add(time.Minute), 0)))
	gone := vcores(noon.Add(2*time.Minute), 0)
	gone.Values[Key{Queue, "root.b"}] = &Values{Allocated: Amounts{"vcore": 4}}
	assert.NilError(t, s.Add(gone))
	now := noon.Add(3 * time.Hour)
	gone.At = now
	assert.NilError(t, s.Add(gone))
	assert.NilError(t, s.Trim(now))
	assert.Equal(t, rowCount(t, s), 1, "the last row of root.b still holds; root.a had nothing for longer than an hour")
	w := readAll(t, s, noon, now)
	assert.Equal(t, w.Covered, 3600.0)
	assert.Equal(t, len(w.Series), 1)
	assert.Equal(t, w.Series[0].Total.Allocated["vcore"], 4*3600.0)
	assert.NilError(t, s.Add(vcores(now.Add(time.Minute), 1)), "a series that was deleted begins anew")
	assert.Equal(t, readAll(t, s, noon, now.Add(time.Hour)).Covered, 3660.0)
}

func TestStore_RetentionBySize(t *testing.T) {
	for _, dir := range []string{"", t.TempDir()} {
		s := mustOpen(t, dir, Options{MaxBytes: 256 << 10}, noon)
		now := noon
		for i := range 60 {
			x := &Sample{Partition: "default", At: now, Values: map[Key]*Values{}}
			for j := range 100 {
				x.Values[Key{Queue, fmt.Sprintf("root.q%d", j)}] = &Values{Allocated: Amounts{"vcore": float64(i*100 + j),
					"memory": float64(i)}}
			}
			assert.NilError(t, s.Add(x))
			now = now.Add(time.Minute)
		}
		before, err := s.Bytes()
		assert.NilError(t, err)
		assert.Assert(t, before > 256<<10, "%d bytes", before)
		assert.NilError(t, s.Trim(now))
		after, err := s.Bytes()
		assert.NilError(t, err)
		assert.Assert(t, after <= 256<<10, "%d bytes", after)
		w := readAll(t, s, noon, now)
		assert.Equal(t, len(w.Series), 100, "the newest usage is there")
		assert.Assert(t, w.Covered > 300 && w.Covered < 3540, "%v seconds", w.Covered)
	}
}

func TestOpen_UnusableFileIsNamedAndUnchanged(t *testing.T) {
	valid := func(dir string) string {
		s, err := Open(dir, Options{}, noon)
		assert.NilError(t, err)
		assert.NilError(t, s.Add(vcores(noon, 2)))
		assert.NilError(t, s.Close())
		return filepath.Join(dir, fileName)
	}
	for name, c := range map[string]struct {
		prepare func(dir string)
		want    string
	}{
		"no database": {func(dir string) {
			assert.NilError(t, os.WriteFile(filepath.Join(dir, fileName), []byte(strings.Repeat("no database ", 1000)), 0o600))
		}, "not a database"},
		"empty": {func(dir string) {
			assert.NilError(t, os.WriteFile(filepath.Join(dir, fileName), nil, 0o600))
		}, "it is damaged: it is empty; remove it to begin anew"},
		"a directory": {func(dir string) { assert.NilError(t, os.Mkdir(filepath.Join(dir, fileName), 0o700)) },
			"is a directory"},
		"another format": {func(dir string) {
			s, err := Open(dir, Options{}, noon)
			assert.NilError(t, err)
			_, err = s.write.Exec("UPDATE meta SET value = 'canopy usage history 9'")
			assert.NilError(t, err)
			assert.NilError(t, s.Close())
		}, `not of the format "canopy usage history 1" but "canopy usage history 9"`},
		"another program": {func(dir string) {
			s, err := Open(dir, Options{}, noon)
			assert.NilError(t, err)
			_, err = s.write.Exec("DROP TABLE meta")
			assert.NilError(t, err)
			assert.NilError(t, s.Close())
		}, "of another program"},
		"cut short": {func(dir string) {
			file := valid(dir)
			assert.NilError(t, os.Truncate(file, 5000))
		}, "damaged"},
		"a bad row": {func(dir string) {
			s, err := Open(dir, Options{}, noon)
			assert.NilError(t, err)
			assert.NilError(t, s.Add(vcores(noon, 2)))
			_, err = s.write.Exec("UPDATE step SET v = '{'")
			assert.NilError(t, err)
			assert.NilError(t, s.Close())
		}, "the last row of queue root.a"},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			c.prepare(dir)
			file := filepath.Join(dir, fileName)
			before, _ := os.ReadFile(file)
			_, err := Open(dir, Options{}, noon)
			assert.ErrorContains(t, err, file)
			assert.ErrorContains(t, err, c.want)
			after, _ := os.ReadFile(file)
			assert.Equal(t, string(after), string(before))
		})
	}
}

func ended(id string, at time.Time, state lifecycle.State) *lifecycle.Ended {
	vcore := resources.FromMap(map[string]resources.Quantity{"vcore": 2000})
	var u lifecycle.UsageSum
	u.Add(lifecycle.RealUsage, "m5", vcore, 30)
	if state == lifecycle.Rejected {
		return lifecycle.NewRejection(id, security.User{Name: "ann"}, "root.a", "no such queue", at)
	}
	return &lifecycle.Ended{
		ID: id, User: security.User{Name: "ann", Groups: []string{"dev"}}, Queue: "root.a", State: state,
		Submitted: at.Add(-time.Minute), Finished: at,
		Peak: vcore, Log: lifecycle.Log{lifecycle.NewChange(state, lifecycle.ReasonIdleTimeout, at)}, Usage: u.Usage(),
	}
}

func TestStore_EndedApplicationsSurviveARestart(t *testing.T) {
	dir := t.TempDir()
	s, err := Open(dir, Options{}, noon)
	assert.NilError(t, err)
	a, b, c := ended("a", noon.Add(time.Second), lifecycle.Completed), ended("b", noon.Add(time.Minute), lifecycle.Failed),
		ended("c", noon.Add(time.Minute), lifecycle.Rejected)
	var found newEnded
	list := persistent.ListOf(a, b)
	assert.Equal(t, len(found.take(list)), 2)
	assert.Equal(t, len(found.take(list)), 0, "each is new once")
	assert.Equal(t, len(found.take(persistent.ListOf(a, b, ended("d", b.Finished, lifecycle.Completed)))), 1,
		"also of the time of the last")
	assert.NilError(t, s.AddEnded("default", []*lifecycle.Ended{a, b, c}))
	got, err := s.FormerlyEnded(t.Context(), "default", false, noon, 10)
	assert.NilError(t, err)
	assert.Equal(t, len(got), 0, "the server still has those of its own time")
	assert.NilError(t, s.Close())

	s = mustOpen(t, dir, Options{}, noon.Add(time.Hour))
	got, err = s.FormerlyEnded(t.Context(), "default", false, noon, 10)
	assert.NilError(t, err)
	assert.Equal(t, len(got), 2)
	assert.DeepEqual(t, recordOf(got[0]), recordOf(a))
	assert.Equal(t, got[0].ID, "a")
	got, err = s.FormerlyEnded(t.Context(), "default", true, noon, 10)
	assert.NilError(t, err)
	assert.Equal(t, got[0].Message(), "no such queue")
	got, err = s.FormerlyEnded(t.Context(), "default", false, noon, 1)
	assert.NilError(t, err)
	assert.Equal(t, got[0].ID, "b", "the newest")
	_, err = s.write.Exec(`UPDATE application SET record = '{"state":99}' WHERE id = 'a'`)
	assert.NilError(t, err)
	_, err = s.FormerlyEnded(t.Context(), "default", false, noon, 10)
	assert.ErrorContains(t, err, "application a")
}

// A store that cannot be written to is logged once, and what was not written of a sample is written with the next.
func TestRecorder_FailuresAreLoggedOnce(t *testing.T) {
	core, logs := observer.New(zap.InfoLevel)
	s := mustOpen(t, t.TempDir(), Options{}, noon)
	at := noon
	r := NewRecorder(s, time.Minute, func() time.Time { return at }, zap.New(core))
	snap := func(n resources.Quantity) []*scheduler.Snapshot {
		x := snapshotAt(at, n)
		x.Completed = persistent.ListOf(ended("a", noon, lifecycle.Completed))
		return []*scheduler.Snapshot{x}
	}
	_, err := s.write.Exec("PRAGMA query_only = 1")
	assert.NilError(t, err)
	r.sample(snap(1))
	at = at.Add(time.Minute)
	r.sample(snap(2))
	r.report(nil, errors.New("the disk is full"), nil) // an empty write succeeds on a full disk
	assert.Equal(t, logs.Len(), 1, "%v", logs.All())
	assert.Assert(t, r.Failures() >= 4)
	_, err = s.write.Exec("PRAGMA query_only = 0")
	assert.NilError(t, err)
	at = at.Add(time.Minute)
	r.sample(snap(2))
	assert.Equal(t, logs.Len(), 2)
	assert.Equal(t, logs.All()[1].Message, "usage is stored again")
	at = at.Add(time.Minute)
	r.sample(snap(2))
	assert.Equal(t, vcoreSeconds(t, s, noon, at), 120.0)
	var n int
	assert.NilError(t, s.write.QueryRow("SELECT count(*) FROM application").Scan(&n))
	assert.Equal(t, n, 1)
}
