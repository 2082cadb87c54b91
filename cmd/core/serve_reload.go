package main

import (
	"context"
	"errors"
	"fmt"
	"os"

	"go.uber.org/zap"

	"github.com/canopy-scheduler/canopy/internal/configwatch"
	"github.com/canopy-scheduler/canopy/internal/reload"
	"github.com/canopy-scheduler/canopy/pkg/metrics"
)

// configCounts are the metrics of the configuration.
func (s *servers) configCounts() metrics.Config {
	c := s.engine.Reloads().Counts()
	out := metrics.Config{Generation: c.Generation, HasStore: c.HasStore, Stored: c.Stored, Rejections: map[string]uint64{}}
	for source, n := range c.Rejections {
		out.Rejections[string(source)] = n
	}
	return out
}

// fileWarning says when the file of --config replaces a configuration that came over REST; empty: there
// is no file (CFG-132).
func (f *serveFlags) fileWarning() string {
	when := "when it changes, on SIGHUP and at a restart"
	switch {
	case f.config == "":
		return ""
	case f.config == "-" || isOpenFile(f.config): // it can be read only once
		when = "at a restart"
	case !f.configWatch:
		when = "on SIGHUP and at a restart"
	}
	return fmt.Sprintf("--config %s is read again %s, and then replaces this configuration", f.config, when)
}

// watchConfig reloads the file of --config until ctx ends: when it changes, unless --config-watch is
// false (CFG-90, CFG-91), and on every signal (CFG-92). known is the content that is in force.
func (s *servers) watchConfig(ctx context.Context, f *serveFlags, known *reload.Proposal, signals <-chan os.Signal) {
	file := f.config
	if file == "-" || isOpenFile(file) {
		file = "" // it can be read only once
	}
	s.serving.Go(func() {
		for {
			select {
			case <-ctx.Done():
				return
			case <-signals:
				s.reloadFile(ctx, f, file)
			}
		}
	})
	if file == "" || !f.configWatch {
		return
	}
	opt := configwatch.Options{MaxBytes: s.engine.Reloads().MaxBytes(), Log: s.log}
	s.serving.Go(func() {
		configwatch.Watch(ctx, file, []byte(known.Text), opt, func(text []byte) (done bool) {
			return !errors.Is(s.applyConfig(ctx, reload.File, file, text), reload.ErrBusy)
		})
	})
}

// reloadFile reads the file again, for SIGHUP (CFG-92). An empty name: there is no file.
func (s *servers) reloadFile(ctx context.Context, f *serveFlags, file string) {
	if file == "" {
		s.log.Warn("SIGHUP: there is no file of --config to read again")
		return
	}
	text, err := configwatch.Read(file, f.bounds.MaxBytes)
	if err != nil {
		s.engine.Reloads().LogRefusal(reload.Signal, file, err)
		return
	}
	if err := s.applyConfig(ctx, reload.Signal, file, text); err == nil {
		s.log.Info("SIGHUP: the configuration of the file is in force", zap.String("file", file),
			zap.Uint64("generation", s.engine.Reloads().Current().Number))
	}
}

// applyConfig puts a configuration in force. The result is logged by Reloads.
func (s *servers) applyConfig(ctx context.Context, source reload.Source, from string, text []byte) error {
	proposal, err := s.engine.Reloads().Read(source, from, text)
	if err != nil {
		return err
	}
	_, err = s.engine.Reloads().Apply(ctx, proposal)
	return err
}
