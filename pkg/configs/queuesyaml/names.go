package queuesyaml

import "regexp"

// rulePattern is the pattern of the names of placement rules (CFG-65).
var rulePattern = regexp.MustCompile(`^[a-zA-Z_][a-zA-Z0-9_]*$`)

const (
	queueNameHint = "1 to 64 letters, digits or any of _ : # / @ -"
	userNameHint  = "a letter or _, then letters, digits or any of : # / _ . @ -, and perhaps a last $"
	groupNameHint = "a letter or _, then letters, digits or any of : _ . -"
)
