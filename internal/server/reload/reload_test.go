package reload_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"
	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
	"go.uber.org/zap/zaptest/observer"
	"gotest.tools/v3/assert"

	"github.com/canopy-scheduler/canopy/internal/server/loop"
	"github.com/canopy-scheduler/canopy/internal/server/reload"
	"github.com/canopy-scheduler/canopy/pkg/configs"
	"github.com/canopy-scheduler/canopy/pkg/configs/queuesyaml"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// text is a configuration with the given leaf queues.
func text(leaves ...string) string {
	var b strings.Builder
	b.WriteString("partitions: [{queues: [{name: root, submitacl: '*', queues: [")
	for _, leaf := range leaves {
		fmt.Fprintf(&b, "{name: %s}, ", leaf)
	}
	return b.String() + "]}]}]\n"
}

// fakeCluster is a cluster that accepts every configuration, except with refuseWith or neverPauses.
type fakeCluster struct {
	reloads     []*configs.Config
	refuseWith  error
	neverPauses bool // Reload waits until its context ends
}

func (f *fakeCluster) Config() *configs.Config {
	if len(f.reloads) == 0 {
		return nil
	}
	return f.reloads[len(f.reloads)-1]
}

func (f *fakeCluster) Reload(ctx context.Context, conf *configs.Config) (time.Duration, error) {
	switch {
	case f.neverPauses:
		<-ctx.Done()
		return 0, ctx.Err()
	case f.refuseWith != nil:
		return 0, f.refuseWith
	}
	f.reloads = append(f.reloads, conf)
	return 3 * time.Millisecond, nil
}

// fixture is a Reloader with a fakeCluster, at noon.
type fixture struct {
	t       *testing.T
	cluster *fakeCluster
	logs    *observer.ObservedLogs
	*reload.Reloader
}

var noon = time.Date(2026, 1, 2, 12, 0, 0, 0, time.UTC)

func newFixture(t *testing.T, opt reload.Options) *fixture {
	t.Helper()
	core, logs := observer.New(zapcore.DebugLevel)
	opt.Log, opt.Now = zap.New(core), func() time.Time { return noon }
	w := &fixture{t: t, cluster: &fakeCluster{}, logs: logs}
	w.Reloader = reload.New(w.cluster, w.proposal(reload.File, "first.yaml", text("a")), opt)
	return w
}

func (w *fixture) proposal(source reload.Source, from, text string) *reload.Proposal {
	w.t.Helper()
	p, err := reload.Read(source, from, []byte(text), queuesyaml.Options{})
	assert.NilError(w.t, err)
	return p
}

func (w *fixture) applyText(source reload.Source, from, text string) reload.Result {
	w.t.Helper()
	res, err := w.Apply(w.t.Context(), w.proposal(source, from, text))
	assert.NilError(w.t, err)
	return res
}

// applyFromRM applies a text and an extra configuration of the resource manager rm-1.
func (w *fixture) applyFromRM(text string, extra map[string]string) reload.Result {
	w.t.Helper()
	p := w.proposal(reload.RM, "rm-1", text)
	p.Extra, p.HasExtra = extra, true
	res, err := w.Apply(w.t.Context(), p)
	assert.NilError(w.t, err)
	return res
}

func TestApply_AcceptedConfigurationIsAGeneration(t *testing.T) {
	w := newFixture(t, reload.Options{})
	first := w.Current()
	assert.Equal(t, first.Number, uint64(1))
	assert.Equal(t, first.Source, reload.File)
	assert.Equal(t, first.From, "first.yaml")
	assert.Equal(t, first.At, noon)
	assert.Equal(t, first.Text, text("a"))

	res := w.applyText(reload.REST, "127.0.0.1", text("a", "b"))
	assert.Assert(t, res.Changed)
	assert.Equal(t, res.Generation.Number, uint64(2))
	assert.Equal(t, res.Generation.Paused, 3*time.Millisecond)
	assert.Equal(t, res.Generation.Checksum, w.cluster.reloads[1].Checksum)
	assert.Equal(t, w.Current(), res.Generation)
	assert.Equal(t, len(w.Generations()), 2)

	accepted := w.logs.FilterMessage("configuration accepted").All()
	assert.Equal(t, len(accepted), 2)
	assert.Equal(t, accepted[1].ContextMap()["generation"], uint64(2))
	assert.Equal(t, accepted[1].ContextMap()["source"], "rest")
}

