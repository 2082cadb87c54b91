// Package logging writes log lines without blocking the caller.
//
// Lines go into a buffer of bounded size, which one goroutine writes out. When the output blocks
// (a full pipe, a stopped terminal, a disk that hangs), the buffer fills up, and further lines
// are dropped and counted; when lines can be written again, a line reports how many were dropped.
// Lines that repeat too often within a second are omitted, and counted too.
//
// Invariant: logging never blocks, and no line is lost without being counted.
package logging
