package reload

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"sync"
	"time"

	"go.uber.org/zap"

	"github.com/canopy-scheduler/canopy/internal/server/loop"
	"github.com/canopy-scheduler/canopy/pkg/configs"
	"github.com/canopy-scheduler/canopy/pkg/configs/queuesyaml"
	"github.com/canopy-scheduler/canopy/pkg/configs/validation"
	"github.com/canopy-scheduler/canopy/pkg/resources"
)

// Reasons why a valid configuration is not put in force.
var (
	ErrRefused            = errors.New("the configuration is refused")   // by a partition (CFG-103), or by its bounds
	ErrGenerationConflict = errors.New("another generation is in force") // than Proposal.ExpectedGeneration (CFG-117)
	ErrUnknownGeneration  = errors.New("is not remembered")              // the generation of a rollback (CFG-116)
	ErrBusy               = errors.New("the partitions did not pause in time, nothing has changed")
)

// Cluster puts a configuration in force in all partitions or, on an error, in none.
type Cluster interface {
	Reload(ctx context.Context, conf *configs.Config) (paused time.Duration, err error)
	// Config is the configuration in force; nil before the first.
	Config() *configs.Config
}

// Store keeps generations, and the last checksum of each source, for the next start.
type Store interface {
	// Add stores g and deletes the generations before the number oldest.
	Add(g *Generation, oldest uint64) error
	// SaveChecksum stores the checksum of the last text of a source.
	SaveChecksum(source, checksum string) error
}

// StoredState is the state of former runs in a Store.
type StoredState struct {
	Generations   []*Generation     // the oldest first
	LastChecksums map[string]string // the checksum of the last text of each source
}

// Options configure a Reloader. The zero value has the defaults.
type Options struct {
	Now            func() time.Time   // nil: time.Now
	Log            *zap.Logger        // nil: nothing is logged
	Bounds         queuesyaml.Options // of texts; zero: the default ones
	MaxGenerations int                // length of the history; 0: 50
	PauseTimeout   time.Duration      // how long a reload waits for the partitions to pause; 0: 30 s (CFG-104)
	Store          Store              // nil: generations are lost when the program ends
	StoredState    StoredState        // the content of Store
	// NodeCapacity returns the resource names of the nodes of each partition, as far as they
	// are known without waiting (queuesyaml.Options): Read compares texts with them. Nil: unknown.
	NodeCapacity func() map[string]map[string]resources.Quantity
	// OnInForce is called with each generation that comes into force, the first included, one
	// after the other. It must not change the configuration. May be nil.
	OnInForce func(*Generation)
}

// Reloader puts configurations in force and keeps their history. It is safe for concurrent use.
type Reloader struct {
	cluster Cluster
	opt     Options

	applyMu       sync.Mutex        // held while a configuration is put in force; locked before mu
	lastChecksums map[string]string // by source; guarded by applyMu
	ignoredKeys   []string          // of the last text; guarded by applyMu

	mu           sync.Mutex // guards the rest
	history      history
	textWarnings validation.Problems // of the text in force
	stored       bool                // the generation in force is in Store
	rejections   map[Source]uint64
}

// Result is the result of Apply for a Proposal that was not refused.
type Result struct {
	Generation *Generation // in force now
	Changed    bool        // false: it was in force before, or the source repeated its last text
	StoreError error       // why the change is not stored for the next start; nil: it is, or there is no Store
}

// New puts a first configuration in force. It is the latest stored generation if that has
// the same checksum, and a new generation otherwise. Requires: cluster has no partitions yet,
// so that none can refuse.
func New(cluster Cluster, first *Proposal, opt Options) *Reloader {
	if opt.Now == nil {
		opt.Now = time.Now
	}
	if opt.Log == nil {
		opt.Log = zap.NewNop()
	}
	opt.MaxGenerations = cmp.Or(max(opt.MaxGenerations, 0), 50)
	opt.PauseTimeout = cmp.Or(max(opt.PauseTimeout, 0), 30*time.Second)
	r := &Reloader{
		cluster: cluster, opt: opt, lastChecksums: map[string]string{}, textWarnings: first.Warnings,
		rejections: map[Source]uint64{File: 0, Signal: 0, RM: 0, REST: 0, Rollback: 0},
		history:    history{all: slices.Clone(opt.StoredState.Generations), maxGenerations: opt.MaxGenerations},
	}
	maps.Copy(r.lastChecksums, opt.StoredState.LastChecksums)
	if _, err := cluster.Reload(context.Background(), first.Config); err != nil {
		panic("reload: the first configuration: " + err.Error())
	}
	r.logIgnoredKeys(first)
	proposal, before := *first, (*configs.Config)(nil)
	if len(r.history.all) > 0 {
		last := r.history.latest()
		if last.Checksum == first.Config.Checksum {
			r.setStored(opt.Store != nil)
			r.opt.Log.Info("configuration restored", generationFields(last)...)
			r.notifyInForce(last)
			return r
		}
		before, _ = queuesyaml.LoadWith([]byte(last.Text), opt.Bounds) // nil: it is not valid any more
		if !proposal.HasExtra {
			proposal.Extra = last.Extra
		}
	}
	_, _ = r.accept(&proposal, before, 0) // a store error has been logged
	return r
}

