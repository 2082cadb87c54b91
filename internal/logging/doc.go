// Package logging writes log lines so that no caller ever waits for the reader of the log.
//
// Lines go into a buffer of bounded size, which one goroutine writes out. When the reader does
// not read (a pipe that is full, a terminal that is stopped, a disk that hangs), the buffer
// fills up and further lines are dropped and counted; the first line that can be written again
// is followed by one that says how many are missing. Lines that repeat too often within a second
// are left out, and counted too.
//
// The rule that must hold: logging never blocks, and no line is lost without being counted.
package logging
