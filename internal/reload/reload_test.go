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

	"github.com/canopy-scheduler/canopy/internal/loop"
	"github.com/canopy-scheduler/canopy/internal/reload"
	"github.com/canopy-scheduler/canopy/pkg/configs"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// text is a configuration with these leaves.
func text(leaves ...string) string {
	var b strings.Builder
	b.WriteString("partitions: [{queues: [{name: root, submitacl: '*', queues: [")
	for _, leaf := range leaves {
		fmt.Fprintf(&b, "{name: %s}, ", leaf)
	}
	return b.String() + "]}]}]\n"
}

// fake is a cluster that takes every configuration, unless it has something against it.
type fake struct {
	taken   []*configs.Config
	against error
	stuck   bool // does not come to rest
}

func (f *fake) Reload(ctx context.Context, conf *configs.Config) (time.Duration, error) {
	switch {
	case f.stuck:
		<-ctx.Done()
		return 0, ctx.Err()
	case f.against != nil:
		return 0, f.against
	}
	f.taken = append(f.taken, conf)
	return 3 * time.Millisecond, nil
}

// world is a Reloader with what it needs, at noon.
type world struct {
	t       *testing.T
	cluster *fake
	logs    *observer.ObservedLogs
	*reload.Reloader
}

var noon = time.Date(2026, 1, 2, 12, 0, 0, 0, time.UTC)

func newWorld(t *testing.T, opt reload.Options) *world {
	t.Helper()
	core, logs := observer.New(zapcore.DebugLevel)
	opt.Log, opt.Now = zap.New(core), func() time.Time { return noon }
	w := &world{t: t, cluster: &fake{}, logs: logs}
	w.Reloader = reload.New(w.cluster, w.proposal(reload.File, "first.yaml", text("a")), opt)
	return w
}

func (w *world) proposal(source reload.Source, from, text string) *reload.Proposal {
	w.t.Helper()
	p, err := reload.Read(source, from, []byte(text), configs.Options{})
	assert.NilError(w.t, err)
	return p
}

func (w *world) enact(source reload.Source, from, text string) reload.Result {
	w.t.Helper()
	res, err := w.Enact(w.t.Context(), w.proposal(source, from, text))
	assert.NilError(w.t, err)
	return res
}

// rm is what a resource manager sends.
func (w *world) rm(text string, extra map[string]string) reload.Result {
	w.t.Helper()
	p := w.proposal(reload.RM, "rm-1", text)
	p.Extra, p.HasExtra = extra, true
	res, err := w.Enact(w.t.Context(), p)
	assert.NilError(w.t, err)
	return res
}

func TestEveryAcceptedConfigurationIsAGeneration(t *testing.T) {
	w := newWorld(t, reload.Options{})
	first := w.Current()
	assert.Equal(t, first.Number, uint64(1))
	assert.Equal(t, first.Source, reload.File)
	assert.Equal(t, first.From, "first.yaml")
	assert.Equal(t, first.At, noon)
	assert.Equal(t, first.Text, text("a"))

	res := w.enact(reload.REST, "127.0.0.1", text("a", "b"))
	assert.Assert(t, res.Changed)
	assert.Equal(t, res.Generation.Number, uint64(2))
	assert.Equal(t, res.Generation.Paused, 3*time.Millisecond)
	assert.Equal(t, res.Generation.Checksum, w.cluster.taken[1].Checksum)
	assert.Equal(t, w.Current(), res.Generation)
	assert.Equal(t, len(w.Generations()), 2)

	told := w.logs.FilterMessage("configuration accepted").All()
	assert.Equal(t, len(told), 2)
	assert.Equal(t, told[1].ContextMap()["generation"], uint64(2))
	assert.Equal(t, told[1].ContextMap()["source"], "rest")
}

func TestTheTextInForceIsNoNews(t *testing.T) {
	w := newWorld(t, reload.Options{})
	res := w.enact(reload.REST, "", text("a"))
	assert.Assert(t, !res.Changed)
	assert.Equal(t, res.Generation.Number, uint64(1))
	assert.Equal(t, len(w.cluster.taken), 1, "the partitions were asked although nothing changes")
}

