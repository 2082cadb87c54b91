package bench

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"strings"
	"time"

	"github.com/canopy-scheduler/canopy/internal/lab/bench/report"
)

// sampleTimeout bounds the time of a sample.
const sampleTimeout = 10 * time.Minute

// Spawner measures in separate processes with the given command. A process reads its job from standard
// input and writes the answer to standard output. It ends when its input ends, so that it does not
// outlive its parent.
func Spawner(command string, args ...string) func(context.Context, Job) (Answer, error) {
	return func(ctx context.Context, j Job) (Answer, error) { return spawn(ctx, j, command, args) }
}

func spawn(ctx context.Context, j Job, command string, args []string) (a Answer, err error) {
	ctx, cancel := context.WithTimeout(ctx, sampleTimeout)
	defer cancel()
	cmd := exec.CommandContext(ctx, command, args...)
	cmd.WaitDelay = time.Second
	var out, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		return a, err
	}
	if err := cmd.Start(); err != nil {
		return a, err
	}
	j.Command = append([]string{command}, args...)
	// A failed write needs no handling: Wait returns the reason.
	_ = json.NewEncoder(in).Encode(j)
	err = cmd.Wait() // closes the input
	switch {
	case errors.Is(ctx.Err(), context.DeadlineExceeded):
		return a, fmt.Errorf("it took longer than %v", sampleTimeout)
	case err != nil:
		return a, fmt.Errorf("%w%s", err, firstErrorLine(stderr.String()))
	}
	if err := json.Unmarshal(out.Bytes(), &a); err != nil {
		return a, fmt.Errorf("the answer of the process: %w", err)
	}
	return a, nil
}

// firstErrorLine returns the first line of the standard error of a failed process: a panic begins with its
// reason.
func firstErrorLine(errs string) string {
	first, _, _ := strings.Cut(strings.TrimSpace(errs), "\n")
	if first == "" {
		return ""
	}
	const most = 500
	return ": " + report.SingleLine(first[:min(len(first), most)])
}

// Serve does the job that in describes. onParentExit is called when the parent has ended, possibly
// during the job.
func Serve(ctx context.Context, in io.Reader, onParentExit func()) (Answer, error) {
	var j Job
	if err := json.NewDecoder(in).Decode(&j); err != nil {
		return Answer{}, fmt.Errorf("the job: %w", err)
	}
	go func() {
		// The goroutine ends with the parent, or with this process.
		if _, err := io.Copy(io.Discard, in); err == nil {
			onParentExit()
		}
	}()
	return Do(ctx, j)
}