// MaxBytes bounds the length of a text. MaxBytes()+1 does not overflow.
func (r *Reloader) MaxBytes() int {
	if n := r.opt.Bounds.MaxBytes; n > 0 {
		return min(n, math.MaxInt-1)
	}
	return queuesyaml.DefaultOptions().MaxBytes
}

// Read makes a Proposal of a text, within the bounds of r and with warnings of resources that
// no node has (CFG-81). A refusal is logged.
func (r *Reloader) Read(source Source, from string, text []byte) (*Proposal, error) {
	return r.readWith(source, from, text, r.Bounds())
}

// ReadFirst is Read for a resource manager that registers: its nodes are not known yet, so resources
// are not compared with them.
func (r *Reloader) ReadFirst(source Source, from string, text []byte) (*Proposal, error) {
	return r.readWith(source, from, text, r.opt.Bounds)
}

func (r *Reloader) readWith(source Source, from string, text []byte, bounds queuesyaml.Options) (*Proposal, error) {
	p, err := Read(source, from, text, bounds)
	if err != nil {
		r.LogRefusal(source, from, err)
	}
	return p, err
}

// Bounds returns the bounds of texts, with what the nodes have now: a resource that no node has is warned of (CFG-81).
func (r *Reloader) Bounds() queuesyaml.Options {
	bounds := r.opt.Bounds
	if r.opt.NodeCapacity != nil {
		bounds.NodeCapacity = r.opt.NodeCapacity()
	}
	return bounds
}

// Apply puts a Proposal in force (CFG-98, CFG-102). An error means that nothing has changed:
// ErrGenerationConflict, ErrBusy, loop.ErrEnded, or ErrRefused with every objection. Both refusal and
// acceptance are logged.
func (r *Reloader) Apply(ctx context.Context, p *Proposal) (Result, error) {
	r.applyMu.Lock()
	defer r.applyMu.Unlock()
	res, err := r.applyLocked(ctx, p)
	if err != nil {
		r.LogRefusal(p.Source, p.From, err)
		return res, err
	}
	r.logIgnoredKeys(p)
	return res, nil
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
	r.keepNamedObjects(&next, current)
	if !next.HasExtra {
		next.Extra = current.Extra
	}
	if next.Config == nil && maps.Equal(next.Extra, current.Extra) {
		r.rememberChecksum(p)
		return Result{Generation: current}, nil
	}
	var paused time.Duration
	before := r.cluster.Config()
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
	g, storeErr := r.accept(&next, before, paused)
	r.rememberChecksum(p)
	return Result{Generation: g, Changed: true, StoreError: storeErr}, nil
}

// isNew reports whether a text must be put in force: it is not the text in force (CFG-87), and does not repeat the
// last text of a resource manager that a file, a POST or a rollback has replaced since (CFG-88). Requires: r.applyMu
// is held.
func (r *Reloader) isNew(p *Proposal, current *Generation) bool {
	sum := p.Config.Checksum
	if sum == current.Checksum {
		return false
	}
	replacedByAnotherRM := current.Source == RM && current.From != p.From
	if p.ignoresRepeats() && !replacedByAnotherRM && r.lastChecksums[p.sourceKey()] == sum {
		r.opt.Log.Warn("the configuration repeats the last one of its source: the one in force stays",
			zap.String("source", string(p.Source)), zap.String("from", p.From), zap.String("checksum", sum),
			zap.Uint64("generation", current.Number), zap.String("activeSource", string(current.Source)))
		return false
	}
	return true
}

// reloadError classifies an error of Cluster.Reload: busy partitions or a cancelled caller (ErrBusy), the
// end of the process (CFG-106), or a refusal.
func reloadError(err error) error {
	switch {
	case errors.Is(err, context.DeadlineExceeded), errors.Is(err, context.Canceled):
		return fmt.Errorf("%w: %w", ErrBusy, err)
	case errors.Is(err, loop.ErrEnded):
		return err
	}
	return fmt.Errorf("%w: %w", ErrRefused, err)
}

// Rollback puts the text of a former generation in force again, as a new generation (CFG-116).
// The extra configuration in force stays. Errors: those of Apply, ErrUnknownGeneration, or an
// *InvalidError if this version of the program is stricter than the one that accepted the text.
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
