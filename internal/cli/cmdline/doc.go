// Package cmdline has what the commands of canopy and canopy-lab share: running a command line, exit codes, values of
// flags, access to a server, reading a queues.yaml, and printing.
//
// It knows no command and keeps nothing. The rule that must hold: an error that a command returns is printed once,
// after the name of the program, and ends it with the exit code that the table of the program says.
package cmdline
