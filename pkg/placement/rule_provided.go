package placement

import "strings"

// providedName is the queue that the submission names. Only what begins with "root." is a
// path; plain root is a name like any other (behaviour.md 7.3).
func providedName(s Submission) (name string, qualified bool, reason string) {
	if name = strings.TrimSpace(s.Queue); name == "" {
		return "", false, "the application names no queue"
	}
	return name, isQualified(name), ""
}
