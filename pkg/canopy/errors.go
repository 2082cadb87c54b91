package canopy

import (
	"errors"
	"fmt"
	"strings"

	"github.com/canopy-scheduler/canopy/internal/server/reload"
	"github.com/canopy-scheduler/canopy/pkg/configs/validation"
)

// Errors of Reload and ReloadFile. The configuration in force has not changed, except with ErrNotStored.
var (
	// ErrRefused: a valid configuration cannot be applied, for example because a queue with applications
	// would become a parent.
	ErrRefused = reload.ErrRefused
	// ErrBusy: a partition did not pause in time, because it delivers to a resource manager that does
	// not return, or ctx has ended. The call can be repeated.
	ErrBusy = reload.ErrBusy
	// ErrNotStored: the configuration is in force, but DataDir does not have it for the next start.
	ErrNotStored = errors.New("the configuration is in force, but could not be stored")
	// ErrNoConfigFile: ReloadFile needs Config.File.
	ErrNoConfigFile = errors.New("there is no Config.File")
	// ErrClosed: the Server is closed, or is closing.
	ErrClosed = errors.New("the scheduler is closed")
)

// OptionError is the error of Start about one option. Start may return several, joined.
type OptionError struct {
	Option string // the field of Options, such as "GRPC.Address"
	// Invalid: the value cannot be used; it is malformed, or names a file that cannot be read. Otherwise
	// the machine forbids it, such as a port that is in use.
	Invalid bool
	Err     error

	name string // of Options.OptionName
}

// Error names the option by Options.OptionName.
func (e *OptionError) Error() string { return fmt.Sprintf("%s: %v", e.name, e.Err) }

// Unwrap returns Err.
func (e *OptionError) Unwrap() error { return e.Err }

// optionName is the name of a field for messages.
func (o *Options) optionName(field string) string {
	if o.OptionName == nil {
		return field
	}
	return o.OptionName(field)
}

// invalid is an OptionError with Invalid.
func (o *Options) invalid(field string, err error) error {
	return &OptionError{field, true, err, o.optionName(field)}
}

// refused is an OptionError without Invalid.
func (o *Options) refused(field string, err error) error {
	return &OptionError{field, false, err, o.optionName(field)}
}

// ConfigError is the error of a configuration that is not valid, with all of its problems.
type ConfigError struct {
	Name     string // of the file or the source; may be empty
	Problems []Problem
}

// Error lists the problems, one a line.
func (e *ConfigError) Error() string {
	var b strings.Builder
	b.WriteString("invalid configuration:")
	for _, p := range e.Problems {
		b.WriteByte('\n')
		if e.Name != "" {
			b.WriteString(e.Name + ":")
		}
		b.WriteString(p.String())
	}
	return b.String()
}

// Problem is an error or a warning of a configuration.
type Problem struct {
	Line, Column int    // from 1
	Path         string // the queue, placement rule or partition; empty: the document itself
	Rule         string // an ID, such as no-partition
	Warning      bool   // the configuration loads, but probably does not mean what was intended
	Message      string
	Hint         string // may be empty
}

// String is "line:column: error [rule] path: message (hint: ...)".
func (p Problem) String() string {
	severity := validation.Error
	if p.Warning {
		severity = validation.Warning
	}
	return validation.Problem{
		Line: p.Line, Col: p.Column, Path: p.Path, RuleID: p.Rule, Severity: severity, Message: p.Message, Hint: p.Hint,
	}.String()
}

func problemsOf(problems validation.Problems) []Problem {
	out := make([]Problem, len(problems))
	for i, p := range problems {
		out[i] = Problem{
			Line: p.Line, Column: p.Col, Path: p.Path, Rule: p.RuleID, Warning: p.Severity == validation.Warning,
			Message: p.Message, Hint: p.Hint,
		}
	}
	return out
}

// configError replaces the error of a text that is not valid by a ConfigError. Other errors stay.
func configError(name string, err error) error {
	if bad := new(reload.InvalidError); errors.As(err, &bad) {
		return &ConfigError{name, problemsOf(bad.Problems)}
	}
	return err
}
