package main

import (
	"context"
	"errors"
	"os"
	"strconv"

	"github.com/canopy-scheduler/canopy/internal/lab/serverprocess"
	"github.com/canopy-scheduler/canopy/pkg/configs/queuesyaml"
)

// coreProcess is a canopy serve in a process of its own, which a replay kills and starts again. It
// implements sim.Killable.
type coreProcess struct {
	args []string
	*serverprocess.Process
}

// startCore starts a scheduler on free ports of the loopback address.
func startCore(ctx context.Context, bounds queuesyaml.Options) (*coreProcess, error) {
	p := &coreProcess{args: []string{
		serveName, "--grpc-address", "127.0.0.1:0", "--http-address", "127.0.0.1:0", "--log-level", "error",
		"--completing-timeout", "24h", // an application must not complete before its next ask is submitted
		"--max-config-bytes", strconv.Itoa(bounds.MaxBytes), "--max-config-values", strconv.Itoa(bounds.MaxValues),
		"--max-queues", strconv.Itoa(bounds.MaxQueues), "--max-depth", strconv.Itoa(bounds.MaxDepth),
	}}
	return p, p.start(ctx)
}

// start starts the process and waits until it is ready. After an error there is none, or that of before, which has
// ended.
func (p *coreProcess) start(ctx context.Context) error {
	file, err := os.Executable()
	if err != nil {
		return err
	}
	started, err := serverprocess.Start(ctx, append([]string{file}, p.args...)...)
	if err != nil {
		return err
	}
	p.Process = started
	return nil
}

// Restart starts the process again after Kill.
func (p *coreProcess) Restart(ctx context.Context) (address string, err error) {
	if err := p.Reap(); err != nil {
		return "", err
	}
	if err := p.start(ctx); err != nil {
		return "", err
	}
	return p.GRPC, nil
}

// close kills the process, if it is there, and waits for its end.
func (p *coreProcess) close() error {
	if p.Reaped() {
		return nil // Restart has reported why there is none
	}
	if err := p.Kill(); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return err
	}
	return p.Reap()
}
