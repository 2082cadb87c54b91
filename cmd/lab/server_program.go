package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"

	"github.com/spf13/pflag"

	"github.com/canopy-scheduler/canopy/internal/lab/serverprocess"
	"github.com/canopy-scheduler/canopy/pkg/configs/queuesyaml"
)

// coreProcess is a canopy serve in a process of its own, which a replay kills and starts again. It
// implements sim.Killable.
type coreProcess struct {
	args []string
	*serverprocess.Process
}

// addServerProgram adds the flag that names the program whose server is started.
func addServerProgram(flags *pflag.FlagSet, to *string) {
	flags.StringVar(to, "canopy", "",
		"`FILE` of the program canopy, whose server is started (default the one beside canopy-lab, else the one in PATH)")
}

// serverProgram returns the file of the program canopy; given is the value of --canopy.
func serverProgram(given string) (string, error) {
	if given != "" {
		file, err := exec.LookPath(given)
		if err != nil {
			return "", fmt.Errorf("--canopy: %w", err)
		}
		return file, nil
	}
	if self, err := os.Executable(); err == nil {
		beside, err := exec.LookPath(filepath.Join(filepath.Dir(self), "canopy"))
		if err == nil {
			return beside, nil
		}
	}
	found, err := exec.LookPath("canopy")
	if err != nil {
		return "", errors.New("there is no program canopy beside canopy-lab or in PATH: name its file with --canopy")
	}
	return found, nil
}

// startCore starts a scheduler on free ports of the loopback address.
func startCore(ctx context.Context, program string, bounds queuesyaml.Options) (*coreProcess, error) {
	p := &coreProcess{args: []string{
		program, "serve", "--grpc-address", "127.0.0.1:0", "--http-address", "127.0.0.1:0", "--log-level", "error",
		"--completing-timeout", "24h", // an application must not complete before its next ask is submitted
		"--max-config-bytes", strconv.Itoa(bounds.MaxBytes), "--max-config-values", strconv.Itoa(bounds.MaxValues),
		"--max-queues", strconv.Itoa(bounds.MaxQueues), "--max-depth", strconv.Itoa(bounds.MaxDepth),
	}}
	return p, p.start(ctx)
}

// start starts the process and waits until it is ready. After an error there is none, or that of before, which has
// ended.
func (p *coreProcess) start(ctx context.Context) error {
	started, err := serverprocess.Start(ctx, p.args...)
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
