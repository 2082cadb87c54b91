// Package backfill plays made-up traces of GPU jobs, a tenth of which are gangs, or the tasks of an openb trace, on a
// scheduler.Core with virtual time. It measures what stands idle under reservations, and how long jobs wait, with and
// without the use of reserved nodes by jobs that end in time. The same traces are played with EASY and conservative
// backfill, as the literature has them.
//
// The rule: figures follow from a Spec and a Trace alone.
package backfill
