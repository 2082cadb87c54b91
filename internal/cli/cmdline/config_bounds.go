package cmdline

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/spf13/pflag"

	"github.com/canopy-scheduler/canopy/internal/server/configwatch"
	"github.com/canopy-scheduler/canopy/internal/server/reload"
	"github.com/canopy-scheduler/canopy/pkg/configs"
	"github.com/canopy-scheduler/canopy/pkg/configs/queuesyaml"
	"github.com/canopy-scheduler/canopy/pkg/configs/validation"
)

// AddBounds adds the flags that bound the size of a configuration. Problems name the bounds by these
// flags.
func AddBounds(f *pflag.FlagSet, o *queuesyaml.Options) {
	d := queuesyaml.DefaultOptions()
	f.IntVar(&o.MaxBytes, "max-config-bytes", d.MaxBytes, "refuse a queues.yaml with more bytes; 1 GiB at most")
	f.IntVar(&o.MaxValues, "max-config-values", d.MaxValues,
		"refuse a queues.yaml with more values (texts, lists and mappings, counted roughly); each takes 300 bytes to read")
	f.IntVar(&o.MaxQueues, "max-queues", d.MaxQueues, "refuse a queues.yaml with more queues, roots included")
	f.IntVar(&o.MaxDepth, "max-depth", d.MaxDepth, "refuse a queues.yaml with more levels of queues, or of parent rules")
}

// MaxConfigBytes is the largest --max-config-bytes: 1 GiB. ReadConfig adds 1 to it, which must not
// overflow.
const MaxConfigBytes = 1 << 30

// CheckBounds reports invalid bounds.
func CheckBounds(o queuesyaml.Options) error {
	above := func(flag string, n int) error {
		if n > 0 {
			return nil
		}
		return fmt.Errorf("--%s is %d, and must be above 0", flag, n)
	}
	var large error
	if o.MaxBytes > MaxConfigBytes {
		large = fmt.Errorf("--max-config-bytes is %d, and can be %d (1 GiB) at most", o.MaxBytes, MaxConfigBytes)
	}
	return errors.Join(above("max-config-bytes", o.MaxBytes), large, above("max-config-values", o.MaxValues),
		above("max-queues", o.MaxQueues),
		above("max-depth", o.MaxDepth))
}

// ReadConfig reads a file, at most one byte more than o.MaxBytes: enough to see that it is too long.
// The name - is standard input. A file that is not regular is refused without opening it: opening a
// named pipe waits for its writer (CFG-93). The caller must have checked the bounds.
func ReadConfig(name string, stdin io.Reader, o queuesyaml.Options) ([]byte, error) {
	in := stdin
	if name != "-" {
		if !IsOpenFile(name) {
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

// IsOpenFile reports whether a name refers to an open file of this process, such as the one that a
// shell passes for <(command). It may be a pipe; opening it does not wait.
func IsOpenFile(name string) bool {
	return name == "/dev/stdin" || strings.HasPrefix(name, "/dev/fd/") || strings.HasPrefix(name, "/proc/self/fd/")
}

// LoadConfig reads the queues.yaml that a flag names and prints its problems to errs. A file with
// errors is an ExitError with Refused, a file that cannot be read one with Usage.
func LoadConfig(flag, name string, stdin io.Reader, errs io.Writer, o queuesyaml.Options) (*configs.Config, error) {
	p, err := LoadProposal(flag, name, stdin, errs, o)
	if err != nil {
		return nil, err
	}
	for _, w := range p.Warnings.Merged() {
		fmt.Fprintln(errs, w.WithFile(name))
	}
	return p.Config, nil
}

// LoadProposal is LoadConfig for callers that report the warnings (CFG-94).
func LoadProposal(flag, name string, stdin io.Reader, errs io.Writer, o queuesyaml.Options) (*reload.Proposal, error) {
	text, err := ReadConfig(name, stdin, o)
	if err != nil {
		return nil, Exit(Usage, fmt.Errorf("%s: %w", flag, err))
	}
	p, err := reload.Read(reload.File, name, text, o)
	if bad := new(reload.InvalidError); errors.As(err, &bad) {
		return nil, InvalidConfig(flag, name, errs, bad.Problems)
	}
	return p, err
}

// InvalidConfig writes the problems of the file of a flag, and returns the error that says how many it has.
func InvalidConfig(flag, name string, errs io.Writer, problems validation.Problems) error {
	for _, problem := range problems {
		fmt.Fprintln(errs, problem.WithFile(name))
	}
	count := Plural(len(problems.Errors()), "error")
	return Exit(Refused, fmt.Errorf("%s: %s has %s", flag, name, count))
}
