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
)

// sampleTimeout is how long a sample may take. A cell that needs longer is too large.
const sampleTimeout = 10 * time.Minute

// Spawner measures in processes of their own, each of which is the given command. A
// process reads its job from its standard input and writes the answer to its standard
// output. It ends when its input does, so it outlives nobody.
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
	// What cannot be written is not read by anybody: Wait knows why.
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

// firstErrorLine is how a process that has failed explains itself: a panic begins with its
// reason, and what follows is for nobody's report.
func firstErrorLine(errs string) string {
	first, _, _ := strings.Cut(strings.TrimSpace(errs), "\n")
	if first == "" {
		return ""
	}
	const most = 500
	return ": " + singleLine(first[:min(len(first), most)])
}

// Serve is the other end: it does the job that in describes. gone is called when whoever
// asked has gone, which may be in the middle of it.
func Serve(ctx context.Context, in io.Reader, onParentExit func()) (Answer, error) {
	var j Job
	if err := json.NewDecoder(in).Decode(&j); err != nil {
		return Answer{}, fmt.Errorf("the job: %w", err)
	}
	go func() {
		// It ends when the parent does, or with this process.
		if _, err := io.Copy(io.Discard, in); err == nil {
			onParentExit()
		}
	}()
	return Do(ctx, j)
}
