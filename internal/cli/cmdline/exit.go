package cmdline

import "errors"

// Exit codes of commands; the table of each program says what they mean for a command.
const (
	Refused = 1 // the verdict is negative, or the command failed
	Usage   = 2 // there is no verdict: invalid arguments, unreadable files
)

// ExitError ends the program with a code. Err is printed first; nil: nothing is printed, because the command has
// printed its result.
type ExitError struct {
	Code int
	Err  error
}

// Exit returns an ExitError.
func Exit(code int, err error) error { return ExitError{Code: code, Err: err} }

// RefusedOr gives an error the code Refused, unless it has one.
func RefusedOr(err error) error {
	if exit := new(ExitError); errors.As(err, exit) {
		return *exit
	}
	return Exit(Refused, err)
}

// UsageError gives an error the code Usage, whatever code it has. nil stays nil.
func UsageError(err error) error { return WithCode(Usage, err) }

// WithCode replaces the exit code of an error. nil stays nil.
func WithCode(code int, err error) error {
	if err == nil {
		return nil
	}
	if exit := new(ExitError); errors.As(err, exit) {
		err = exit.Err
	}
	return Exit(code, err)
}

func (e ExitError) Error() string {
	if e.Err == nil {
		return ""
	}
	return e.Err.Error()
}

func (e ExitError) Unwrap() error { return e.Err }
