package main

import "github.com/canopy-scheduler/canopy/internal/cli/cmdline"

// exitCodes says what the exit codes mean. It is the help topic exit-codes and a part of docs/EXIT_CODES.md; a test
// compares them.
var exitCodes = cmdline.ExitCodes{
	Program: "canopy",
	Intro: `0 is success, 1 a negative verdict or a failure, also when the output cannot be written,
and 2 invalid arguments: an unknown command or flag, a missing flag, an invalid value. For
plan, 2 means that something would change, and invalid arguments are 1. For commands that
give a verdict, such as validate or place, 2 means that there is none. serve has 3 when its
termination took too long, and 128 plus the number of the signal when a second one came.`,
	Commands: [][4]string{
		{"serve", "a signal ended it", "errors in the configuration, or a port cannot be opened", "a file cannot be read"},
		{"validate, place, test, preempt, token check", "the verdict is positive, as the help of the command says",
			"it is negative", "there is none: a file cannot be read, or the server refuses or does not answer"},
		{"plan", "nothing would change", "a file has errors, a file or the server cannot be read, or invalid arguments",
			"something would change"},
		{"queues, apps, nodes, top, usage, explain, events, " + operatorCommandNames() + ", token new, schema, version",
			"it was printed or done, or was already the case",
			"a name is unknown, the server refuses or does not answer, or a file cannot be written", ""},
		{"demo", "every invariant held", "one was violated", ""},
		{"help", "it was printed", "", "there is no such command or topic"},
	},
}