func TestARefusalChangesNothing(t *testing.T) {
	w := newWorld(t, reload.Options{})
	w.rm(text("b"), map[string]string{"log.level": "info"})
	before := w.Generations()

	w.cluster.against = errors.New("partition default: leaf root.b cannot become a parent")
	p := w.proposal(reload.RM, "rm-1", text("c"))
	p.Extra, p.HasExtra = map[string]string{"log.level": "debug"}, true
	_, err := w.Enact(t.Context(), p)
	assert.ErrorIs(t, err, reload.ErrRefused)
	assert.ErrorContains(t, err, "root.b cannot become")
	assert.DeepEqual(t, w.Generations(), before)
	refused := w.logs.FilterMessageSnippet("configuration refused").All()
	assert.Equal(t, len(refused), 1)
	assert.Equal(t, refused[0].ContextMap()["generation"], uint64(2))
	assert.Equal(t, refused[0].ContextMap()["source"], "rm")

	// It was not heard either: said again, it is still news.
	w.cluster.against = nil
	res, err := w.Enact(t.Context(), p)
	assert.NilError(t, err)
	assert.Assert(t, res.Changed)
	assert.Equal(t, res.Generation.Extra["log.level"], "debug")
}

func TestATextWithErrorsIsRefusedWithAllOfThem(t *testing.T) {
	w := newWorld(t, reload.Options{Bounds: configs.Options{MaxBytes: 1000}})
	_, err := w.Read(reload.REST, "", []byte("partitions: [{queues: [{name: root, submitACL: x}, {name: a.b}]}]"))
	bad := new(reload.InvalidError)
	assert.Assert(t, errors.As(err, &bad))
	assert.Assert(t, len(bad.Problems.Errors()) >= 2, "%v", bad.Problems)
	assert.Equal(t, w.logs.FilterMessageSnippet("configuration refused").Len(), 1)
	_, err = w.Read(reload.REST, "", []byte(text(strings.Repeat("x", 1000))))
	assert.ErrorContains(t, err, "longer than")
}

func TestPartitionsThatDoNotComeToRest(t *testing.T) {
	w := newWorld(t, reload.Options{Patience: time.Millisecond})
	w.cluster.stuck = true
	_, err := w.Enact(t.Context(), w.proposal(reload.REST, "", text("b")))
	assert.ErrorIs(t, err, reload.ErrBusy)
	assert.Equal(t, w.Current().Number, uint64(1))
}

func TestTheEndIsNoRefusal(t *testing.T) {
	w := newWorld(t, reload.Options{})
	w.cluster.against = loop.ErrEnded
	_, err := w.Enact(t.Context(), w.proposal(reload.REST, "", text("b")))
	assert.ErrorIs(t, err, loop.ErrEnded)
	assert.Assert(t, !errors.Is(err, reload.ErrRefused))
}

func TestWhatIsInForceIsTold(t *testing.T) {
	var told []uint64
	w := newWorld(t, reload.Options{InForce: func(g *reload.Generation) { told = append(told, g.Number) }})
	w.rm(text("a"), map[string]string{"log.level": "info"})
	w.rm(text("a"), map[string]string{"log.level": "info"}) // no news
	w.rm(text("b"), nil)
	assert.DeepEqual(t, told, []uint64{1, 2, 3})
}

func TestExtraConfigurationAloneIsAGenerationWithoutAPause(t *testing.T) {
	w := newWorld(t, reload.Options{})
	res := w.rm(text("a"), map[string]string{"log.level": "info"})
	assert.Assert(t, res.Changed)
	assert.Equal(t, res.Generation.Paused, time.Duration(0))
	assert.Equal(t, res.Generation.Text, text("a"))
	assert.Equal(t, res.Generation.Checksum, w.cluster.taken[0].Checksum)
	assert.Equal(t, len(w.cluster.taken), 1)
	assert.Assert(t, !w.rm(text("a"), map[string]string{"log.level": "info"}).Changed)
	// Others leave it alone.
	assert.Equal(t, w.enact(reload.REST, "", text("b")).Generation.Extra["log.level"], "info")
}

func TestAnRMThatRepeatsItselfDoesNotUndoWhatSomebodyDid(t *testing.T) {
	w := newWorld(t, reload.Options{})
	w.rm(text("b"), nil)
	w.rm(text("c"), nil)
	back, err := w.Rollback(t.Context(), 2, 0)
	assert.NilError(t, err)
	assert.Equal(t, back.Generation.Number, uint64(4))
	assert.Equal(t, back.Generation.Text, text("b"))
	assert.Equal(t, back.Generation.Source, reload.Rollback)
	assert.Equal(t, back.Generation.From, "generation 2")

	res := w.rm(text("c"), map[string]string{"x": "y"}) // as when it registers anew
	assert.Equal(t, res.Generation.Text, text("b"))
	assert.Equal(t, res.Generation.Extra["x"], "y", "its extra configuration is news")
	assert.Equal(t, w.logs.FilterMessageSnippet("what its source said before").Len(), 1)
	assert.Equal(t, w.rm(text("d"), nil).Generation.Text, text("d"))
	assert.Equal(t, w.rm(text("c"), nil).Generation.Text, text("c"), "in between it said something else")

	// What somebody does is heard also when it was done before.
	w.enact(reload.Signal, "q.yaml", text("e"))
	w.enact(reload.REST, "", text("a"))
	assert.Equal(t, w.enact(reload.Signal, "q.yaml", text("e")).Generation.Text, text("e"))
}