func TestApply_SameTextChangesNothing(t *testing.T) {
	w := newFixture(t, reload.Options{})
	res := w.applyText(reload.REST, "", text("a"))
	assert.Assert(t, !res.Changed)
	assert.Equal(t, res.Generation.Number, uint64(1))
	assert.Equal(t, len(w.cluster.reloads), 1, "a text without changes does not reload the cluster")
}

func TestApply_RefusalChangesNothing(t *testing.T) {
	w := newFixture(t, reload.Options{})
	w.applyFromRM(text("b"), map[string]string{"log.level": "info"})
	before := w.Generations()

	w.cluster.refuseWith = errors.New("partition default: leaf root.b cannot become a parent")
	p := w.proposal(reload.RM, "rm-1", text("c"))
	p.Extra, p.HasExtra = map[string]string{"log.level": "debug"}, true
	_, err := w.Apply(t.Context(), p)
	assert.ErrorIs(t, err, reload.ErrRefused)
	assert.ErrorContains(t, err, "root.b cannot become")
	assert.DeepEqual(t, w.Generations(), before)
	refused := w.logs.FilterMessageSnippet("configuration refused").All()
	assert.Equal(t, len(refused), 1)
	assert.Equal(t, refused[0].ContextMap()["generation"], uint64(2))
	assert.Equal(t, refused[0].ContextMap()["source"], "rm")

	// A refused text does not count as the last one of its source: repeated, it is applied.
	w.cluster.refuseWith = nil
	res, err := w.Apply(t.Context(), p)
	assert.NilError(t, err)
	assert.Assert(t, res.Changed)
	assert.Equal(t, res.Generation.Extra["log.level"], "debug")
}

func TestRead_ReportsAllErrors(t *testing.T) {
	w := newFixture(t, reload.Options{Bounds: queuesyaml.Options{MaxBytes: 1000}})
	_, err := w.Read(reload.REST, "", []byte("partitions: [{queues: [{name: root, submitACL: x}, {name: a.b}]}]"))
	bad := new(reload.InvalidError)
	assert.Assert(t, errors.As(err, &bad))
	assert.Assert(t, len(bad.Problems.Errors()) >= 2, "%v", bad.Problems)
	assert.Equal(t, w.logs.FilterMessageSnippet("configuration refused").Len(), 1)
	_, err = w.Read(reload.REST, "", []byte(text(strings.Repeat("x", 1000))))
	assert.ErrorContains(t, err, "longer than")
}

func TestApply_BusyPartitions(t *testing.T) {
	w := newFixture(t, reload.Options{PauseTimeout: time.Millisecond})
	w.cluster.neverPauses = true
	_, err := w.Apply(t.Context(), w.proposal(reload.REST, "", text("b")))
	assert.ErrorIs(t, err, reload.ErrBusy)
	assert.Equal(t, w.Current().Number, uint64(1))
}

func TestApply_ShutdownIsNoRefusal(t *testing.T) {
	w := newFixture(t, reload.Options{})
	w.cluster.refuseWith = loop.ErrEnded
	_, err := w.Apply(t.Context(), w.proposal(reload.REST, "", text("b")))
	assert.ErrorIs(t, err, loop.ErrEnded)
	assert.Assert(t, !errors.Is(err, reload.ErrRefused))
}

