package configs

import (
	"fmt"
	"regexp"
)

const (
	defaultPartition = "default"
	rootName         = "root"
	maxNameLength    = 64 // of one level of a queue path
)

// The patterns of behaviour.md 1.4. Those of users and groups are in package security.
var (
	queuePattern = regexp.MustCompile(fmt.Sprintf(`^[a-zA-Z0-9_:#/@-]{1,%d}$`, maxNameLength))
	rulePattern  = regexp.MustCompile(`^[a-zA-Z_][a-zA-Z0-9_]*$`)
)

// IsQueueName reports whether a queue can be called so: one level of a path, without dots.
func IsQueueName(name string) bool { return queuePattern.MatchString(name) }

const (
	queueNameHint = "1 to 64 letters, digits or any of _ : # / @ -"
	userNameHint  = "a letter or _, then letters, digits or any of : # / _ . @ -, and perhaps a last $"
	groupNameHint = "a letter or _, then letters, digits or any of : _ . -"
)
