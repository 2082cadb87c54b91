package reload

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"sync"
	"time"

	"go.uber.org/zap"

	"github.com/canopy-scheduler/canopy/internal/loop"
	"github.com/canopy-scheduler/canopy/pkg/budgets"
	"github.com/canopy-scheduler/canopy/pkg/configs"
	"github.com/canopy-scheduler/canopy/pkg/priorities"
)

// Reasons a configuration is not put in force, besides what is wrong with it.
var (
	ErrRefused            = errors.New("the configuration is refused")   // a partition cannot become it
	ErrGenerationConflict = errors.New("another generation is in force") // than the one it was meant to replace
	ErrUnknownGeneration  = errors.New("is not remembered")              // a generation to go back to
	ErrBusy               = errors.New("the partitions did not come to rest, nothing has changed")
)

// Cluster is what a configuration is put in force in: all of it or, on an error, none.
type Cluster interface {
	Reload(ctx context.Context, conf *configs.Config) (paused time.Duration, err error)
}

// Store keeps generations and what speakers said, for the next start.
type Store interface {
	// Add keeps g and forgets all that are older than oldest.
	Add(g *Generation, oldest uint64) error
	// SaveChecksum keeps the checksum of what a speaker said last.
	SaveChecksum(speaker, checksum string) error
}

// StoredState is what a Store remembers of former runs.
type StoredState struct {
	Generations   []*Generation     // the oldest first
	LastChecksums map[string]string // the checksum of what each speaker said last
}

// Options say how a Reloader runs. The zero value is good.
type Options struct {
	Now            func() time.Time // nil: time.Now
	Log            *zap.Logger      // nil: nothing is logged
	Bounds         configs.Options  // of texts; zero: the default ones
	MaxGenerations int              // generations that are remembered; 0: 50
	PauseTimeout   time.Duration    // how long partitions may take to come to rest; 0: 30 s
	Store          Store            // nil: generations are forgotten when the program ends
	StoredState    StoredState      // what Store remembers
	// NodeResources tells which resources the nodes of each partition have, as far as that is
	// known at once (configs.Options): a text that is read is compared with them. Nil: nobody
	// knows.
	NodeResources func() map[string][]string
	// OnInForce hears of each generation that is in force, the first included, one after the
	// other; it must not change a configuration. Nil: nobody does.
	OnInForce func(*Generation)
}

// Reloader puts configurations in force and remembers them. It is safe for concurrent use.
type Reloader struct {
	cluster Cluster
	opt     Options

	applyMu       sync.Mutex        // held while a configuration is put in force; before mu
	lastChecksums map[string]string // guarded by changing, as conf
	conf          *configs.Config   // in force; nil: not known, during New only

	mu           sync.Mutex // guards the rest
	history      history
	textWarnings configs.Problems // of the text in force
}

// Result says what became of a Proposal that was not refused.
type Result struct {
	Generation *Generation // in force now
	Changed    bool        // false: it was in force before, or nothing new was said
	StoreError error       // why the next start will not know of the change; nil: it will, or nothing stores it
}

// New puts a first configuration in force. It is the latest generation of the past if it
// has the same checksum, and a new one otherwise. Requires: cluster has no partitions yet,
// so that nothing can be in its way.
func New(cluster Cluster, first *Proposal, opt Options) *Reloader {
	if opt.Now == nil {
		opt.Now = time.Now
	}
	if opt.Log == nil {
		opt.Log = zap.NewNop()
	}
	if opt.MaxGenerations <= 0 {
		opt.MaxGenerations = 50
	}
	if opt.PauseTimeout <= 0 {
		opt.PauseTimeout = 30 * time.Second
	}
	r := &Reloader{cluster: cluster, opt: opt, lastChecksums: maps.Clone(opt.StoredState.LastChecksums), textWarnings: first.Warnings}
	if r.lastChecksums == nil {
		r.lastChecksums = map[string]string{}
	}
	r.history = history{all: slices.Clone(opt.StoredState.Generations), maxGenerations: opt.MaxGenerations}
	if _, err := cluster.Reload(context.Background(), first.Config); err != nil {
		panic("reload: the first configuration: " + err.Error())
	}
	proposal := *first
	if len(r.history.all) > 0 {
		last := r.history.latest()
		if last.Checksum == first.Config.Checksum {
			r.conf = first.Config
			r.opt.Log.Info("configuration restored", generationFields(last)...)
			r.notifyInForce(last)
			return r
		}
		r.conf, _ = configs.LoadWith([]byte(last.Text), opt.Bounds) // nil: it is not valid any more
		if !proposal.HasExtra {
			proposal.Extra = last.Extra
		}
	}
	_, _ = r.accept(&proposal, 0) // what could not be stored has been logged
	return r
}

// MaxBytes is how long a text may be. One byte more can always be counted.
func (r *Reloader) MaxBytes() int {
	if n := r.opt.Bounds.MaxBytes; n > 0 {
		return min(n, math.MaxInt-1)
	}
	return configs.DefaultOptions().MaxBytes
}

