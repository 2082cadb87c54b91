package main

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/canopy-scheduler/canopy/internal/reload"
	"github.com/canopy-scheduler/canopy/internal/usergroup"
)

// errInterrupted means that a signal came before the start was complete.
var errInterrupted = errors.New("interrupted")

// startInterruptible is loadStart and a check of the user directories that the configuration needs. It
// returns errInterrupted when ctx ends first: standard input may never end, and a disk may hang.
func (f *serveFlags) startInterruptible(
	ctx context.Context, users *usergroup.Resolvers, in io.Reader, errs io.Writer,
) (first *reload.Proposal, store *reload.Disk, err error) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		if first, store, err = f.loadStart(in, errs); err != nil || first == nil {
			return
		}
		if _, missing := directoriesOf(users)(first.Config, nil); missing != nil {
			err = exitError{exitRefused, fmt.Errorf("%s: %w", f.startSource(), missing)}
			if store != nil {
				err = errors.Join(err, store.Close())
			}
		}
	}()
	select {
	case <-done:
		return first, store, err
	case <-ctx.Done():
		return nil, nil, errInterrupted // the goroutine is not waited for: the process ends
	}
}

// loadStart returns the first configuration, nil: the embedded default, and the store of the history,
// nil: it is not stored (CFG-94, CFG-118). The errors are of type exitError.
func (f *serveFlags) loadStart(in io.Reader, errs io.Writer) (first *reload.Proposal, store *reload.Disk, err error) {
	if f.history < 1 {
		return nil, nil, exitError{exitUsage, fmt.Errorf("--config-history is %d, and must be above 0", f.history)}
	}
	if f.config != "" {
		if first, err = loadProposal("--config", f.config, in, errs, f.bounds); err != nil {
			return nil, nil, err
		}
	}
	if f.dataDir == "" {
		return first, nil, nil
	}
	if store, err = reload.OpenDisk(f.dataDir); err != nil {
		return nil, nil, exitError{exitRefused, fmt.Errorf("--data-dir: %w", err)}
	}
	if first == nil {
		if first, err = store.Latest(f.bounds); err != nil {
			err = fmt.Errorf("--data-dir: %w\nStart with --config to use another configuration", err)
			return nil, nil, exitError{exitRefused, errors.Join(err, store.Close())}
		}
	}
	return first, store, nil
}

// startSource is the source of the first configuration, for errors.
func (f *serveFlags) startSource() string {
	if f.config != "" {
		return "--config: " + f.config
	}
	return "--data-dir: the latest configuration in " + f.dataDir
}
