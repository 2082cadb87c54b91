package main

import (
	"context"
	"errors"
	"os"

	"go.uber.org/zap"

	"github.com/canopy-scheduler/canopy/internal/configwatch"
	"github.com/canopy-scheduler/canopy/internal/reload"
)

// watchConfig puts in force what the file of --config says from now on: when it changes, unless
// nobody wants that, and on every signal. It ends with ctx. known is what the file said.
func (s *servers) watchConfig(ctx context.Context, f *serveFlags, known *reload.Proposal, signals <-chan os.Signal) {
	file := f.config
	if file == "-" || isOpenFile(file) {
		file = "" // it can be read once
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
	opt := configwatch.Options{MaxBytes: s.proxy.Reloads().MaxBytes(), Log: s.log}
	s.serving.Go(func() {
		configwatch.Watch(ctx, file, []byte(known.Text), opt, func(text []byte) (done bool) {
			return !errors.Is(s.applyConfig(ctx, reload.File, file, text), reload.ErrBusy)
		})
	})
}

// reloadFile is what SIGHUP does.
func (s *servers) reloadFile(ctx context.Context, f *serveFlags, file string) {
	if file == "" {
		s.log.Warn("SIGHUP: there is no file of --config to read again")
		return
	}
	text, err := configwatch.Read(file, f.bounds.MaxBytes)
	if err != nil {
		s.proxy.Reloads().LogRefusal(reload.Signal, file, err)
		return
	}
	if err := s.applyConfig(ctx, reload.Signal, file, text); err == nil {
		s.log.Info("SIGHUP: what the file says is in force", zap.String("file", file),
			zap.Uint64("generation", s.proxy.Reloads().Current().Number))
	}
}

// applyConfig puts a text in force. What comes of it is logged there.
func (s *servers) applyConfig(ctx context.Context, source reload.Source, from string, text []byte) error {
	wish, err := s.proxy.Reloads().Read(source, from, text)
	if err != nil {
		return err
	}
	_, err = s.proxy.Reloads().Apply(ctx, wish)
	return err
}
