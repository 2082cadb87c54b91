package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/spf13/pflag"

	"github.com/canopy-scheduler/canopy/internal/configwatch"
	"github.com/canopy-scheduler/canopy/internal/reload"
	"github.com/canopy-scheduler/canopy/pkg/configs"
)

// addBounds adds the flags that say how large a configuration may be. Problems name the
// bounds by the names of these flags.
func addBounds(f *pflag.FlagSet, o *configs.Options) {
	d := configs.DefaultOptions()
	f.IntVar(&o.MaxBytes, "max-config-bytes", d.MaxBytes, "refuse a queues.yaml longer than this; 1 GiB at most")
	f.IntVar(&o.MaxValues, "max-config-values", d.MaxValues,
		"refuse a queues.yaml with more values (texts, lists and mappings, counted roughly); each takes 300 bytes to read")
	f.IntVar(&o.MaxQueues, "max-queues", d.MaxQueues, "refuse a queues.yaml with more queues, roots included")
	f.IntVar(&o.MaxDepth, "max-depth", d.MaxDepth, "refuse a queues.yaml with more levels of queues, or of parent rules")
}

// maxConfigBytes is the largest --max-config-bytes: 1 GiB, far more than any configuration
// has, and little enough that one byte more can be counted.
const maxConfigBytes = 1 << 30

// checkBounds says which bounds make no sense.
func checkBounds(o configs.Options) error {
	above := func(flag string, n int) error {
		if n > 0 {
			return nil
		}
		return fmt.Errorf("--%s is %d, and must be above 0", flag, n)
	}
	var large error
	if o.MaxBytes > maxConfigBytes {
		large = fmt.Errorf("--max-config-bytes is %d, and can be %d (1 GiB) at most", o.MaxBytes, maxConfigBytes)
	}
	return errors.Join(above("max-config-bytes", o.MaxBytes), large, above("max-config-values", o.MaxValues), above("max-queues", o.MaxQueues),
		above("max-depth", o.MaxDepth))
}

// readConfig reads no more of a file than is needed to see that it is too long. The name
// - is standard input. What is not a regular file is refused, and not waited for: to open a
// named pipe is to wait for its writer. Requires: the bounds were checked.
func readConfig(name string, stdin io.Reader, o configs.Options) ([]byte, error) {
	in := stdin
	if name != "-" {
		if !isOpenFile(name) {
			text, err := configwatch.Read(name, o.MaxBytes)
			if errors.Is(err, configwatch.ErrNotRegular) {
				err = fmt.Errorf("%w: the name - reads standard input", err)
			}
			return text, err
		}
		file, err := os.Open(name)
		if err != nil {
			return nil, err
		}
		defer file.Close()
		in = file
	}
	return io.ReadAll(io.LimitReader(in, int64(o.MaxBytes)+1))
}

// isOpenFile reports whether a name is that of an open file of this process, as a shell makes it
// of <(command). It may be a pipe, which has its writer.
func isOpenFile(name string) bool {
	return name == "/dev/stdin" || strings.HasPrefix(name, "/dev/fd/") || strings.HasPrefix(name, "/proc/self/fd/")
}

// loadConfig reads the queues.yaml that a flag names, and tells people of its problems.
// The errors have their exit code: a file with errors is refused, one that cannot be read
// is a usage error.
func loadConfig(flag, name string, stdin io.Reader, errs io.Writer, o configs.Options) (*configs.Config, error) {
	p, err := loadProposal(flag, name, stdin, errs, o)
	if err != nil {
		return nil, err
	}
	for _, w := range p.Warnings {
		fmt.Fprintln(errs, w.WithFile(name))
	}
	return p.Config, nil
}

// loadProposal is loadConfig for whoever logs the warnings.
func loadProposal(flag, name string, stdin io.Reader, errs io.Writer, o configs.Options) (*reload.Proposal, error) {
	text, err := readConfig(name, stdin, o)
	if err != nil {
		return nil, exitError{exitUsage, fmt.Errorf("%s: %w", flag, err)}
	}
	p, err := reload.Read(reload.File, name, text, o)
	if bad := new(reload.InvalidError); errors.As(err, &bad) {
		for _, problem := range bad.Problems {
			fmt.Fprintln(errs, problem.WithFile(name))
		}
		count := plural(len(bad.Problems.Errors()), "error")
		return nil, exitError{exitRefused, fmt.Errorf("%s: %s has %s", flag, name, count)}
	}
	return p, err
}
