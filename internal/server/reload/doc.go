// Package reload owns the configuration in force, its source, and the history of
// configurations.
//
// A text from any source is handled in the same way: Read validates it and reports every
// problem, Apply changes all partitions or none (CFG-102), and an accepted configuration
// becomes a Generation with a number (CFG-86). Package loop changes the partitions; the
// gRPC server, the REST server and the commands decide which requests are allowed.
//
// Sources and precedence. The latest text is put in force, with these exceptions:
//
//   - With --config, the text of a resource manager is ignored. Its extra configuration is
//     not (CFG-89).
//   - A resource manager that repeats its last text, such as when it registers again,
//     changes nothing, so a rollback survives its next registration (CFG-88).
//   - A text of a resource manager without priority classes or disruption budgets keeps
//     those in force (CFG-96).
//   - A start with a file, SIGHUP, a POST and a rollback are applied also when they repeat
//     an earlier text.
//
// Invariant: text, extra configuration and number change together, and no part of a
// refused configuration is ever visible.
package reload
