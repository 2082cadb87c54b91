package main

import (
	"context"
	"errors"
	"os"

	"go.uber.org/zap"

	"github.com/canopy-scheduler/canopy/pkg/canopy"
)

// reloadOnSignal reads the file of --config again on every signal, for SIGHUP, until ctx ends (CFG-92).
func reloadOnSignal(ctx context.Context, signals <-chan os.Signal, server runningScheduler, log *zap.Logger,
	file string) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-signals:
		}
		switch g, err := server.ReloadFile(ctx); {
		case errors.Is(err, canopy.ErrStandby):
			log.Info("SIGHUP: this member stands by, and reads the file of --config when it leads")
		case errors.Is(err, canopy.ErrNoConfigFile):
			log.Warn("SIGHUP: there is no file of --config to read again")
		case err == nil || errors.Is(err, canopy.ErrNotStored):
			log.Info("SIGHUP: the configuration of the file is in force", zap.String("file", file),
				zap.Uint64("generation", g.Number))
		}
	}
}
