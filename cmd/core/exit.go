package main

// Exit codes of commands that check something.
const (
	exitRefused = 1 // what was checked is not right
	exitUsage   = 2 // it could not be checked: bad arguments, unreadable files
)

// Further exit codes of serve.
const (
	exitStuck  = 3   // the termination took too long, and was cut short
	exitSignal = 128 // and the number of the signal: a second one came
)

// exitError ends the program with a code. err is printed first; nil means that the
// command has said all there is to say.
type exitError struct {
	code int
	err  error
}

func (e exitError) Error() string {
	if e.err == nil {
		return ""
	}
	return e.err.Error()
}

func (e exitError) Unwrap() error { return e.err }
