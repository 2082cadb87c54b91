package reload

import (
	"errors"
	"maps"
	"slices"
	"strings"
	"time"

	"go.uber.org/zap"

	"github.com/canopy-scheduler/canopy/pkg/configs"
	"github.com/canopy-scheduler/canopy/pkg/configs/diff"
	"github.com/canopy-scheduler/canopy/pkg/configs/validation"
)

// Current is the generation in force.
func (r *Reloader) Current() *Generation {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.history.latest()
}

// Generations are the generations of the history, the oldest first. The last one is in force.
func (r *Reloader) Generations() []*Generation {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.history.all)
}

// Generation finds a generation of the history by its number.
func (r *Reloader) Generation(n uint64) (g *Generation, ok bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	g = r.history.find(n)
	return g, g != nil
}

// Warnings are the warnings about the text in force.
func (r *Reloader) Warnings() validation.Problems {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.textWarnings
}

// loggedWarnings bounds the warnings of one configuration that are logged (CFG-114).
const loggedWarnings = 50

// accept makes a generation of a configuration that has been put in force. before was in force until then;
// nil: it is unknown, or there was none. storeErr is the error of
// the Store; the configuration is in force all the same (CFG-120). Requires: r.applyMu is held,
// or r is not shared yet.
func (r *Reloader) accept(p *Proposal, before *configs.Config, paused time.Duration) (g *Generation, storeErr error) {
	var changes *diff.Change
	switch {
	case p.Config == nil:
		changes = &diff.Change{Partitions: []diff.PartitionChange{}}
	case before != nil:
		d := diff.Compare(before, p.Config)
		changes = &d
	}
	r.mu.Lock()
	g = &Generation{
		Number: 1, At: r.opt.Now(), Source: p.Source, From: p.From, Text: p.Text,
		Extra: maps.Clone(p.Extra), Changes: changes, Paused: paused,
	}
	if len(r.history.all) > 0 {
		last := r.history.latest()
		g.Number, g.Checksum = last.Number+1, last.Checksum
	}
	if p.Config != nil {
		g.Checksum, r.textWarnings = p.Config.Checksum, p.Warnings
	}
	oldest := r.history.add(g)
	r.stored = false // until it is
	r.mu.Unlock()
	r.notifyInForce(g)
	r.opt.Log.Info("configuration accepted", generationFields(g)...)
	warnings := p.Warnings.Merged()
	for i, w := range warnings {
		if i == loggedWarnings {
			r.opt.Log.Warn("configuration warnings: there are more, canopy validate lists them",
				zap.String("source", string(p.Source)), zap.String("from", p.From), zap.Int("more", len(warnings)-i))
			break
		}
		r.opt.Log.Warn("configuration warning", zap.String("source", string(p.Source)), zap.String("from", p.From),
			zap.String("problem", w.String()))
	}
	if r.opt.Store != nil {
		if storeErr = r.opt.Store.Add(g, oldest); storeErr != nil {
			// The configuration stays in force: to undo it would change the partitions once more.
			r.opt.Log.Error("the configuration is in force, but could not be stored for the next start",
				zap.Uint64("generation", g.Number), zap.Error(storeErr))
		}
		r.setStored(storeErr == nil)
	}
	return g, storeErr
}

// logIgnoredKeys logs that keys of a ConfigMap have no effect: the extra configuration is what a resource
// manager sends. The same keys as those of the last text are not logged again (CFG-131). Requires:
// r.applyMu is held, or r is not shared yet.
func (r *Reloader) logIgnoredKeys(p *Proposal) {
	repeated := slices.Equal(p.IgnoredKeys, r.ignoredKeys)
	r.ignoredKeys = p.IgnoredKeys
	if n := len(p.IgnoredKeys); n > 0 && !repeated {
		r.opt.Log.Warn("keys of the ConfigMap have no effect: the extra configuration comes from the resource manager only",
			zap.String("source", string(p.Source)), zap.String("from", p.From), zap.Int("count", n),
			zap.Strings("keys", p.IgnoredKeys[:min(n, loggedWarnings)]))
	}
}

func (r *Reloader) notifyInForce(g *Generation) {
	if r.opt.OnInForce != nil {
		r.opt.OnInForce(g)
	}
}

// rememberChecksum records the last checksum of a source whose repetitions are ignored (CFG-88).
// Requires: r.applyMu is held.
func (r *Reloader) rememberChecksum(p *Proposal) {
	if p.Config == nil || !p.ignoresRepeats() || r.lastChecksums[p.sourceKey()] == p.Config.Checksum {
		return
	}
	r.lastChecksums[p.sourceKey()] = p.Config.Checksum
	if r.opt.Store == nil {
		return
	}
	if err := r.opt.Store.SaveChecksum(p.sourceKey(), p.Config.Checksum); err != nil {
		r.opt.Log.Error("the last checksum of a source could not be stored for the next start",
			zap.String("source", string(p.Source)), zap.String("from", p.From), zap.Error(err))
	}
}

// generationFields are the fields of a log line about a generation.
func generationFields(g *Generation) []zap.Field {
	fields := []zap.Field{
		zap.Uint64("generation", g.Number), zap.String("source", string(g.Source)),
		zap.String("from", g.From), zap.String("checksum", g.Checksum), zap.Duration("paused", g.Paused),
	}
	if g.Changes != nil {
		fields = append(fields, zap.String("changes", g.Changes.Summary()))
	}
	return fields
}

// LogRefusal logs that a configuration was refused, and counts it (CFG-114, OBS-89). Servers call it too, for a text
// that they could not read.
func (r *Reloader) LogRefusal(source Source, from string, reason error) {
	fields := []zap.Field{
		zap.String("source", string(source)), zap.String("from", from),
		zap.Uint64("generation", r.Current().Number),
	}
	if bad := new(InvalidError); errors.As(reason, &bad) {
		fields = append(fields, zap.Int("errors", len(bad.Problems.Errors())),
			zap.String("problems", truncatedProblems(bad.Problems)))
	} else {
		fields = append(fields, zap.String("reason", reason.Error()))
	}
	r.countRejection(source, reason)
	r.opt.Log.Error("configuration refused: the one in force stays", fields...)
}

// truncatedProblems is the text of problems, cut to 64 KiB for the log.
func truncatedProblems(problems validation.Problems) string {
	const longest = 64 << 10
	text := problems.Error()
	if len(text) > longest {
		text = text[:strings.LastIndexByte(text[:longest], '\n')+1] + "and more"
	}
	return strings.ToValidUTF8(text, "?")
}