// Read makes a Proposal of a text, within the bounds of r and with warnings of resources that
// no node has. A refusal is logged.
func (r *Reloader) Read(source Source, from string, text []byte) (*Proposal, error) {
	bounds := r.opt.Bounds
	if r.opt.NodeResources != nil {
		bounds.NodeResources = r.opt.NodeResources()
	}
	return r.readWith(source, from, text, bounds)
}

// ReadFirst is Read for a source whose nodes are still to come: a resource manager that
// registers.
func (r *Reloader) ReadFirst(source Source, from string, text []byte) (*Proposal, error) {
	return r.readWith(source, from, text, r.opt.Bounds)
}

func (r *Reloader) readWith(source Source, from string, text []byte, bounds configs.Options) (*Proposal, error) {
	p, err := Read(source, from, text, bounds)
	if err != nil {
		r.LogRefusal(source, from, err)
	}
	return p, err
}

// EditClasses is the text of a generation with other priority classes, within the bounds of r.
func (r *Reloader) EditClasses(g *Generation, to priorities.Registry) ([]byte, error) {
	return configs.EditClasses([]byte(g.Text), to, r.opt.Bounds)
}

// EditBudgets is the text of a generation with other disruption budgets.
func (r *Reloader) EditBudgets(g *Generation, to budgets.Registry) ([]byte, error) {
	return configs.EditBudgets([]byte(g.Text), to, r.opt.Bounds)
}

// Apply puts a Proposal in force. An error means that nothing at all has changed: ErrGenerationConflict,
// ErrBusy, or ErrRefused with everything that is in the way. What is refused and what is
// accepted is logged.
func (r *Reloader) Apply(ctx context.Context, p *Proposal) (Result, error) {
	r.applyMu.Lock()
	defer r.applyMu.Unlock()
	res, err := r.applyLocked(ctx, p)
	if err != nil {
		r.LogRefusal(p.Source, p.From, err)
	}
	return res, err
}

func (r *Reloader) applyLocked(ctx context.Context, p *Proposal) (Result, error) {
	current := r.Current()
	if p.ExpectedGeneration != 0 && p.ExpectedGeneration != current.Number {
		return Result{}, fmt.Errorf("%w: %d, not %d", ErrGenerationConflict, current.Number, p.ExpectedGeneration)
	}
	if p.HasExtra {
		if err := CheckExtra(p.Extra); err != nil {
			return Result{}, err
		}
	}
	next := *p
	if next.Config != nil && !r.isNew(p, current) {
		next.Config = nil
	}
	r.keepClassesAndBudgets(&next, current)
	if !next.HasExtra {
		next.Extra = current.Extra
	}
	if next.Config == nil && maps.Equal(next.Extra, current.Extra) {
		r.rememberChecksum(p)
		return Result{Generation: current}, nil
	}
	var paused time.Duration
	switch {
	case next.Config == nil:
		next.Text = current.Text
	default:
		pauseCtx, cancel := context.WithTimeout(ctx, r.opt.PauseTimeout)
		defer cancel()
		var err error
		if paused, err = r.cluster.Reload(pauseCtx, next.Config); err != nil {
			return Result{}, reloadError(err)
		}
	}
	g, storeErr := r.accept(&next, paused)
	r.rememberChecksum(p)
	return Result{Generation: g, Changed: true, StoreError: storeErr}, nil
}

// isNew reports whether a text is to be put in force.
func (r *Reloader) isNew(p *Proposal, current *Generation) bool {
	sum := p.Config.Checksum
	if sum == current.Checksum {
		return false
	}
	if p.ignoresRepeats() && r.lastChecksums[p.sourceKey()] == sum {
		r.opt.Log.Warn("the configuration is what its source said before: the one in force stays",
			zap.String("source", string(p.Source)), zap.String("from", p.From), zap.String("checksum", sum),
			zap.Uint64("generation", current.Number), zap.String("activeSource", string(current.Source)))
		return false
	}
	return true
}

// reloadError tells a refusal from partitions that are busy, a caller who left, and the end.
func reloadError(err error) error {
	switch {
	case errors.Is(err, context.DeadlineExceeded), errors.Is(err, context.Canceled):
		return fmt.Errorf("%w: %w", ErrBusy, err)
	case errors.Is(err, loop.ErrEnded):
		return err
	}
	return fmt.Errorf("%w: %w", ErrRefused, err)
}

// Rollback puts the text of a former generation in force again, as a new one. The extra
// configuration is that of the RM and stays. Errors: those of Enact, ErrUnknownGeneration, or an
// *InvalidError when this version of the program is stricter than the one that accepted it.
func (r *Reloader) Rollback(ctx context.Context, to uint64, expectedGeneration uint64) (Result, error) {
	from := fmt.Sprintf("generation %d", to)
	g, ok := r.Generation(to)
	if !ok {
		err := fmt.Errorf("%s %w", from, ErrUnknownGeneration)
		r.LogRefusal(Rollback, from, err)
		return Result{}, err
	}
	p, err := r.Read(Rollback, from, []byte(g.Text))
	if err != nil {
		return Result{}, err
	}
	p.ExpectedGeneration = expectedGeneration
	return r.Apply(ctx, p)
}