func TestApply_CallsOnInForce(t *testing.T) {
	var notified []uint64
	w := newFixture(t, reload.Options{OnInForce: func(g *reload.Generation) { notified = append(notified, g.Number) }})
	w.applyFromRM(text("a"), map[string]string{"log.level": "info"})
	w.applyFromRM(text("a"), map[string]string{"log.level": "info"}) // a repetition
	w.applyFromRM(text("b"), nil)
	assert.DeepEqual(t, notified, []uint64{1, 2, 3})
}

func TestApply_ExtraConfigurationAloneDoesNotPause(t *testing.T) {
	w := newFixture(t, reload.Options{})
	res := w.applyFromRM(text("a"), map[string]string{"log.level": "info"})
	assert.Assert(t, res.Changed)
	assert.Equal(t, res.Generation.Paused, time.Duration(0))
	assert.Equal(t, res.Generation.Text, text("a"))
	assert.Equal(t, res.Generation.Checksum, w.cluster.reloads[0].Checksum)
	assert.Equal(t, len(w.cluster.reloads), 1)
	assert.Assert(t, !w.applyFromRM(text("a"), map[string]string{"log.level": "info"}).Changed)
	// Other sources do not change the extra configuration.
	assert.Equal(t, w.applyText(reload.REST, "", text("b")).Generation.Extra["log.level"], "info")
}

func TestApply_RepeatedRMTextDoesNotUndoRollback(t *testing.T) {
	w := newFixture(t, reload.Options{})
	w.applyFromRM(text("b"), nil)
	w.applyFromRM(text("c"), nil)
	rolledBack, err := w.Rollback(t.Context(), 2, 0)
	assert.NilError(t, err)
	assert.Equal(t, rolledBack.Generation.Number, uint64(4))
	assert.Equal(t, rolledBack.Generation.Text, text("b"))
	assert.Equal(t, rolledBack.Generation.Source, reload.Rollback)
	assert.Equal(t, rolledBack.Generation.From, "generation 2")

	res := w.applyFromRM(text("c"), map[string]string{"x": "y"}) // as when the RM registers again
	assert.Equal(t, res.Generation.Text, text("b"))
	assert.Equal(t, res.Generation.Extra["x"], "y", "the extra configuration changes")
	assert.Equal(t, w.logs.FilterMessageSnippet("repeats the last one of its source").Len(), 1)
	assert.Equal(t, w.applyFromRM(text("d"), nil).Generation.Text, text("d"))
	assert.Equal(t, w.applyFromRM(text("c"), nil).Generation.Text, text("c"), "the RM sent another text in between")

	// SIGHUP and POST are applied also when they repeat an earlier text.
	w.applyText(reload.Signal, "q.yaml", text("e"))
	w.applyText(reload.REST, "", text("a"))
	assert.Equal(t, w.applyText(reload.Signal, "q.yaml", text("e")).Generation.Text, text("e"))
}

// Of several resource managers the last to register decides, also with a text that it has sent before.
func TestApply_RepeatedRMTextReplacesThatOfAnotherRM(t *testing.T) {
	w := newFixture(t, reload.Options{})
	w.applyText(reload.RM, "rm-1", text("b"))
	w.applyText(reload.RM, "rm-2", text("c"))

	res := w.applyText(reload.RM, "rm-1", text("b"))

	assert.Assert(t, res.Changed)
	assert.Equal(t, res.Generation.Text, text("b"))
	assert.Equal(t, res.Generation.From, "rm-1")
	w.applyText(reload.REST, "", text("d"))
	for _, rm := range []string{"rm-1", "rm-2"} {
		leaf := map[string]string{"rm-1": "b", "rm-2": "c"}[rm]
		assert.Assert(t, !w.applyText(reload.RM, rm, text(leaf)).Changed, "%s undid what was posted", rm)
	}
}

