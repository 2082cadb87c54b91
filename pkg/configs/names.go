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

// The patterns of queue names (CFG-36) and of names of placement rules (CFG-65). Those of users and
// groups are in package security (CFG-38).
var (
	queuePattern = regexp.MustCompile(fmt.Sprintf(`^[a-zA-Z0-9_:#/@-]{1,%d}$`, maxNameLength))
	rulePattern  = regexp.MustCompile(`^[a-zA-Z_][a-zA-Z0-9_]*$`)
)

// IsQueueName reports whether name is legal as one level of a queue path (CFG-36).
func IsQueueName(name string) bool { return queuePattern.MatchString(name) }

const (
	queueNameHint = "1 to 64 letters, digits or any of _ : # / @ -"
	userNameHint  = "a letter or _, then letters, digits or any of : # / _ . @ -, and perhaps a last $"
	groupNameHint = "a letter or _, then letters, digits or any of : _ . -"
)
