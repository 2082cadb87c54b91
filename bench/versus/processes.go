package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strconv"
	"syscall"
	"time"
)

// armOrder is the order of the arms in a pair of runs: A B, then B A.
func armOrder(pair int) [2]string {
	if pair%2 == 0 {
		return [2]string{yunikorn, canopy}
	}
	return [2]string{canopy, yunikorn}
}

// runAlternating runs a workload in both arms the given number of times, and prints the progress to
// errs.
func runAlternating(w Workload, o options, errs io.Writer) ([]Sample, error) {
	var samples []Sample
	for pair := range o.runs {
		for _, arm := range armOrder(pair) {
			s, err := spawn(w, arm, pair, o)
			if err != nil {
				return nil, fmt.Errorf("workload %s, arm %s: %w", w.Name, arm, err)
			}
			fmt.Fprintf(errs, "%-8s %-9s run %d of %d: %d of %d asks, %.1f µs CPU and %.1f µs wall each\n",
				w.Name, arm, pair+1, o.runs, s.Allocated, s.Asks, s.cpuPer(), s.wallPer())
			samples = append(samples, s)
		}
	}
	for _, s := range samples {
		if s.Digest != samples[0].Digest {
			return nil, fmt.Errorf("workload %s: the arms did not get the same stream", w.Name)
		}
	}
	return samples, nil
}

// spawn measures in a new process.
func spawn(w Workload, arm string, pair int, o options) (s Sample, err error) {
	self, err := os.Executable()
	if err != nil {
		return s, err
	}
	// A child ends with its parent.
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	// Loading has three steps with a limit each.
	ctx, cancel := context.WithTimeout(ctx, o.deadline+4*loadLimit)
	defer cancel()
	args := []string{
		"--arm=" + arm, "--workloads=" + w.Name, "--scale=" + o.scale,
		"--seed=" + strconv.FormatUint(o.seed, 10), "--deadline=" + o.deadline.String(),
		"--fresh-heap=" + strconv.FormatBool(o.freshHeap),
	}
	if o.profile != "" {
		name := fmt.Sprintf("%s-%s-%d.pprof", w.Name, arm, pair+1)
		args = append(args, "--cpuprofile="+filepath.Join(o.profile, name))
	}
	cmd := exec.CommandContext(ctx, self, args...)
	cmd.WaitDelay = time.Second
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	if err := cmd.Run(); err != nil {
		return s, fmt.Errorf("%w: %s", err, bytes.TrimSpace(errs.Bytes()))
	}
	return s, s.parse(out.Bytes())
}

// measureAndPrint measures in this process and prints one line for the parent.
func measureAndPrint(out io.Writer, w Workload, o options) error {
	s, err := measureArm(w, o.arm, o)
	if err != nil {
		return err
	}
	return json.NewEncoder(out).Encode(s)
}

// parse reads the last line. What a library printed before it does not matter.
func (s *Sample) parse(out []byte) error {
	out = bytes.TrimSpace(out)
	if err := json.Unmarshal(out[bytes.LastIndexByte(out, '\n')+1:], s); err != nil {
		return fmt.Errorf("the process did not answer with a measurement: %w", err)
	}
	return nil
}
