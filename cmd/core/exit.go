package main

import "errors"

// Exit codes of commands; exitCodes says what they mean for each.
const (
	exitRefused = 1 // the verdict is negative, or the command failed
	exitUsage   = 2 // there is no verdict: invalid arguments, unreadable files
)

// Further exit codes of serve.
const (
	exitStuck  = 3   // the termination took too long and was forced
	exitSignal = 128 // plus the number of the second signal, which ended the process at once
)

// exitError ends the program with a code. err is printed first; nil: nothing is printed, because the
// command has printed its result.
type exitError struct {
	code int
	err  error
}

// refusedOr gives an error the code exitRefused, unless it has one.
func refusedOr(err error) error {
	if exit := new(exitError); errors.As(err, exit) {
		return *exit
	}
	return exitError{exitRefused, err}
}

// usageError gives an error the code exitUsage, whatever code it has. nil stays nil.
func usageError(err error) error { return withCode(exitUsage, err) }

// withCode replaces the exit code of an error. nil stays nil.
func withCode(code int, err error) error {
	if err == nil {
		return nil
	}
	if exit := new(exitError); errors.As(err, exit) {
		err = exit.err
	}
	return exitError{code, err}
}

func (e exitError) Error() string {
	if e.err == nil {
		return ""
	}
	return e.err.Error()
}

func (e exitError) Unwrap() error { return e.err }
