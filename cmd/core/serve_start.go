package main

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/canopy-scheduler/canopy/internal/reload"
	"github.com/canopy-scheduler/canopy/internal/usergroup"
)

// errInterrupted says that a signal came before the start was over.
var errInterrupted = errors.New("interrupted")

// startInterruptible is start, unless ctx ends before it is over: standard input may never end, and a
// disk may hang. users are what the configuration may need.
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
		return nil, nil, errInterrupted // what was begun is not waited for: the process ends
	}
}

// loadStart is the configuration that the scheduler starts with, nil: the default, and what
// remembers it, nil: nothing does. The errors have their exit code.
func (f *serveFlags) loadStart(in io.Reader, errs io.Writer) (first *reload.Proposal, store *reload.Disk, err error) {
	if f.history < 1 {
		return nil, nil, exitError{exitUsage, fmt.Errorf("--config-history is %d: at least the one in force is remembered", f.history)}
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
			err = fmt.Errorf("--data-dir: %w\nStart with --config to put something else in force", err)
			return nil, nil, exitError{exitRefused, errors.Join(err, store.Close())}
		}
	}
	return first, store, nil
}

// startSource is where the configuration of the start came from, for errors.
func (f *serveFlags) startSource() string {
	if f.config != "" {
		return "--config: " + f.config
	}
	return "--data-dir: the latest configuration in " + f.dataDir
}
