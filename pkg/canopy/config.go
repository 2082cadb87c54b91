package canopy

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/canopy-scheduler/canopy/internal/server/configwatch"
	"github.com/canopy-scheduler/canopy/internal/server/reload"
	"github.com/canopy-scheduler/canopy/pkg/metrics"
)

// Generation is an accepted configuration.
type Generation struct {
	Number   uint64    // from 1, in the order of acceptance
	At       time.Time // when it came into force
	Source   string    // default, file, sighup (ReloadFile), rm, rest, rollback, or program (Reload)
	From     string    // the file, resource manager, client or generation; may be empty
	Checksum string    // of Text
	Text     string    // queues.yaml, unchanged
}

func generationOf(g *reload.Generation) Generation {
	return Generation{Number: g.Number, At: g.At, Source: string(g.Source), From: g.From, Checksum: g.Checksum,
		Text: g.Text}
}

// Generation is the configuration in force.
func (s *Server) Generation() Generation { return generationOf(s.engine.Reloads().Current()) }

// Warnings are the warnings about the configuration in force.
func (s *Server) Warnings() []Problem { return problemsOf(s.engine.Reloads().Warnings()) }

// Reload puts a configuration in force, in all partitions or, on an error, in none, and returns the
// generation in force. A text that is in force already is no new generation. With Config.File,
// the next change of the file replaces the configuration.
//
// The error is a *ConfigError with all problems, ErrRefused, ErrBusy, ErrNotStored or ErrClosed. Reload
// waits for partitions, so callbacks of the resource manager must not call it.
func (s *Server) Reload(ctx context.Context, text string) (Generation, error) {
	return s.reload(ctx, reload.Program, "", []byte(text))
}

// ReloadFile reads Config.File again and puts its text in force, even if that has not changed
// since it was read, but another configuration is in force. "canopy serve" calls it for SIGHUP, which is
// the source of the generation. Errors: those of Reload and of reading the file, and ErrNoConfigFile.
func (s *Server) ReloadFile(ctx context.Context) (Generation, error) {
	file := s.opt.Config.File
	if file == "" {
		return s.Generation(), ErrNoConfigFile
	}
	text, err := configwatch.Read(file, s.opt.bounds().MaxBytes)
	if err != nil {
		s.engine.Reloads().LogRefusal(reload.Signal, file, err)
		return s.Generation(), err
	}
	return s.reload(ctx, reload.Signal, file, text)
}

// reload puts a text in force. The Reloader logs the result.
func (s *Server) reload(ctx context.Context, source reload.Source, from string, text []byte) (Generation, error) {
	reloads := s.engine.Reloads()
	proposal, err := reloads.Read(source, from, text)
	if err != nil {
		return s.Generation(), configError(from, err)
	}
	res, err := reloads.Apply(ctx, proposal)
	switch {
	case err != nil:
		return s.Generation(), s.errClosed(err)
	case res.StoreError != nil:
		return generationOf(res.Generation), fmt.Errorf("%w: %w", ErrNotStored, res.StoreError)
	}
	return generationOf(res.Generation), nil
}

// watchConfig puts Config.File in force when it changes (CFG-90, CFG-91). known is its content that is in
// force.
func (s *Server) watchConfig(known *reload.Proposal) {
	file := s.opt.Config.File
	if file == "" || s.opt.Config.NotWatched {
		return
	}
	opt := configwatch.Options{MaxBytes: s.engine.Reloads().MaxBytes(), Log: s.log.Named(configLogger)}
	s.serving.Go(func() {
		configwatch.Watch(s.ctx, file, []byte(known.Text), opt, func(text []byte) (handled bool) {
			_, err := s.reload(s.ctx, reload.File, file, text)
			return !errors.Is(err, reload.ErrBusy)
		})
	})
}

// fileWarning says when the configuration that the Server started with replaces one that came over REST;
// empty: never (CFG-132).
func (o *Options) fileWarning() string {
	if !o.Config.exists() {
		return ""
	}
	when := "at a restart"
	switch again := o.optionName("ReloadFile"); {
	case o.Config.File == "":
	case o.Config.NotWatched:
		when = fmt.Sprintf("on %s and at a restart", again)
	default:
		when = fmt.Sprintf("when it changes, on %s and at a restart", again)
	}
	named := o.optionName(o.Config.field())
	if name := o.Config.name(); name != "" {
		named += " " + name
	}
	return fmt.Sprintf("%s is read again %s, and then replaces this configuration", named, when)
}

// configCounts are the metrics of the configuration.
func (s *Server) configCounts() metrics.Config {
	c := s.engine.Reloads().Counts()
	out := metrics.Config{Generation: c.Generation, HasStore: c.HasStore, Stored: c.Stored,
		Rejections: map[string]uint64{}}
	for source, n := range c.Rejections {
		out.Rejections[string(source)] = n
	}
	return out
}
