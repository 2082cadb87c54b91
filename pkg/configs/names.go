package configs

import (
	"fmt"
	"regexp"
)

// Names with a meaning of their own, and the bound on queue names.
const (
	DefaultPartition = "default" // the partition of documents and requests that name none
	RootQueue        = "root"    // the queue above all others of a partition

	MaxQueueNameLength = 64 // of one level of a queue path, in bytes
)

// queuePattern is the pattern of queue names (CFG-36). Those of users and groups are in package
// security (CFG-38).
var queuePattern = regexp.MustCompile(fmt.Sprintf(`^[a-zA-Z0-9_:#/@-]{1,%d}$`, MaxQueueNameLength))

// IsQueueName reports whether name is legal as one level of a queue path (CFG-36).
func IsQueueName(name string) bool { return queuePattern.MatchString(name) }

// QueueNamePattern returns the regular expression of the names that IsQueueName accepts, for schemas.
func QueueNamePattern() string { return queuePattern.String() }
