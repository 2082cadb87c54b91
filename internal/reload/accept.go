package reload

import (
	"errors"
	"maps"
	"slices"
	"strings"
	"time"

	"go.uber.org/zap"

	"github.com/canopy-scheduler/canopy/pkg/configs"
)

// Current is the generation in force.
func (r *Reloader) Current() *Generation {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.history.latest()
}

// Generations are all that are remembered, the oldest first. The last one is in force.
func (r *Reloader) Generations() []*Generation {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.history.all)
}

// Generation finds one that is remembered.
func (r *Reloader) Generation(n uint64) (g *Generation, ok bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	g = r.history.find(n)
	return g, g != nil
}

// Warnings are those of the text in force.
func (r *Reloader) Warnings() configs.Problems {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.textWarnings
}

// loggedWarnings bounds the lines that the log has about one configuration.
const loggedWarnings = 50

// accept makes a generation of what has been put in force, which it is although it could not
// be stored. Requires: r.changing is held, or nobody else knows r yet.
func (r *Reloader) accept(p *Proposal, paused time.Duration) (g *Generation, storeErr error) {
	var changes *configs.Change
	switch {
	case p.Config == nil:
		changes = &configs.Change{Partitions: []configs.PartitionChange{}}
	case r.conf != nil:
		d := configs.Diff(r.conf, p.Config)
		changes = &d
	}
	if p.Config != nil {
		r.conf = p.Config
	}
	r.mu.Lock()
	g = &Generation{
		Number: 1, At: r.opt.Now(), Source: p.Source, From: p.From, Text: p.Text,
		Extra: maps.Clone(p.Extra), Changes: changes, Paused: paused,
	}
	if len(r.history.all) > 0 {
		before := r.history.latest()
		g.Number, g.Checksum = before.Number+1, before.Checksum
	}
	if p.Config != nil {
		g.Checksum, r.textWarnings = p.Config.Checksum, p.Warnings
	}
	oldest := r.history.add(g)
	r.mu.Unlock()
	r.notifyInForce(g)
	r.opt.Log.Info("configuration accepted", generationFields(g)...)
	for i, w := range p.Warnings {
		if i == loggedWarnings {
			r.opt.Log.Warn("configuration warnings: there are more, canopy validate lists them",
				zap.String("source", string(p.Source)), zap.String("from", p.From), zap.Int("more", len(p.Warnings)-i))
			break
		}
		r.opt.Log.Warn("configuration warning", zap.String("source", string(p.Source)), zap.String("from", p.From),
			zap.String("problem", w.String()))
	}
	if r.opt.Store != nil {
		if storeErr = r.opt.Store.Add(g, oldest); storeErr != nil {
			// It is in force whether or not it could be written down; taking it back would be worse.
			r.opt.Log.Error("the configuration is in force, but could not be stored for the next start",
				zap.Uint64("generation", g.Number), zap.Error(storeErr))
		}
	}
	return g, storeErr
}

func (r *Reloader) notifyInForce(g *Generation) {
	if r.opt.OnInForce != nil {
		r.opt.OnInForce(g)
	}
}

// rememberChecksum remembers what a speaker said. Requires: r.changing is held.
func (r *Reloader) rememberChecksum(p *Proposal) {
	if p.Config == nil || !p.ignoresRepeats() || r.lastChecksums[p.sourceKey()] == p.Config.Checksum {
		return
	}
	r.lastChecksums[p.sourceKey()] = p.Config.Checksum
	if r.opt.Store == nil {
		return
	}
	if err := r.opt.Store.SaveChecksum(p.sourceKey(), p.Config.Checksum); err != nil {
		r.opt.Log.Error("what a source said could not be stored for the next start",
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

// LogRefusal logs that a configuration was refused, also one that a door could not even read.
func (r *Reloader) LogRefusal(source Source, from string, reason error) {
	fields := []zap.Field{
		zap.String("source", string(source)), zap.String("from", from),
		zap.Uint64("generation", r.Current().Number),
	}
	if bad := new(InvalidError); errors.As(reason, &bad) {
		fields = append(fields, zap.Int("errors", len(bad.Problems.Errors())), zap.String("problems", truncatedProblems(bad.Problems)))
	} else {
		fields = append(fields, zap.String("reason", reason.Error()))
	}
	r.opt.Log.Error("configuration refused: the one in force stays", fields...)
}

// truncatedProblems is problems as a text that fits a log.
func truncatedProblems(problems configs.Problems) string {
	const longest = 64 << 10
	text := problems.Error()
	if len(text) > longest {
		text = text[:strings.LastIndexByte(text[:longest], '\n')+1] + "and more"
	}
	return strings.ToValidUTF8(text, "?")
}