func TestRollback_UnknownGeneration(t *testing.T) {
	w := newFixture(t, reload.Options{MaxGenerations: 2})
	for _, leaf := range []string{"b", "c", "d"} {
		w.applyText(reload.REST, "", text(leaf))
	}
	all := w.Generations()
	assert.Equal(t, len(all), 2)
	assert.Equal(t, all[0].Number, uint64(3))
	for _, n := range []uint64{0, 1, 2, 5} {
		_, err := w.Rollback(t.Context(), n, 0)
		assert.ErrorIs(t, err, reload.ErrUnknownGeneration)
		assert.ErrorContains(t, err, fmt.Sprintf("generation %d is not remembered", n))
	}
	res, err := w.Rollback(t.Context(), 4, 0)
	assert.NilError(t, err)
	assert.Assert(t, !res.Changed, "generation 4 is in force")
}

func TestApply_GenerationConflict(t *testing.T) {
	w := newFixture(t, reload.Options{})
	for i, want := range []error{nil, reload.ErrGenerationConflict} {
		p := w.proposal(reload.REST, "", text(fmt.Sprint("b", i)))
		p.ExpectedGeneration = 1
		_, err := w.Apply(t.Context(), p)
		assert.ErrorIs(t, err, want)
	}
	_, err := w.Rollback(t.Context(), 1, 1)
	assert.ErrorIs(t, err, reload.ErrGenerationConflict)
	assert.Equal(t, w.Current().Text, text("b0"))
}

// fullDiskStore is a Store on a full disk.
type fullDiskStore struct{}

func (fullDiskStore) Add(*reload.Generation, uint64) error { return errors.New("no space left") }
func (fullDiskStore) SaveChecksum(string, string) error    { return errors.New("no space left") }

func TestApply_StoreErrorStillInForce(t *testing.T) {
	w := newFixture(t, reload.Options{Store: fullDiskStore{}})
	res := w.applyFromRM(text("b"), nil)
	assert.Assert(t, res.Changed)
	assert.Error(t, res.StoreError, "no space left")
	assert.Equal(t, w.Current().Text, text("b"))
	assert.Equal(t, w.logs.FilterMessageSnippet("could not be stored").Len(), 3,
		"two generations, and the checksum of the RM")
}

func TestGeneration_HasChanges(t *testing.T) {
	w := newFixture(t, reload.Options{})
	assert.Assert(t, w.Current().Changes == nil, "the first generation has no changes")
	assert.Equal(t, w.applyText(reload.REST, "", text("a", "b")).Generation.Changes.Summary(), "1 queue created")
	assert.Equal(t, w.applyFromRM(text("a", "b"), map[string]string{"x": "y"}).Generation.Changes.Summary(),
		"nothing changes")
	assert.Equal(t, w.applyText(reload.REST, "", text("b")).Generation.Changes.Summary(), "1 queue removed")
}

func TestMaxBytes_PlusOneDoesNotOverflow(t *testing.T) {
	for set, want := range map[int]int{0: queuesyaml.DefaultOptions().MaxBytes, 5: 5, math.MaxInt: math.MaxInt - 1} {
		w := newFixture(t, reload.Options{Bounds: queuesyaml.Options{MaxBytes: set}})
		assert.Equal(t, w.MaxBytes(), want)
	}
}

func TestApply_BoundsExtraConfiguration(t *testing.T) {
	r := reload.New(&fakeCluster{}, reload.Default(), reload.Options{})
	proposal := *reload.Default()
	proposal.Extra, proposal.HasExtra = map[string]string{"a": strings.Repeat("x", reload.MaxExtraBytes-1)}, true
	res, err := r.Apply(t.Context(), &proposal)
	assert.NilError(t, err)
	assert.Assert(t, res.Changed)
	proposal.Extra = map[string]string{"ab": strings.Repeat("x", reload.MaxExtraBytes-1)}
	_, err = r.Apply(t.Context(), &proposal)
	assert.ErrorIs(t, err, reload.ErrRefused)
	assert.ErrorContains(t, err, "its extra configuration has 1048577 bytes in 1 entries, at most 1048576 are allowed")
	assert.Equal(t, r.Current().Number, uint64(2))
}