func TestGoingBackToWhatIsNotThere(t *testing.T) {
	w := newWorld(t, reload.Options{Keep: 2})
	for _, leaf := range []string{"b", "c", "d"} {
		w.enact(reload.REST, "", text(leaf))
	}
	all := w.Generations()
	assert.Equal(t, len(all), 2)
	assert.Equal(t, all[0].Number, uint64(3))
	for _, n := range []uint64{0, 1, 2, 5} {
		_, err := w.Rollback(t.Context(), n, 0)
		assert.ErrorIs(t, err, reload.ErrUnknown)
		assert.ErrorContains(t, err, fmt.Sprintf("generation %d is not remembered", n))
	}
	res, err := w.Rollback(t.Context(), 4, 0)
	assert.NilError(t, err)
	assert.Assert(t, !res.Changed, "it is in force")
}

func TestOneOfTwoWhoChangeTheSameGenerationIsTold(t *testing.T) {
	w := newWorld(t, reload.Options{})
	for i, want := range []error{nil, reload.ErrStale} {
		p := w.proposal(reload.REST, "", text(fmt.Sprint("b", i)))
		p.OnlyOver = 1
		_, err := w.Enact(t.Context(), p)
		assert.ErrorIs(t, err, want)
	}
	_, err := w.Rollback(t.Context(), 1, 1)
	assert.ErrorIs(t, err, reload.ErrStale)
	assert.Equal(t, w.Current().Text, text("b0"))
}

// full is a Store on a full disk.
type full struct{}

func (full) Add(*reload.Generation, uint64) error { return errors.New("no space left") }
func (full) Heard(string, string) error           { return errors.New("no space left") }

func TestAConfigurationThatCannotBeStoredIsInForceAllTheSame(t *testing.T) {
	w := newWorld(t, reload.Options{Store: full{}})
	res := w.rm(text("b"), nil)
	assert.Assert(t, res.Changed)
	assert.Error(t, res.NotStored, "no space left")
	assert.Equal(t, w.Current().Text, text("b"))
	assert.Equal(t, w.logs.FilterMessageSnippet("could not be stored").Len(), 3, "two generations, and what the RM said")
}

func TestWhatChangedIsRemembered(t *testing.T) {
	w := newWorld(t, reload.Options{})
	assert.Assert(t, w.Current().Changes == nil, "there was nothing before")
	assert.Equal(t, w.enact(reload.REST, "", text("a", "b")).Generation.Changes.Summary(), "1 queue created")
	assert.Equal(t, w.rm(text("a", "b"), map[string]string{"x": "y"}).Generation.Changes.Summary(), "nothing changes")
	assert.Equal(t, w.enact(reload.REST, "", text("b")).Generation.Changes.Summary(), "1 queue removed")
}

func TestOneByteMoreThanTheBoundCanBeCounted(t *testing.T) {
	for set, want := range map[int]int{0: configs.DefaultOptions().MaxBytes, 5: 5, math.MaxInt: math.MaxInt - 1} {
		w := newWorld(t, reload.Options{Bounds: configs.Options{MaxBytes: set}})
		assert.Equal(t, w.MaxBytes(), want)
	}
}

func TestEnact_AnExtraConfigurationHasALongestLength(t *testing.T) {
	r := reload.New(&fake{}, reload.Default(), reload.Options{})
	wish := *reload.Default()
	wish.Extra, wish.HasExtra = map[string]string{"a": strings.Repeat("x", reload.MaxExtraBytes-1)}, true
	res, err := r.Enact(t.Context(), &wish)
	assert.NilError(t, err)
	assert.Assert(t, res.Changed)
	wish.Extra = map[string]string{"ab": strings.Repeat("x", reload.MaxExtraBytes-1)}
	_, err = r.Enact(t.Context(), &wish)
	assert.ErrorIs(t, err, reload.ErrRefused)
	assert.ErrorContains(t, err, "its extra configuration has 1048577 bytes in 1 entries, at most 1048576 are allowed")
	assert.Equal(t, r.Current().Number, uint64(2))
}
